"""MuJoCo on the open chain of `bellcrank bench`, and on its ladder with soft connections where loops close."""
import statistics
import time

import mujoco
import numpy as np
from machine import Machine, serve


def tree(m):
    """A machine of revolute joints as a tree of bodies, with `connect` where loops close."""
    where = {}  # of every body: centre, angle

    def place(body, at):
        if body == "ground":
            return np.array(m.vector(at))
        centre, angle = where[body]
        c, s = np.cos(angle), np.sin(angle)
        x, y, z = m.vector(at)
        return centre + np.array([c * x - s * y, s * x + c * y, z])

    for name, b in m.bodies.items():
        where[name] = (np.array(m.vector(b["at"])), m.get(b, "angle"))
    joints = []
    for j in m.joints.values():
        at = np.array(m.vector(j["at"])) if "at" in j else place(j["between"][0], j["on"][0])
        joints.append((*j["between"], at, m.vector(j.get("axis", [0, 0, 1]))))
    children, loops, reached, front, of = {}, [], {"ground"}, ["ground"], {}
    for k, (a, b, *_) in enumerate(joints):
        of.setdefault(a, []).append(k)
        of.setdefault(b, []).append(k)
    used = set()
    while front:
        body = front.pop(0)
        for k in of.get(body, []):
            if k in used:
                continue
            used.add(k)
            a, b, at, axis = joints[k]
            other = b if a == body else a
            if other in reached:
                loops.append((a, b, at))
            else:
                reached.add(other)
                front.append(other)
                children.setdefault(body, []).append((other, at, axis))
    spec = mujoco.MjSpec()
    spec.option.gravity = m.gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
    placed, body_at = {"ground": spec.worldbody}, {"ground": np.zeros(3)}
    front = ["ground"]
    while front:
        body = front.pop(0)
        for name, at, axis in children.get(body, []):
            b = m.bodies[name]
            inertia = m.vector(b["inertia"]) if isinstance(b["inertia"], list) else [m.get(b, "inertia")] * 3
            new = placed[body].add_body(name=name, pos=at - body_at[body], mass=m.get(b, "mass"), inertia=inertia)
            new.ipos, new.explicitinertial = where[name][0] - at, True
            new.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
            placed[name], body_at[name] = new, at
            front.append(name)
    for a, b, at in loops:
        close = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY, name1=b)
        close.name2 = "" if a == "ground" else a
        close.data[:3] = at - body_at[b]
        close.solref, close.solimp = [0.002, 1], [0.9999, 0.9999, 1, 0.5, 2]  # as hard as steps of 1 ms allow
    return spec.compile(), body_at


def solve(p):
    m = Machine(p["model"])
    model, body_at = tree(m)
    data = mujoco.MjData(model)
    if p["kind"] == "chain":
        k = np.arange(1, model.nv + 1)
        data.qpos[:], data.qvel[:] = 0.1 * np.sin(k), 0.1 * np.cos(k)
        mujoco.mj_forward(model, data)
        taken = []
        for _ in range(3):
            before = time.process_time()
            for _ in range(p["times"]):
                mujoco.mj_forward(model, data)
            taken.append((time.process_time() - before) / p["times"])
        return {"seconds": statistics.median(taken), "values": [float(data.qacc[0])]}
    model.opt.timestep = p["until"] / p["steps"]
    before = time.process_time()
    mujoco.mj_step(model, data, p["steps"])
    seconds = time.process_time() - before
    mujoco.mj_kinematics(model, data)

    def watch(channel):
        name, part = channel.split(".")
        probe = m.probes.get(name, {"body": name, "on": [0, 0, 0]})
        body, b = model.body(probe["body"]).id, m.bodies[probe["body"]]
        angle, at = m.get(b, "angle"), np.array(m.vector(b["at"]))
        x, y, z = m.vector(probe["on"])
        c, s = np.cos(angle), np.sin(angle)
        start = at + np.array([c * x - s * y, s * x + c * y, z]) - body_at[probe["body"]]
        return float((data.xpos[body] + data.xmat[body].reshape(3, 3) @ start)["xyz".index(part)])

    return {"seconds": seconds, "values": [watch(c) for c in p["watch"]]}


serve(solve)
