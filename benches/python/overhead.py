"""What the Python package costs beyond the solver: `python benches/python/overhead.py [RUNS]`.

Seconds are of this machine; the least of several rounds counts.
"""

from __future__ import annotations

import subprocess
import sys
import time

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
    """A controller at 1 kHz, against the same intervals without one."""
    m = double_pendulum()

    def seconds(controlled: bool) -> float:
        s = m.simulate(until=1e9, method="rk4", step=1e-3)
        begin = time.perf_counter()
        for k in range(1, n + 1):
            if controlled:
                s.input["torque"] = 0.0  # unchanged: the solver has nothing to do
                s.time  # noqa: B018
            s.advance_to(1e-3 * k)
        return time.perf_counter() - begin

    def alone() -> float:
        s = m.simulate(until=1e9, method="rk4", step=1e-3)
        begin = time.perf_counter()
        s.advance_to(1e-3 * n)
        return time.perf_counter() - begin

    whole = min(alone() for _ in range(5))
    plain = min(seconds(False) for _ in range(5))
    controlled = min(seconds(True) for _ in range(5))
    print(f"step: {1e6 * whole / n:.2f} µs in one go, {1e6 * (plain - whole) / n:+.2f} µs by intervals, ", end="")
    print(f"{1e6 * (controlled - whole) / n:+.2f} µs with an input and a look at the time")


def imports() -> None:
    """The time of `import bellcrank` in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import bellcrank; print(time.perf_counter() - t)"
    line = [sys.executable, "-c", code]
    best = min(float(subprocess.run(line, capture_output=True, text=True, check=True).stdout) for _ in range(10))
    print(f"import: {1e3 * best:.0f} ms")


if __name__ == "__main__":
    imports()
    steps(5000)
    runs(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
