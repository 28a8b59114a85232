"""What studies cost: `python benches/python/study.py [RUNS]`, 10 000 unless given.

Prints the seconds of a study of a small machine with one and two workers and their ratio, what a row costs beyond its run, and
the memory that many rows take. Seconds are of this machine: run it while nothing else does.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bellcrank as bc

PENDULUM = """
[model]
plane = "xy"
gravity = [0, -9.81]
[parameter]
length = 1.0
[body.bob]
mass = 1.0
inertia = 0.01
at = ["length", 0]
[joint.pin]
type = "revolute"
between = ["ground", "bob"]
at = [0, 0]
"""


def study(runs: int, jobs: int, until: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of a study on threads of this process."""
    begun = clock()
    bc.sweep(
        bc.loads(PENDULUM, "pendulum.toml"),
        {"length": bc.uniform(0.5, 2)},
        outputs=["bob.y.min"],
        samples=runs,
        jobs=jobs,
        until=until,
        progress=False,
    )
    return clock() - begun


def overhead(runs: int) -> None:
    """What a row costs beyond its run, in processor time, which other programs disturb less: a study of runs that end at once,
    against such runs of a compiled model."""
    m = bc.loads(PENDULUM, "pendulum.toml")
    until = 1e-3
    whole = min(study(runs, 1, until, time.process_time) for _ in range(3)) / runs
    alone = []
    for _ in range(3):
        begun = time.process_time()
        for _ in range(runs):
            m.simulate(until=until).advance_to(until)
        alone.append((time.process_time() - begun) / runs)
    print(f"a row: {1e6 * whole:.0f} µs, its run alone {1e6 * min(alone):.0f} µs")
    print(f"overhead per run: {1e6 * (whole - min(alone)):.0f} µs (read, written down and put into the table)")


def workers(runs: int) -> None:
    """One worker against two."""
    one, two = study(runs, 1, 1.0), study(runs, 2, 1.0)
    print(f"{runs} runs: {one:.2f} s with one worker, {two:.2f} s with two, ratio {one / two:.2f}")


def memory(runs: int) -> None:
    """The largest memory of the program over studies of two sizes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pendulum.toml").write_text(PENDULUM)
        for n in (runs // 10, runs):
            text = f"""
                study = {{ model = "pendulum.toml", samples = {n}, sampling = "monte-carlo" }}
                vary.length = {{ distribution = "uniform", from = 0.5, to = 2 }}
                column.low = "bob.y.min"
                solve.until = 0.01
            """
            Path(folder, "study.toml").write_text(text)
            code = (
                "import resource, sys; from bellcrank import _bellcrank; code = _bellcrank.main(sys.argv[1:]); "
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
            )
            line = [sys.executable, "-c", code, "study", f"{folder}/study.toml", "--out", f"{folder}/{n}", "--quiet"]
            told = subprocess.run(line, check=True, capture_output=True, text=True)
            print(f"{n} rows: largest memory {float(told.stdout):.1f} MiB")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    workers(count)
    overhead(min(count, 2000))
    memory(10 * count)
