"""Assemblies from Python: in this process, and with parts in the workers of a cluster."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import bellcrank as bc
import pytest

CAR = Path(__file__).parents[2] / "examples" / "quarter-car-parts" / "assembly.toml"


def test_an_assembly_runs_here() -> None:
    found = bc.glue(CAR, until=0.2)
    assert found.summary["status"] == "finished" and found.results["time"][-1] == pytest.approx(0.2)
    assert not found.addresses and not found.lost
    with pytest.raises(bc.ModelError, match=r"nowhere\.toml"):
        bc.glue("nowhere.toml")
    with pytest.raises(TypeError, match="client of Dask"):
        bc.glue(CAR, cluster=3)


def test_parts_in_a_cluster_survive_a_worker_that_is_killed() -> None:
    distributed = pytest.importorskip("distributed")
    here = bc.glue(CAR, until=2).summary["final"]
    killed: list[int] = []

    def kill(processes: dict[str, int]) -> None:
        if not killed:
            killed.append(processes["wheel"])
            threading.Timer(0.7, os.kill, (processes["wheel"], signal.SIGKILL)).start()

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        whole = bc.glue(CAR, cluster=client, until=2).summary["final"]
        found = bc.glue(CAR, cluster=client, until=2, timeout=5, started=kill)
    assert killed and "wheel" in found.lost
    assert found.summary["final"] == whole and len(whole) > 20
    assert all(abs(value - here[name]) < 1e-12 * (1 + abs(value)) for name, value in whole.items())
