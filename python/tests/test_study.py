"""Studies from Python: the rows and bytes of the command line, executors, and workers that die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bellcrank as bc
import numpy as np
import pytest
from conftest import PENDULUM

OUTPUTS = {"low": "bob.y.min", "speed": "bob.vx.absmax"}


def swing() -> bc.Model:
    """A point mass on a rod."""
    return bc.loads(PENDULUM, "pendulum.toml")


def test_rows_follow_the_closed_form() -> None:
    m = bc.Model("ball", gravity=(0, 0, -9.81))
    v = m.parameter("v", 1.0)
    m.body("ball", mass=1.0, velocity=(0, 0, v))
    found = bc.sweep(
        m,
        {"v": np.linspace(1, 3, 5), "solve.method": ["dop853", "bdf"]},
        outputs={"height": "ball.z.max", "end": "ball.z"},
        until=1,
        solve={"rtol": 1e-9},
    )
    assert (found.rows, found.axes, found.outputs) == (10, ["v", "solve.method"], ["height", "end"])
    assert np.allclose(found["height"], found["v"] ** 2 / (2 * 9.81), atol=1e-6)
    assert np.allclose(found["end"], found["v"] - 9.81 / 2, atol=1e-6)
    assert found["solve.method"] == ["dop853", "bdf"] * 5
    assert found.units["height"] == "m" and found.failures == {}
    assert "10 rows" in repr(found)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_table_has_the_bytes_of_the_command_line(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "pendulum.toml").write_text(PENDULUM)
    study = """
        study = { model = "pendulum.toml", samples = 20, sampling = "sobol", seed = 3 }
        vary.length = { distribution = "uniform", from = 0.5, to = 1 }
        vary."body.bob.mass" = { distribution = "normal", mean = 1.5, deviation = 0.1 }
        column = { low = "bob.y.min", speed = "bob.vx.absmax" }
    """
    (tmp_path / "study.toml").write_text(study)
    line = [sys.executable, "-m", "bellcrank", "study", "study.toml", "--out", "cli", "--quiet"]
    assert subprocess.run(line, cwd=tmp_path, timeout=120).returncode == 0
    found = bc.sweep(
        bc.load(tmp_path / "pendulum.toml"),
        {"length": bc.uniform(0.5, 1), "body.bob.mass": bc.normal(1.5, 0.1)},
        outputs=OUTPUTS,
        samples=20,
        sampling="sobol",
        seed=3,
        jobs=jobs,
        out=tmp_path / "python",
    )
    table = (tmp_path / "cli" / "study.parquet").read_bytes()
    assert table == (tmp_path / "python" / "study.parquet").read_bytes()
    again = bc.open_study(tmp_path / "cli")
    assert list(again) == list(found) and np.array_equal(again["low"], found["low"])


def test_tables_go_to_pandas_and_arrow() -> None:
    pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    found = bc.sweep(swing(), {"body.bob.mass": [-1, 1]}, outputs=["bob.y.min"], until=0.1)
    assert list(found.failures) == [0] and "mass" in found.failures[0]
    frame = found.to_pandas()
    assert list(frame.columns) == ["row", "body.bob.mass", "bob.y.min", "status", "reason"]
    assert frame["bob.y.min"].isna().tolist() == [True, False]
    assert frame["reason"].isna().tolist() == [False, True]
    table = found.to_arrow()
    assert table.column("bob.y.min").null_count == 1 and table.schema.field("bob.y.min").metadata == {b"unit": b"m"}
    assert table.column("status").to_pylist() == ["failed", "finished"]
    assert table.schema.field("status").type == arrow.string()


def test_tables_are_arrow_streams_in_batches_without_copies() -> None:
    arrow = pytest.importorskip("pyarrow")
    polars = pytest.importorskip("polars")
    m = bc.Model("ball", gravity=(0, 0, -9.81))
    m.parameter("v", 1.0)
    m.body("ball", mass=1.0, velocity=(0, 0, "v"))
    rows = 8192 + 5
    asked: dict[str, Any] = {"outputs": ["ball.z"], "until": 1e-6, "samples": rows, "progress": False}
    found = bc.sweep(m, {"v": bc.uniform(0, 1), "solve.method": ["dop853"]}, **asked)
    reader = arrow.RecordBatchReader.from_stream(found)
    assert reader.schema == found.to_arrow().schema and reader.schema.field("v").nullable
    sizes = [batch.num_rows for batch in reader]
    assert sizes == [8192, 5]
    table = arrow.table(found)
    assert table.column("v").to_numpy().tolist() == found["v"].tolist()
    assert table.column("solve.method").to_pylist() == ["dop853"] * rows
    assert table.column("reason").null_count == rows and table.column("v").null_count == 0
    # the same memory
    (_, data) = table.column("v").chunk(0).buffers()
    assert data.address == found["v"].__array_interface__["data"][0]
    frame = found.to_polars()
    assert isinstance(frame, polars.DataFrame) and frame.height == rows and frame["v"].to_list() == found["v"].tolist()
    assert frame["status"].unique().to_list() == ["finished"] and frame["reason"].null_count() == rows
    # the stream keeps the table alive
    column = table.column("v").slice(8190, 4)
    kept = column.to_pylist()
    del found, frame, reader
    assert column.to_pylist() == kept and table.num_rows == rows


def test_rows_that_failed_are_null_in_arrow_streams() -> None:
    arrow = pytest.importorskip("pyarrow")
    masses = [-1 - k if k % 3 == 0 else 1 + k for k in range(20)]
    found = bc.sweep(swing(), {"body.bob.mass": masses}, outputs=["bob.y.min"], until=0.01, progress=False)
    column = arrow.table(found).column("bob.y.min").to_pylist()
    assert [value is None for value in column] == [mass < 0 for mass in masses]
    assert [value for value in column if value is not None] == found["bob.y.min"][np.array(masses) > 0].tolist()
    reasons = arrow.table(found).column("reason").to_pylist()
    assert [text is not None for text in reasons] == [mass < 0 for mass in masses]


def test_the_file_can_be_read_by_others(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = bc.sweep(swing(), {"length": [0.5, 1.0]}, outputs=["bob.y.min"], until=0.1, out=tmp_path / "s")
    table = parquet.read_table(tmp_path / "s" / "study.parquet")
    assert table.column("bob.y.min").to_pylist() == found["bob.y.min"].tolist()
    assert table.column("reason").to_pylist() == [None, None]


def whole(tmp_path: Path, rows: int) -> tuple[dict[str, Any], bytes]:
    """What is asked of a sweep, and the table it gives on threads."""
    asked: dict[str, Any] = {
        "vary": {"length": bc.uniform(0.4, 1.5)},
        "outputs": OUTPUTS,
        "samples": rows,
        "solve": {"rtol": 1e-8},
        "progress": False,
    }
    bc.sweep(swing(), out=tmp_path / "whole", **asked)
    return asked, (tmp_path / "whole" / "study.parquet").read_bytes()


def test_an_executor_gives_the_same_table(tmp_path: Path) -> None:
    asked, table = whole(tmp_path, 40)
    told: list[int] = []
    asked["progress"] = lambda done, rows: told.append(done)
    with ThreadPoolExecutor(2) as pool:
        bc.sweep(swing(), out=tmp_path / "threads", executor=pool, chunk=7, **asked)
    assert table == (tmp_path / "threads" / "study.parquet").read_bytes()
    assert told == sorted(told) and told[-1] == 40
    with ProcessPoolExecutor(2) as processes:
        bc.sweep(swing(), out=tmp_path / "processes", executor=processes, **asked)
    assert table == (tmp_path / "processes" / "study.parquet").read_bytes()


def test_a_worker_that_is_killed_midway_loses_no_row(tmp_path: Path) -> None:
    asked, table = whole(tmp_path, 300)
    pool = ProcessPoolExecutor(2)
    killed = threading.Event()

    def tell(done: int, rows: int) -> None:
        if done >= rows // 4 and not killed.is_set():
            killed.set()
            processes: Any = pool
            os.kill(next(iter(processes._processes)), signal.SIGKILL)

    asked["progress"] = tell
    bc.sweep(swing(), out=tmp_path / "killed", executor=pool, chunk=5, **asked)
    pool.shutdown(wait=False)
    assert killed.is_set()
    assert table == (tmp_path / "killed" / "study.parquet").read_bytes()


class Deadly(Executor):
    """An executor whose worker dies of one row, and otherwise computes at once."""

    def __init__(self, row: int) -> None:
        self.row, self.tasks = row, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Computes a chunk, or loses it."""
        self.tasks += 1
        future: Future[Any] = Future()
        if self.row in args[1]:
            future.set_exception(KilledWorker(f"attempt {self.tasks}"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


class KilledWorker(Exception):
    """As Dask names it."""


def test_a_row_that_kills_its_workers_fails_alone(tmp_path: Path) -> None:
    asked, _ = whole(tmp_path, 20)
    found = bc.sweep(swing(), executor=Deadly(7), chunk=8, **asked)
    assert list(found.failures) == [7]
    assert "the worker died while it computed this row: KilledWorker" in found.failures[7]
    assert np.isfinite(np.delete(found["low"], 7)).all()


class Without(Executor):
    """An executor whose workers have no package."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Fails as unpickling does there."""
        future: Future[Any] = Future()
        future.set_exception(ModuleNotFoundError("No module named 'bellcrank'"))
        return future


def test_workers_without_the_package_are_told_clearly(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot import it: No module named 'bellcrank'\nhelp: install the same"):
        bc.sweep(swing(), {"length": [1, 2]}, outputs=OUTPUTS, executor=Without(), out=tmp_path / "s")
    assert not (tmp_path / "s" / "study.parquet").exists()


def test_a_sweep_that_ended_early_is_resumed(tmp_path: Path) -> None:
    asked, table = whole(tmp_path, 60)
    out = tmp_path / "resumed"

    def stop(done: int, rows: int) -> None:
        if done >= 1:
            time.sleep(0.06)
        if 10 <= done < rows:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ThreadPoolExecutor(1) as pool:
        bc.sweep(swing(), out=out, executor=pool, chunk=5, **{**asked, "progress": stop})
    with pytest.raises(bc.ResultsError, match=r"`resume=True` continues with them"):
        bc.sweep(swing(), out=out, **asked)
    bc.sweep(swing(), out=out, resume=True, **asked)
    assert table == (out / "study.parquet").read_bytes()


def test_what_is_wrong_is_said() -> None:
    m = swing()
    with pytest.raises(bc.ModelError, match="the model has no parameter `lenght` to vary") as e:
        bc.sweep(m, {"lenght": [1]}, outputs=OUTPUTS)
    assert e.value.diagnostics[0]["label"] == "did you mean `length`?"
    with pytest.raises(bc.ModelError, match="has no values"):
        bc.sweep(m, {"length": []}, outputs=OUTPUTS)
    with pytest.raises(bc.ModelError, match="1000000000000 points"):
        many = {"from": 1, "to": 2, "points": 1000000}
        bc.sweep(m, {"length": many, "body.bob.mass": many}, outputs=OUTPUTS)
    with pytest.raises(bc.ModelError, match="no output or channel"):
        bc.sweep(m, {"length": [1]}, outputs=["bob.q"])
    with pytest.raises(bc.ModelError, match="the study has no columns"):
        bc.sweep(m, {"length": [1]})
    with pytest.raises(TypeError, match="`outputs` must be a list"):
        bc.sweep(m, {"length": [1]}, outputs="bob.y")
    with pytest.raises(ValueError, match="`keep` needs `out`"):
        bc.sweep(m, {"length": [1]}, outputs=OUTPUTS, keep=True)
    with pytest.raises(TypeError, match="`executor` must be one of concurrent"):
        bc.sweep(m, {"length": [1]}, outputs=OUTPUTS, executor=3)  # type: ignore[arg-type]
    m.force.law("wind", lambda t, x, v, R, w: (1.0, 0.0), body="bob")
    with pytest.raises(bc.ModelError, match="`wind` is a Python function"):
        bc.sweep(m, {"length": [1]}, outputs=OUTPUTS)
    with pytest.raises(bc.ChannelError, match="did you mean `low`"):
        bc.sweep(swing(), {"length": [1]}, outputs=OUTPUTS, until=0.01)["lo"]


def test_points_are_those_of_scipys_sobol_and_of_the_normal_quantile() -> None:
    qmc = pytest.importorskip("scipy.stats.qmc")
    from statistics import NormalDist

    m = bc.loads("body.ball = { mass = 1 }\n[parameter]\n" + "".join(f"p{k} = 0\n" for k in range(21)))
    asked: dict[str, Any] = {"outputs": ["ball.z"], "until": 1e-6, "samples": 256, "sampling": "sobol"}
    found = bc.sweep(m, {f"p{k}": bc.uniform(0, 1) for k in range(21)}, **asked)
    drawn = np.array([found[f"p{k}"] for k in range(21)]).T
    whole = np.floor(drawn * 2**32).astype(np.uint64)
    # the seed shifts all points by the same bits, and the first point of the sequence is zero
    exact = (qmc.Sobol(21, scramble=False, bits=32).random(256) * 2**32).astype(np.uint64)
    assert np.array_equal(whole ^ whole[0], exact)
    bell = bc.sweep(m, {"p0": bc.normal(2, 0.5)}, **asked)["p0"]
    assert np.allclose(bell, [NormalDist(2, 0.5).inv_cdf(u) for u in drawn[:, 0]], rtol=1e-13)


COORDINATOR = """
import os, sys
from concurrent.futures import ProcessPoolExecutor
import bellcrank as bc
def main():
    def tell(done, rows):
        if done >= int(sys.argv[3]):
            os.kill(os.getpid(), 9)
    model = bc.load(sys.argv[1])
    with ProcessPoolExecutor(2) as pool:
        bc.sweep(model, {"length": bc.uniform(0.4, 1.5)}, outputs={"low": "bob.y.min", "speed": "bob.vx.absmax"},
                 samples=300, solve={"rtol": 1e-8}, executor=pool, chunk=5, out=sys.argv[2], resume=True, progress=tell)
if __name__ == "__main__":
    main()
"""


def test_a_coordinator_that_is_killed_again_and_again_loses_no_row(tmp_path: Path) -> None:
    (tmp_path / "pendulum.toml").write_text(PENDULUM)
    (tmp_path / "coordinate.py").write_text(COORDINATOR)
    asked, table = whole(tmp_path, 300)
    for done in (40, 120, 230):
        line = [sys.executable, "coordinate.py", "pendulum.toml", "study", str(done)]
        ended = subprocess.run(line, cwd=tmp_path, timeout=120, capture_output=True)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    bc.sweep(bc.load(tmp_path / "pendulum.toml"), out=tmp_path / "study", resume=True, **asked)
    found = bc.open_study(tmp_path / "study")
    assert found.rows == 300 and found["row"].tolist() == list(range(300))
    # the model has another name, of the file it was read from
    again = bc.open_study(tmp_path / "whole")
    assert all(np.array_equal(found[name], again[name]) for name in ("length", "low", "speed"))
    assert len(table) > 0


def test_lists_go_together() -> None:
    found = bc.sweep(swing(), {"length": [1, 2], "body.bob.mass": [3, 3]}, outputs=["bob.y"], until=0.01, together=True)
    assert found.rows == 2 and found["length"].tolist() == [1, 2]


def test_a_minimum_is_found_from_several_starts() -> None:
    m = bc.Model("throw", gravity=(0, 0, -9.81))
    angle = m.parameter("angle", 0.2)
    m.body("ball", mass=1.0, velocity=(10 * np.cos(angle), 0, 10 * np.sin(angle)))  # type: ignore[call-overload]

    def miss(o: dict[str, float]) -> float:
        return (o["ball.x"] - 6) ** 2 + (o["ball.z"] - (8 - 9.81 / 2)) ** 2

    found = bc.minimize(m, miss, {"angle": (0.05, 1.5)}, outputs=["ball.x", "ball.z"], until=1, starts=3)
    assert found.success and abs(found.parameters["angle"] - np.arctan2(8, 6)) < 1e-4
    assert len(found.starts) == 3 and found.value < 1e-6 and found.runs > 9
    with pytest.raises(ValueError, match="the lower one first"):
        bc.minimize(m, "ball.x", {"angle": (1, 0)})
    with pytest.raises(ValueError, match="is none of the outputs"):
        bc.minimize(m, "ball.y", {"angle": (0, 1)}, outputs=["ball.x"])
    with pytest.raises(bc.ModelError, match="no parameter `angel`"):
        bc.minimize(m, "ball.x", {"angel": (0, 1)}, until=1)
    assert bc.minimize(m, "ball.z.max", {"angle": (0.3, 1.2)}, until=2).parameters["angle"] == pytest.approx(0.3)


def test_starts_on_an_executor_come_to_the_same_ends() -> None:
    m = swing()
    truth = m.replace(length=0.9).run(until=2, sample=0.1, rtol=1e-10)
    measured = {"time": truth.time, "bob.x": truth["bob.x"]}
    bounds = {"length": (0.4, 1.5)}
    with ProcessPoolExecutor(2) as pool:
        fits = [bc.fit(m, measured, bounds, starts=3, executor=executor) for executor in (None, pool)]
        asked: dict[str, Any] = {"outputs": ["bob.x"], "until": 1, "starts": 3}
        target = float(truth["bob.x"][10])
        minima = [
            bc.minimize(m, lambda o: (o["bob.x"] - target) ** 2, bounds, executor=executor, **asked)
            for executor in (None, pool)
        ]
        with pytest.raises(bc.BellcrankError, match="nothing"):
            bc.fit(m, {"time": truth.time, "nothing": truth["bob.x"]}, bounds, executor=pool)
    assert fits[0].parameters == fits[1].parameters and fits[0].runs == fits[1].runs
    assert fits[0].parameters["length"] == pytest.approx(0.9, rel=1e-6)
    assert minima[0] == minima[1] and len(minima[0].starts) == 3
    with pytest.raises(ValueError, match="`jobs` must be at least 1"):
        bc.fit(m, measured, bounds, jobs=0)


def test_intervals_of_a_fit_hold_the_truth_as_often_as_they_say() -> None:
    m = bc.Model("slide", plane=True)
    m.parameter("v", 1.0)
    m.parameter("a", 0.0)
    m.body("block", mass=1.0, velocity=("v", 0))
    m.force.force("push", body="block", force=("a", 0))
    random = np.random.default_rng(3)
    times = np.linspace(0, 1, 21)
    hits, trials = 0, 30
    for _ in range(trials):
        x = 2.0 * times + 0.5 * 3.0 * times**2 + random.normal(0, 0.01, len(times))
        found = bc.fit(m, {"time": times, "block.x": x}, {"v": (0, 5), "a": (0, 8)}, jobs=1, confidence=0.8)
        # a polynomial: the best fit has a closed form
        design = np.array([times, 0.5 * times**2]).T
        best, *_ = np.linalg.lstsq(design, x, rcond=None)
        assert np.allclose(list(found.parameters.values()), best, rtol=1e-5)
        spread = found.deviation**2 * np.linalg.inv(design.T @ design)
        assert np.allclose(found.covariance, spread, rtol=1e-4)
        low, high = found.intervals["a"]
        hits += low < 3.0 < high
    assert 0.6 < hits / trials < 0.97, hits
    with pytest.raises(ValueError, match='needs "time"'):
        bc.fit(m, {"block.x": x}, {"v": (0, 5)})
    with pytest.raises(ValueError, match="one for each time"):
        bc.fit(m, {"time": times, "block.x": x[1:]}, {"v": (0, 5)})
    with pytest.raises(bc.BellcrankError, match=r"block\.q"):
        bc.fit(m, {"time": times, "block.q": x}, {"v": (0, 5)})
