"""Studies on Dask and Ray with two workers, one of which is killed midway: `python benches/python/clusters.py [dask] [ray]`.

Needs `pip install "dask[distributed]" ray` beside the package. Prints seconds, seconds per chunk of nothing, and whether the table is
that of threads.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import bellcrank as bc
from study import PENDULUM

ROWS = 600


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


def study(name: str, executor: Executor, folder: Path, table: bytes) -> None:
    """A study in peace, and one whose worker is killed."""
    model = bc.loads(PENDULUM, "pendulum.toml")
    futures = [executor.submit(pid) for _ in range(20)]
    workers = sorted({future.result() for future in futures})
    begun = time.perf_counter()
    for future in [executor.submit(os.getpid) for _ in range(500)]:
        future.result()
    each = (time.perf_counter() - begun) / 500
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
    print(f"{name}: {len(workers)} workers, {1e3 * each:.1f} ms for a task of nothing, {ROWS} rows in {peace:.1f} s")
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
    wanted = sys.argv[1:] or ["dask", "ray"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.perf_counter()
        bc.sweep(bc.loads(PENDULUM, "pendulum.toml"), out=folder / "threads", jobs=2, **asked())
        print(f"threads: {ROWS} rows in {time.perf_counter() - begun:.1f} s")
        table = (folder / "threads" / "study.parquet").read_bytes()
        if "dask" in wanted:
            on_dask(folder, table)
        if "ray" in wanted:
            on_ray(folder, table)


if __name__ == "__main__":
    main()
