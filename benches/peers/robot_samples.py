"""Joint accelerations of the sample robots by Pinocchio and MuJoCo, for the tests of bellcrank-robots.

    pip install pin==4.1.0 mujoco==4.0.0 numpy
    python benches/peers/robot_samples.py crates/bellcrank-robots/tests/samples

writes ROBOT.peer beside each robot file: a line of joints, then lines of their values, rates, efforts and accelerations.
Pinocchio's are those of its ABA, MuJoCo's those of `mj_forward` without constraints and damping.
"""
import importlib.metadata, pathlib, sys
import numpy as np
from robots import mujoco, pinocchio

STATES = 5


def main():
    folder = pathlib.Path(sys.argv[1])
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".urdf", ".xml"):
            continue
        package, of = ("pin", pinocchio) if path.suffix == ".urdf" else ("mujoco", mujoco)
        names = joints_of(path)
        states, reference = of(path, names, STATES, np.random.default_rng(25))
        with open(path.with_suffix(".peer"), "w") as out:
            print(f"# {path.name} by {package} {importlib.metadata.version(package)}: benches/peers/robot_samples.py", file=out)
            print("\t".join(names), file=out)
            for state, a in zip(states, reference):
                print(" ".join(f"{x:.17g}" for x in [*state, *a]), file=out)


def joints_of(path):
    """The moving joints, in the order of the file."""
    import xml.etree.ElementTree as tree

    root = tree.parse(path).getroot()
    return [j.get("name") for j in root.iter("joint") if j.get("name") and j.get("type") != "fixed"]


main()
