"""FMUs inside models: Python names its own interpreter as the program that they run in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bellcrank as bc
import numpy as np
import pytest

SPRING = 20.0


def pendulum(name: str, effort: str, *inputs: str) -> bc.Model:
    m = bc.Model(name, plane=True, gravity=(0, -9.81))
    for key in inputs:
        m.input(key)
    body = m.body(name, mass=1, inertia=0.1, at=(0.5, 0))
    pin = m.joint.revolute(f"{name}_pin", between=(bc.GROUND, body), at=(0, 0))
    m.force.joint_actuator("push", joint=pin, effort=effort)
    m.solve(until=0.5, rtol=1e-8, sample=0.05)
    return m


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A pendulum in a file, with another one beside it as an FMU, coupled by a spring."""
    pendulum("b", "torque", "torque").to_fmu(str(tmp_path / "b.fmu"), kind="cs", outputs=["b_pin.*"])
    m = pendulum("a", f"-{SPRING}*(a_pin.angle - b.b_pin.angle)")
    given = {"torque": f"{SPRING}*(a_pin.angle - b.b_pin.angle)"}
    assert m.fmu("b", file="b.fmu", step=1e-3, inputs=given) == "b"
    path = tmp_path / "both.toml"
    path.write_text(m.to_toml())
    return path


def test_an_fmu_runs_beside_a_model(both: Path) -> None:
    m = bc.load(str(both))
    assert m.inputs == {}, "what an FMU gives is no input"
    r = m.run()
    assert r["a_pin.angle"].min() < -0.9

    # equal pendulums with equal starts would never strain the spring: what is left is of the first order of the exchange
    def strain(r: bc.Results) -> float:
        return float(np.abs(r["a_pin.angle"] - r["b.b_pin.angle"]).max())

    finer = m.replace({"fmu.b.step": 5e-4}).run()
    assert strain(r) < 6e-3
    assert 1.8 < strain(r) / strain(finer) < 2.2


def test_runs_with_fmus_go_back_and_go_on_in_threads(both: Path) -> None:
    m = bc.load(str(both))
    s = m.simulate()
    s.advance_to(0.2)
    saved = s.state
    s.advance_to(0.4)
    there = s.value("a_pin.angle")
    s.state = saved
    s.advance_to(0.4)
    assert s.value("a_pin.angle") == there
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda _: m.run()["a_pin.angle"][-1], range(4)))
    assert len(set(ends)) == 1


def test_an_fmu_that_is_none_is_named(both: Path) -> None:
    (both.parent / "b.fmu").write_bytes(b"nothing")
    with pytest.raises(bc.ModelError, match=r"FMU `b`: `b\.fmu` is no archive"):
        bc.load(str(both)).run()
