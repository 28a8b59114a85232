"""Parameter identification: the length and the damping of a pendulum from a noisy measurement, with SciPy."""

import bellcrank as bc
import numpy as np
from scipy.optimize import least_squares


def pendulum() -> bc.Model:
    """A rod with a damper in its hinge."""
    m = bc.Model("pendulum", plane=True, gravity=(0, -9.81))
    length = m.parameter("length", 1.0)
    damping = m.parameter("damping", 0.1)
    arm = m.body("arm", rod=bc.rod((0, 0), (length, 0), mass=1.0))
    m.joint.revolute("pin", between=(bc.GROUND, arm), at=(0, 0))
    m.force.torsional_spring_damper("damper", between=(bc.GROUND, arm), damping=damping)
    m.solve(until=5.0, sample=0.05, rtol=1e-8)
    return m


model = pendulum()
truth = {"length": 0.83, "damping": 0.06}
random = np.random.default_rng(1)
measured = model.replace(**truth).run()["pin.angle"]
measured = measured + 0.01 * random.standard_normal(measured.shape)


def residual(x: np.ndarray) -> np.ndarray:
    """The model against the measurement."""
    return np.asarray(model.replace(length=x[0], damping=x[1]).run()["pin.angle"] - measured)


found = least_squares(residual, x0=[0.8, 0.1], x_scale=[1.0, 0.1])
print(f"length {found.x[0]:.4f} m (0.83), damping {found.x[1]:.4f} N m s (0.06), {found.nfev} evaluations")
assert abs(found.x[0] - 0.83) < 2e-3 and abs(found.x[1] - 0.06) < 5e-3
