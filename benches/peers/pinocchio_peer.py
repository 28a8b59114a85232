"""Pinocchio on the open chain of `bellcrank bench`: the articulated-body algorithm."""
import statistics
import time

import numpy as np
import pinocchio as pin
from machine import Machine, serve


def solve(p):
    m = Machine(p["model"])
    model = pin.Model()
    model.gravity = pin.Motion(np.array(m.gravity), np.zeros(3))
    parents, origins = {"ground": 0}, {"ground": np.zeros(3)}
    for j in m.joints.values():
        before, body = j["between"]
        at, b = np.array(m.vector(j["at"])), m.bodies[body]
        placement = pin.SE3(np.eye(3), at - origins[before])
        axis = pin.JointModelRevoluteUnaligned(*m.vector(j["axis"]))
        parents[body] = model.addJoint(parents[before], axis, placement, body)
        origins[body] = at
        inertia = pin.Inertia(m.get(b, "mass"), np.array(m.vector(b["at"])) - at, np.diag(m.vector(b["inertia"])))
        model.appendBodyToJoint(parents[body], inertia, pin.SE3.Identity())
    data = model.createData()
    k = np.arange(1, model.nv + 1)
    q, v, tau = 0.1 * np.sin(k), 0.1 * np.cos(k), np.zeros(model.nv)
    taken = []
    for _ in range(5):
        before = time.process_time()
        for _ in range(p["times"]):
            pin.aba(model, data, q, v, tau)
        taken.append((time.process_time() - before) / p["times"])
    return {"seconds": statistics.median(taken), "values": [float(data.ddq[0])]}


serve(solve)
