"""An environment for reinforcement learning: a cart balances a pole, in the manner of Gymnasium."""

from __future__ import annotations

from typing import Any

import bellcrank as bc
import numpy as np
from numpy.typing import NDArray


def cart_pole() -> bc.Model:
    """A pole on a cart that a force pushes."""
    m = bc.Model("cart-pole", plane=True, gravity=(0, -9.81))
    push = m.input("push", start=0.0, unit="N")
    cart = m.body("cart", box=bc.box((0.4, 0.16), mass=1.0))
    pole = m.body("pole", rod=bc.rod((0, 0), (0, 1), mass=0.1))
    track = m.joint.prismatic("track", between=(bc.GROUND, cart), at=(0, 0), axis=(1, 0))
    m.joint.revolute("hinge", between=(cart, pole), at=(0, 0))
    m.force.joint_actuator("motor", joint=track, effort=push)
    return m


class CartPole:
    """The methods of a `gymnasium.Env`; add that class to the bases where it is installed."""

    def __init__(self, dt: float = 0.02) -> None:
        self.simulation = cart_pole().simulate(until=1e9, rtol=1e-6)
        self.start = self.simulation.state
        self.dt = dt

    def observe(self) -> NDArray[np.float64]:
        """Place and speed of the cart, lean and rate of the pole."""
        x = self.simulation.values("track.position", "track.rate", "hinge.angle", "hinge.rate")
        x[2] -= np.pi / 2
        return x

    def reset(self, *, seed: int | None = None) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Upright, and pushed a little."""
        random = np.random.default_rng(seed)
        self.simulation.state = self.start
        self.simulation.input["push"] = float(random.uniform(-2, 2))
        self.simulation.advance_to(self.simulation.time + self.dt)
        return self.observe(), {}

    def step(self, action: float) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """One interval with a push."""
        self.simulation.input["push"] = float(np.clip(action, -20, 20))
        self.simulation.advance_to(self.simulation.time + self.dt)
        x = self.observe()
        fallen = bool(abs(x[0]) > 2.4 or abs(x[2]) > 0.3)
        return x, 1.0, fallen, False, {}


if __name__ == "__main__":
    env = CartPole()
    gains = np.array([3.0, 5.0, 60.0, 12.0])
    for episode in range(5):
        x, info = env.reset(seed=episode)
        total = 0.0
        for _ in range(250):
            # a pole that leans to the left has a positive angle: push the cart to the left
            x, reward, fallen, truncated, info = env.step(float(-gains @ (x * [-1, -1, 1, 1])))
            total += reward
            if fallen:
                break
        print(f"episode {episode}: {total:.0f} steps, lean {x[2]:+.4f} rad")
        assert not fallen
