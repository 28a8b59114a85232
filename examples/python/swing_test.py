"""Friction identified from a swing test: viscous damping and the moment of dry friction of a hinge, with confidence intervals."""

import bellcrank as bc
import numpy as np

m = bc.Model("swing", plane=True, gravity=(0, -9.81))
viscous = m.parameter("viscous", 0.05)
dry = m.parameter("dry", 0.05)
arm = m.body("arm", rod=bc.rod((0, 0), (0.6, 0), mass=1.2))
pin = m.joint.revolute("pin", between=(bc.GROUND, arm), at=(0, 0))
# a smooth law of dry friction, so that runs depend smoothly on it
m.force.joint_actuator("friction", joint=pin, effort="-viscous*pin.rate - dry*tanh(pin.rate/0.05)")
m.start(pin, angle=-0.6)
m.solve(method="dop853")

truth = {"viscous": 0.02, "dry": 0.08}
times = np.arange(0.0, 4.0, 0.02)
run = m.replace(**truth).run(until=4.0, sample=0.02)
noise = np.random.default_rng(1).normal(0.0, 0.003, len(times))
measured = np.interp(times, run["time"], run["pin.angle"]) + noise

found = bc.fit(
    m,
    {"time": times, "pin.angle": measured},
    {"viscous": (0.001, 0.2), "dry": (0.001, 0.3)},
    solve={"rtol": 1e-9, "method": "dop853"},
)
for name, value in found.parameters.items():
    low, high = found.intervals[name]
    print(f"{name}: {value:.4f} ({low:.4f} … {high:.4f}), true {truth[name]}")
    assert low - (high - low) < truth[name] < high + (high - low)
assert 0.002 < found.deviation < 0.004
