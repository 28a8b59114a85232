"""A tyre of your own: a wheel is driven and gains speed by its slip, after a simple magic formula [Pacejka 2012]."""

from typing import Any

import bellcrank as bc
import numpy as np

RADIUS, LOAD, MASS = 0.3, 3000.0, 300.0


def tyre(t: float, x: Any, v: Any, R: Any, w: Any) -> tuple[tuple[float, float], float]:
    """The force of the road and its moment about the hub."""
    speed, rolling = v[0], -w[2] * RADIUS
    slip = (rolling - speed) / max(abs(rolling), abs(speed), 0.5)
    force = LOAD * np.sin(1.6 * np.arctan(10.0 * slip))
    return (force, 0.0), RADIUS * force


m = bc.Model("wheel", plane=True)
torque = m.input("torque", start=-200.0)
hub = m.body("hub", mass=MASS, inertia=1.0, at=(0, RADIUS))
wheel = m.body("wheel", cylinder=bc.cylinder(RADIUS, length=0.2), mass=20.0, at=(0, RADIUS))
m.joint.prismatic("road", between=(bc.GROUND, hub), at=(0, RADIUS), axis=(1, 0))
axle = m.joint.revolute("axle", between=(hub, wheel), at=(0, RADIUS))
m.force.joint_actuator("engine", joint=axle, effort=torque)
m.force.law("tyre", tyre, body=wheel)

r = m.run(until=3.0, rtol=1e-6)
speed, rolling = r["wheel.vx"], -r["wheel.wz"] * RADIUS
print(f"{speed[-1]:.2f} m/s after 3 s, slip {1 - speed[-1] / rolling[-1]:.3f}")
# in the end the wheel rolls nearly: a = T/r / (m + M + J/r²)
inertia = 0.5 * 20.0 * RADIUS**2
assert abs(speed[-1] / 3 - (200 / RADIUS) / (MASS + 20 + inertia / RADIUS**2)) < 0.1
