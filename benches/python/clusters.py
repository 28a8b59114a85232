"""Studies on Dask and Ray with two workers, one of which is killed midway: `python benches/python/clusters.py [processes] [dask] [ray]`.

Needs `pip install "dask[distributed]" ray` beside the package. Prints seconds, what a task costs the engine itself and what a chunk of
rows costs beyond that, and whether the table is that of threads.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import bellcrank as bc
from study import PENDULUM

ROWS = 600
#: Tasks that wait at an engine of two workers, as in a study.
AHEAD = 6


def asked() -> dict[str, Any]:
    """The study: some milliseconds for each run."""
    return {
        "vary": {"length": bc.uniform(0.4, 1.5)},
        "outputs": ["bob.y.min", "pin.rate.absmax"],
        "samples": ROWS,
        "until": 5.0,
        "solve": {"rtol": 1e-9},
        "progress": False,
    }


def pid() -> int:
    """The process of a worker."""
    time.sleep(0.05)
    return os.getpid()


def nothing(spec: Any, indices: list[int], folder: str) -> bytes:
    """A task with the arguments and the size of the answer of a chunk, in which nothing is computed."""
    return bytes(40 * len(indices))


def each(name: str, executor: Executor, folder: Path, chunks: int = 300) -> None:
    """What a chunk of one row costs in a study, whose runs end at once; beside tasks of nothing, of which as many wait at the engine."""
    model = bc.loads(PENDULUM, "pendulum.toml")
    asked = {"outputs": ["bob.y.min"], "samples": chunks, "until": 1e-6, "progress": False}
    spec = (model._core.parts(), "{}")
    empty, whole = [], []
    for turn in range(3):
        begun = time.perf_counter()
        waiting = deque(executor.submit(nothing, spec, [k], str(folder)) for k in range(AHEAD))
        for k in range(AHEAD, chunks):
            waiting.popleft().result()
            waiting.append(executor.submit(nothing, spec, [k], str(folder)))
        while waiting:
            waiting.popleft().result()
        empty.append((time.perf_counter() - begun) / chunks)
        begun = time.perf_counter()
        out = folder / f"{name}-each-{turn}"
        bc.sweep(model, {"length": bc.uniform(0.5, 2)}, executor=executor, jobs=2, chunk=1, out=out, **asked)
        whole.append((time.perf_counter() - begun) / chunks)
    begun = time.perf_counter()
    bc.sweep(model, {"length": bc.uniform(0.5, 2)}, jobs=1, **asked)
    row = (time.perf_counter() - begun) / chunks
    task, chunk = min(empty), min(whole)
    ours = chunk - task
    print(
        f"{name}: a task of nothing {1e3 * task:.2f} ms, a chunk of one row {1e3 * chunk:.2f} ms: {1e3 * ours:.2f} ms are ours, "
        f"of which the row itself {1e3 * row:.2f} ms; ratio {chunk / task:.2f}"
    )


def study(name: str, executor: Executor, folder: Path, table: bytes) -> None:
    """A study in peace, and one whose worker is killed."""
    model = bc.loads(PENDULUM, "pendulum.toml")
    futures = [executor.submit(pid) for _ in range(20)]
    workers = sorted({future.result() for future in futures})
    each(name, executor, folder)
    begun = time.perf_counter()
    bc.sweep(model, executor=executor, jobs=2, chunk=10, out=folder / f"{name}-peace", **asked())
    peace = time.perf_counter() - begun
    killed: list[int] = []

    def tell(done: int, rows: int) -> None:
        if done > rows // 3 and not killed:
            killed.append(workers[0])
            os.kill(workers[0], signal.SIGKILL)

    begun = time.perf_counter()
    bc.sweep(model, executor=executor, jobs=2, chunk=10, out=folder / name, **{**asked(), "progress": tell})
    took = time.perf_counter() - begun
    same = [(folder / f / "study.parquet").read_bytes() == table for f in (f"{name}-peace", name)]
    print(f"{name}: {len(workers)} workers, {ROWS} rows in {peace:.1f} s")
    print(f"{name}: one killed ({len(killed)}), {took:.1f} s; tables the same as on threads: {same}")


def on_dask(folder: Path, table: bytes) -> None:
    """A local cluster of Dask."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        study("dask", client.get_executor(pure=False, retries=3), folder, table)


def on_ray(folder: Path, table: bytes) -> None:
    """A local cluster of Ray."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    study("ray", bc.ray_executor(num_cpus=1), folder, table)
    ray.shutdown()


def main() -> None:
    """Runs on the clusters that are named, or on both."""
    wanted = sys.argv[1:] or ["processes", "dask", "ray"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.perf_counter()
        bc.sweep(bc.loads(PENDULUM, "pendulum.toml"), out=folder / "threads", jobs=2, **asked())
        print(f"threads: {ROWS} rows in {time.perf_counter() - begun:.1f} s")
        table = (folder / "threads" / "study.parquet").read_bytes()
        if "processes" in wanted:
            with ProcessPoolExecutor(2) as pool:
                each("processes", pool, folder)
        if "dask" in wanted:
            on_dask(folder, table)
        if "ray" in wanted:
            on_ray(folder, table)


if __name__ == "__main__":
    main()
