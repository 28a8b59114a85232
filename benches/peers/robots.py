"""Robot files beside Pinocchio and MuJoCo: which run, and whether their joint accelerations agree.

    cargo build --release -p bellcrank-robots --example accelerations
    pip install pin mujoco example-robot-data   # and: pip download --no-deps robosuite dm_control, unpacked
    python benches/peers/robots.py --program target/release/examples/accelerations urdf FOLDER...
    python benches/peers/robots.py --program target/release/examples/accelerations mjcf FOLDER...
    python benches/peers/robots.py --program target/release/examples/accelerations sdf FOLDER...

Every file is read; forward dynamics at random states (joint values, rates, efforts) are compared where the other program reads
the file too. Friction, limits and ties are left out on both sides: Pinocchio's ABA has none of them, and MuJoCo's are soft.
"""
import argparse, os, pathlib, subprocess, tempfile
import numpy as np

def joints_of(program, path, flags):
    run = subprocess.run([program, str(path), *flags], input="", text=True, capture_output=True)
    if run.returncode:
        return None, run.stderr.strip().split("\n")[0] if run.stderr.strip() else f"status {run.returncode}"
    names = run.stdout.rstrip("\n").split("\n")[0]
    return [n for n in names.split("\t") if n], None


def accelerations(program, path, flags, states, n):
    text = "\n".join(" ".join(f"{x:.17g}" for x in s) for s in states) + "\n"
    run = subprocess.run([program, str(path), *flags], input=text, text=True, capture_output=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().split("\n")[0])
    rows = [np.array(line.split(), float) for line in run.stdout.rstrip("\n").split("\n")[1:]]
    return [r[:n] for r in rows], [r[n:] for r in rows]


def random_states(n, count, slides, rng):
    out = []
    for _ in range(count):
        q = rng.uniform(-2.5, 2.5, n) * np.where(slides, 0.02, 1.0)
        out.append(np.concatenate([q, rng.normal(size=n), 5 * rng.normal(size=n)]))
    return out


def pinocchio(path, names, count, rng):
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    known = list(model.names)
    # ours are called otherwise where a link has the same name
    back = [n if n in known else n.removesuffix("_joint") for n in names]
    missing = [n for n in back if n not in known]
    if missing or len(back) != model.njoints - 1:
        raise RuntimeError(f"other joints there: {missing[:3]} {len(back)} {model.njoints - 1}")
    joint = [model.joints[model.getJointId(n)] for n in back]
    slides = np.array(["P" in j.shortname() for j in joint])
    states, reference = random_states(len(names), count, slides, rng), []
    for s in states:
        n = len(names)
        q, v, tau = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for k, j in enumerate(joint):
            if j.nq == 2:
                q[j.idx_q : j.idx_q + 2] = np.cos(s[k]), np.sin(s[k])
            else:
                q[j.idx_q] = s[k]
            v[j.idx_v], tau[j.idx_v] = s[n + k], s[2 * n + k]
        a = pin.aba(model, data, q, v, tau)
        reference.append(np.array([a[j.idx_v] for j in joint]))
    return states, reference


def mujoco(path, names, count, rng):
    import mujoco as mj

    model = mj.MjModel.from_xml_path(str(path))
    data = mj.MjData(model)
    D = mj.mjtDisableBit
    model.opt.disableflags |= int(D.mjDSBL_CONSTRAINT)
    model.dof_damping[:] = 0
    # air, tendons and what actuators do that is left out: not the same physics
    model.opt.density, model.opt.viscosity = 0, 0
    model.tendon_stiffness[:] = 0
    model.tendon_damping[:] = 0
    model.body_gravcomp[:] = 0
    # actuators alike on both sides: those on joints, with the control at zero
    model.opt.disableflags |= int(D.mjDSBL_ACTUATION)
    ids = []
    for n in names:
        k = mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, n)
        k = k if k >= 0 else mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, n.removesuffix("_joint"))
        if k < 0:
            raise RuntimeError(f"no joint {n} there")
        ids.append(k)
    slides = np.array([model.jnt_type[k] == mj.mjtJoint.mjJNT_SLIDE for k in ids])
    states, reference = random_states(len(names), count, slides, rng), []
    for s in states:
        n = len(names)
        mj.mj_resetData(model, data)
        for i, k in enumerate(ids):
            # our coordinates are zero where the file is drawn
            data.qpos[model.jnt_qposadr[k]] = s[i] + model.qpos0[model.jnt_qposadr[k]]
            data.qvel[model.jnt_dofadr[k]] = s[n + i]
            data.qfrc_applied[model.jnt_dofadr[k]] = s[2 * n + i]
        mj.mj_forward(model, data)
        reference.append(np.array([data.qacc[model.jnt_dofadr[k]] for k in ids]))
    return states, reference


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--states", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="with friction and ties")
    parser.add_argument("kind", choices=["urdf", "mjcf", "sdf"])
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    ending = {"urdf": "urdf", "mjcf": "xml", "sdf": "sdf"}[args.kind]
    files = sorted(p for f in args.folders for p in (f.rglob(f"*.{ending}") if f.is_dir() else [f]))
    args.program = str(pathlib.Path(args.program).resolve())
    files = [path.resolve() for path in files]
    os.chdir(tempfile.mkdtemp())  # MuJoCo writes its log where it runs
    counts = {"agree": 0, "differ": 0, "read": 0, "refused": 0, "no robot": 0}
    for path in files:
        flags = [] if args.full else ["--plain"]
        head = path.read_text(errors="replace")
        if args.kind == "mjcf" and ("<mujoco" not in head or "<mujocoinclude" in head or "<body" not in head and "<include" not in head):
            counts["no robot"] += 1
            continue
        names, why = joints_of(args.program, path, flags)
        label = "/".join(path.parts[-3:])
        if names is None:
            counts["refused"] += 1
            print(f"{label:70} refused: {why}", flush=True)
            continue
        if not names or args.kind == "sdf":
            counts["read"] += 1
            print(f"{label:70} read, {len(names)} joints", flush=True)
            continue
        try:
            other = pinocchio if args.kind == "urdf" else mujoco
            states, reference = other(path, names, args.states, np.random.default_rng(1))
        except Exception as e:
            counts["read"] += 1
            print(f"{label:70} read, {len(names)} joints; the other: {str(e)[:120]!r}", flush=True)
            continue
        try:
            dense, recursive = accelerations(args.program, path, flags, states, len(names))
        except Exception as e:
            counts["refused"] += 1
            print(f"{label:70} failed: {e}", flush=True)
            continue
        off = [max(np.abs(a - r).max() / np.abs(r).max() for a, r in zip(x, reference)) for x in (dense, recursive)]
        # what a mass matrix of this condition allows
        good = min(off) < 1e-9
        counts["agree" if good else "differ"] += 1
        print(f"{label:70} {len(names):3} joints  by matrix {off[0]:.1e}  by recursion {off[1]:.1e}{'' if good else '  DIFFERS'}", flush=True)
    print(counts)


if __name__ == "__main__":
    main()
