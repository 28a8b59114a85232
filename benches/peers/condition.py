"""What the condition of a mass matrix allows: accelerations of a URDF robot by Bellcrank and by Pinocchio against M a = f in 40 digits.

    cargo build --release -p bellcrank-robots --example accelerations
    pip install pin mpmath numpy
    python benches/peers/condition.py target/release/examples/accelerations icub.urdf
"""
import pathlib, sys
import numpy as np, pinocchio as pin
from mpmath import lu_solve, matrix, mp
import robots

mp.dps = 40
STATES = 20


def main():
    program, path = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    names, why = robots.joints_of(program, path, ["--plain"])
    if why:
        raise SystemExit(why)
    n = len(names)
    states, reference = robots.pinocchio(path, names, STATES, np.random.default_rng(1))
    _, own = robots.accelerations(program, path, ["--plain"], states, n)
    worst = int(np.argmax([np.abs(a - r).max() / np.abs(r).max() for a, r in zip(own, reference)]))
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    known = list(model.names)
    joints = [model.joints[model.getJointId(x if x in known else x.removesuffix("_joint"))] for x in names]
    q, v, f = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    ours, theirs = np.zeros(model.nv), np.zeros(model.nv)
    for i, j in enumerate(joints):
        s = states[worst]
        q[j.idx_q : j.idx_q + j.nq] = [np.cos(s[i]), np.sin(s[i])] if j.nq == 2 else [s[i]]
        v[j.idx_v], f[j.idx_v] = s[n + i], s[2 * n + i]
        ours[j.idx_v], theirs[j.idx_v] = own[worst][i], reference[worst][i]
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    f -= pin.nle(model, data, q, v)
    exact = np.array([float(x) for x in lu_solve(matrix(mass.tolist()), matrix(f.tolist()))])
    size = np.abs(exact).max()
    print(f"{path.name}: condition of the mass matrix {np.linalg.cond(mass):.1e}, largest acceleration {size:.1e}")
    for label, a in [("Bellcrank", ours), ("Pinocchio", theirs)]:
        print(f"{label} against M a = f in 40 digits: {np.abs(a - exact).max() / size:.1e}")


main()
