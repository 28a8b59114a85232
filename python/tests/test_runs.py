"""Runs and their results."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from pathlib import Path

import bellcrank as bc
import numpy as np
import pytest
from conftest import PENDULUM


def test_arrays_look_at_the_results(pendulum: bc.Model) -> None:
    r = pendulum.run(until=1.0)
    x = r["bob.x"]
    assert x.dtype == np.float64 and x.shape == (r.rows,) and not x.flags.writeable
    assert r["bob.x"].ctypes.data == x.ctypes.data
    assert r.time[-1] == 1.0 and r.units["bob.vx"] == "m/s" and "bob.x" in r and 3 not in r
    before = x.copy()
    del r
    gc.collect()
    assert np.array_equal(x, before)


def test_physics_of_a_pendulum(pendulum: bc.Model) -> None:
    r = pendulum.run(until=3.0, rtol=1e-10)
    assert np.allclose(r["bob.x"] ** 2 + r["bob.y"] ** 2, 0.64, atol=1e-12)
    energy = 0.5 * 1.5 * (r["bob.vx"] ** 2 + r["bob.vy"] ** 2) + 1.5 * 9.81 * r["bob.y"]
    assert np.ptp(energy) < 1e-7
    s = r.summary
    assert s.status == "finished" and s.degrees_of_freedom == 1 and s.steps > 10
    assert s.position_drift < 1e-10 and s.final["bob.x"] == r["bob.x"][-1]


def test_long_runs_come_in_several_chunks(pendulum: bc.Model) -> None:
    pa = pytest.importorskip("pyarrow")
    r = pendulum.run(until=10.0, sample=1e-3, rtol=1e-5)
    assert r.rows == 10001 and np.all(np.diff(r.time) > 0)
    table = pa.table(r)
    assert table.num_rows == 10001 and table["bob.x"].num_chunks == 3
    assert np.array_equal(table["bob.x"].to_numpy(), r["bob.x"])


def test_tables_of_arrow_pandas_and_polars(pendulum: bc.Model) -> None:
    pa, pd, pl = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    r = pendulum.run()
    table = r.to_arrow()
    assert isinstance(table, pa.Table) and table.schema.field("bob.vx").metadata == {b"unit": b"m/s"}
    address = table["bob.x"].chunk(0).buffers()[1].address
    assert address == r["bob.x"].ctypes.data, "nothing is copied"
    assert isinstance(r.to_polars(), pl.DataFrame) and r.to_polars()["bob.x"].to_numpy()[3] == r["bob.x"][3]
    assert isinstance(r.to_pandas(), pd.DataFrame) and r.to_pandas()["bob.x"].iloc[-1] == r["bob.x"][-1]
    assert pa.schema(r).names == list(r)
    last = r["bob.x"][-1]
    del r
    gc.collect()
    assert table["bob.x"][-1].as_py() == last


def test_channels_are_found_by_name_and_pattern(pendulum: bc.Model) -> None:
    r = pendulum.run()
    with pytest.raises(KeyError, match=r"did you mean `bob\.x`"):
        r["bob.xx"]
    with pytest.raises(bc.ChannelError, match="no channel matches"):
        r.matching("nobody.*")
    assert r.matching("bob.?") == ["bob.x", "bob.y"]


def test_events_are_objects() -> None:
    r = bc.example("bouncing-ball").run()
    assert len(r.events) > 3 and r.events[0].time < r.events[1].time and r.events[0].name
    assert r.summary.details["event_count"] == len(r.events)


def test_results_are_saved_and_opened(tmp_path: Path, pendulum: bc.Model) -> None:
    r = pendulum.run()
    r.save(tmp_path / "results")
    again = bc.open(tmp_path / "results")
    assert list(again) == list(r) and all(np.array_equal(again[name], r[name]) for name in r)
    assert again.summary.status == "finished" and again.units == r.units
    assert np.array_equal(bc.open(tmp_path / "results" / "results.csv")["bob.x"], r["bob.x"])
    assert again.show(open=False).text.startswith("<!")
    with pytest.raises(bc.SimulationError, match="do not have the model"):
        again.verify()
    with pytest.raises(OSError, match="nowhere"):
        bc.open(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(bc.ResultsError, match="contains other files"):
        r.save(tmp_path / "other")


def test_a_run_is_verified_reported_shown_and_plotted(tmp_path: Path, pendulum: bc.Model) -> None:
    r = pendulum.run(rtol=1e-6)
    found = r.verify()
    assert found.converges and 0 < max(found.errors.values()) < 1e-4 and found.worst is not None
    r.report(tmp_path / "report.html", plots=["bob.?"])
    text = (tmp_path / "report.html").read_text()
    assert "bellcrank-data" in text and "pendulum" in text
    page = r.show(open=False, plots=[("bob.x", "bob.y")])
    assert "srcdoc" in page._repr_html_() and page.text.startswith("<!doctype html>")
    plot = r.plot("bob.?", title="a pendulum")
    assert plot.svg.startswith("<svg") and "bob" in repr(plot)
    plot.save(tmp_path / "plot.svg")
    with pytest.raises(ValueError, match=r"\.svg"):
        plot.save(tmp_path / "plot.jpeg")


def test_progress_is_told_and_its_exceptions_end_the_run(pendulum: bc.Model) -> None:
    seen: list[float] = []
    pendulum.run(until=3000, sample=100, progress=seen.append)
    assert seen and seen == sorted(seen)

    class Enough(Exception):
        result: bc.Results

    def stop(t: float) -> None:
        raise Enough

    with pytest.raises(Enough) as e:
        pendulum.run(until=3e6, sample=1e3, progress=stop)
    assert isinstance(e.value.result, bc.Results) and e.value.result.rows >= 1
    with pytest.raises(TypeError, match="progress"):
        pendulum.run(progress=3)  # type: ignore[arg-type]


def test_ctrl_c_ends_a_run_and_keeps_what_was_computed() -> None:
    code = (
        "import bellcrank as bc, sys\n"
        "m = bc.loads(sys.stdin.read())\n"
        "print('go', flush=True)\n"
        "try:\n    m.run(until=1e6, sample=1e3)\n"
        "except KeyboardInterrupt as e:\n    print('stopped with', e.result.rows, e.result.summary.status)\n"
        "s = m.simulate()\n"
        "print('again', flush=True)\n"
        "try:\n    s.advance_to(1e6)\n"
        "except KeyboardInterrupt:\n    print('stopped', s.advance_to(s.time + 1) == s.time)\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True) as p:
        assert p.stdin and p.stdout
        p.stdin.write(PENDULUM)
        p.stdin.close()
        for line in ("go\n", "again\n"):
            assert p.stdout.readline() == line
            time.sleep(0.5)
            p.send_signal(signal.SIGINT)
            told = p.stdout.readline()
            assert told.startswith("stopped") and not told.endswith("False\n"), told
        assert p.wait() == 0


def test_a_run_that_cannot_vouch_for_its_result_warns(pendulum: bc.Model) -> None:
    with pytest.warns(bc.DoubtWarning, match="help:"):
        r = pendulum.run(until=50.0, method="rk4", step=0.1)
    assert r.doubts and r.doubts[0].message in r.summary.details["doubts"][0]["message"]
    assert not pendulum.run().doubts


def test_a_run_that_fails_keeps_its_results() -> None:
    m = bc.Model("m", plane=True)
    m.body("b", mass=1.0, inertia=1.0)
    m.force.force("push", body="b", force=["1/(0.5 - t)^2", 0])
    with pytest.raises(bc.SimulationError) as e:
        m.run(until=1.0)
    assert e.value.result is not None and 0.3 < e.value.result.time[-1] <= 0.5
    assert e.value.time == pytest.approx(0.5, abs=1e-3) and "help:" in str(e.value)
