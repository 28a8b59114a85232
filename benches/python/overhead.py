"""What the Python package costs beyond the solver: `python benches/python/overhead.py [RUNS]`.

Seconds are of this machine; the least of several rounds counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import bellcrank as bc


def double_pendulum() -> bc.Model:
    """Two bodies in the plane, the second with a motor."""
    m = bc.Model("double-pendulum", plane=True, gravity=(0, -9.81))
    torque = m.input("torque")
    a = m.body("a", rod=bc.rod((0, 0), (1, 0), mass=1.0))
    b = m.body("b", rod=bc.rod((1, 0), (2, 0), mass=1.0))
    m.joint.revolute("p", between=("ground", a), at=(0, 0))
    q = m.joint.revolute("q", between=(a, b), at=(1, 0))
    m.force.joint_actuator("motor", joint=q, effort=torque)
    return m


def resident() -> float:
    """Memory of this process, in MiB."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def runs(n: int) -> None:
    """Whole runs: beside the clock of the solver, which begins with the assembly of the start."""
    m = double_pendulum()
    m.run(until=0.01)["a.x"]
    before, best = resident(), float("inf")
    for _ in range(10):
        begin, solver = time.perf_counter(), 0.0
        for _ in range(n // 10):
            r = m.run(until=0.01, sample=0.001)
            r["a.x"]
            solver += r._core.wall_seconds()
        best = min(best, (time.perf_counter() - begin - solver) / (n // 10))
    print(f"run: {1e6 * best:.1f} µs beyond the solver; memory {resident() - before:+.1f} MiB over {n} runs")


def steps(n: int) -> None:
    """A controller at 1 kHz, against the same run in one go. The solver's own part grows as well: an input that changes costs
    it an evaluation, a channel that is read another."""
    m = double_pendulum()

    def nothing(s: bc.Simulation, k: int) -> None:
        pass

    def same_input(s: bc.Simulation, k: int) -> None:
        s.input["torque"] = 0.0

    def new_input(s: bc.Simulation, k: int) -> None:
        s.input["torque"] = 1e-3 * k

    def feedback(s: bc.Simulation, k: int) -> None:
        s.input["torque"] = -0.1 * s.value("p.angle")

    def seconds(act: Callable[[bc.Simulation, int], None] | None) -> float:
        s = m.simulate(until=1e9, method="rk4", step=1e-3)
        begin = time.perf_counter()
        if act is None:
            s.advance_to(1e-3 * n)
        else:
            for k in range(1, n + 1):
                act(s, k)
                s.advance_to(1e-3 * k)
        return time.perf_counter() - begin

    acts = [None, nothing, same_input, new_input, feedback]
    best = [float("inf")] * len(acts)
    for _ in range(60):  # in turn, so that all have the same machine
        best = [min(b, seconds(act)) for b, act in zip(best, acts, strict=True)]
    print(f"step: {1e6 * best[0] / n:.2f} µs in one go; beyond it: ", end="")
    words = ["by intervals", "with an input that stays", "with an input that changes", "with a channel fed back"]
    print(", ".join(f"{1e6 * (b - best[0]) / n:+.2f} µs {w}" for b, w in zip(best[1:], words, strict=True)))


def imports() -> None:
    """The time of `import bellcrank` in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import bellcrank; print(time.perf_counter() - t)"
    line = [sys.executable, "-c", code]
    best = min(float(subprocess.run(line, capture_output=True, text=True, check=True).stdout) for _ in range(10))
    print(f"import: {1e3 * best:.0f} ms")


if __name__ == "__main__":
    imports()
    steps(300)
    runs(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
