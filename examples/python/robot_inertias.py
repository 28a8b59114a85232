"""Masses and inertias of a robot's links identified from its motion under known torques."""

import bellcrank as bc
import numpy as np

m = bc.Model("robot", plane=True, gravity=(0, -9.81))
for name, value in {"m1": 3.0, "i1": 0.1, "m2": 2.0, "i2": 0.05}.items():
    m.parameter(name, value)
m.body("upper", mass="m1", inertia="i1", at=(0.25, 0))
m.body("lower", mass="m2", inertia="i2", at=(0.7, 0))
shoulder = m.joint.revolute("shoulder", between=(bc.GROUND, "upper"), at=(0, 0))
elbow = m.joint.revolute("elbow", between=("upper", "lower"), at=(0.5, 0))
m.force.joint_actuator("tau1", joint=shoulder, effort="20*sin(3*t) + 15*cos(5*t)")
m.force.joint_actuator("tau2", joint=elbow, effort="6*sin(4*t + 1)")
m.force.torsional_spring_damper("d1", between=(bc.GROUND, "upper"), damping=0.8)
m.force.torsional_spring_damper("d2", between=("upper", "lower"), damping=0.4)

truth = {"m1": 4.1, "i1": 0.14, "m2": 1.6, "i2": 0.031}
run = m.replace(**truth).run(until=1.5, sample=0.01)
random = np.random.default_rng(2)
names = ["shoulder.angle", "elbow.angle"]
measured = {name: run[name] + random.normal(0.0, 1e-3, run.rows) for name in names}

bounds = {"m1": (1, 8), "i1": (0.01, 0.5), "m2": (0.5, 5), "i2": (0.005, 0.2)}
found = bc.fit(m, {"time": run.time, **measured}, bounds, weights=dict.fromkeys(names, 1.0))
for name, value in found.parameters.items():
    low, high = found.intervals[name]
    print(f"{name}: {value:.4f} ({low:.4f} … {high:.4f}), true {truth[name]}")
# the weight of the upper arm tells its mass, and its acceleration the rest
assert abs(found.deviation - 1e-3) < 2e-4
assert all(abs(found.parameters[name] / truth[name] - 1) < 0.01 for name in truth)
