"""Models from files, texts and code."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from pathlib import Path

import bellcrank as bc
import numpy as np
import pytest
from bellcrank import _catalog
from conftest import PENDULUM


def test_a_model_in_code_is_the_one_of_its_text(pendulum: bc.Model) -> None:
    m = bc.Model("pendulum", plane=True, gravity=(0, -9.81))
    length = m.parameter("length", 0.8)
    bob = m.body("bob", mass=1.5, at=(length, 0))
    m.joint.distance("rod", between=(bc.GROUND, bob), at=[(0, 0), (length, 0)])
    m.solve(until=2, rtol=1e-8)
    a, b = m.run(), pendulum.run()
    assert list(a) == list(b)
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_a_saved_model_reads_back_the_same(tmp_path: Path, arm: bc.Model) -> None:
    arm.save(tmp_path / "arm.toml")
    again = bc.load(tmp_path / "arm.toml")
    assert again.to_toml() == arm.to_toml() and again.name == "arm"
    assert np.array_equal(again.run(until=0.3)["pin.angle"], arm.run(until=0.3)["pin.angle"])


def test_examples_are_written_and_read_back() -> None:
    for name in bc.examples():
        try:
            m = bc.example(name)
        except bc.ModelError as e:  # a file beside it is missing
            assert any(
                file in str(e) for file in ("strip.modal", "arm-trajectory.csv", "corner-road.csv", "car-corner.toml")
            ), e
            continue
        assert bc.loads(m.to_toml(), f"{name}.toml").channels == m.channels
        # sections of a file that was changed are written anew
        m.probe("added-by-the-test", body=m.bodies[0])
        again = bc.loads(m.to_toml(), f"{name}.toml")
        assert again.channels == m.channels


def test_json_is_read_and_saved_as_toml(pendulum: bc.Model) -> None:
    text = {"model": {"plane": "xy"}, "body": {"b": {"mass": 1, "velocity": [1, 0]}}}
    m = bc.loads(json.dumps(text), "b.json")
    assert bc.loads(m.to_toml()).run()["b.x"][-1] == pytest.approx(1.0, abs=1e-9)


def test_values_are_replaced_in_a_copy(pendulum: bc.Model) -> None:
    long = pendulum.replace({"solve.until": 0.5}, length=1.2)
    assert long.parameters == {"length": 1.2} and pendulum.parameters == {"length": 0.8}
    assert long.run()["bob.x"][0] == 1.2 and long.run().time[-1] == 0.5
    assert "length = 1.2" in long.to_toml()
    with pytest.raises(bc.ModelError, match="length"):
        pendulum.replace(lenght=1.0)
    with pytest.raises(bc.ModelError):
        pendulum.replace({"body.bob.mass": -1.0})


def test_numpy_and_symbols_are_values() -> None:
    m = bc.Model("ball", gravity=np.array([0.0, 0.0, -9.81]))
    k = m.parameter("k", 2.0)
    m.body("ball", mass=np.float64(3), inertia=np.eye(3), velocity=np.array([1, 0, 0]), at=(np.sin(k), 2 * k - 1, 0))
    s = m.simulate()
    assert s.values("ball.x", "ball.y", "ball.vx").tolist() == pytest.approx([np.sin(2.0), 3.0, 1.0])
    assert np.allclose(s.mass_matrix(), 3 * np.eye(6) - np.diag([0, 0, 0, 2, 2, 2]))


def test_models_are_copied_and_pickled(pendulum: bc.Model, arm: bc.Model) -> None:
    for m in (pendulum.replace(length=2), arm, arm.replace({"body.arm.rod.mass": 1.0})):
        for other in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m), m.copy()):
            assert np.array_equal(other.run(until=0.2)["time"], m.run(until=0.2)["time"])
            assert other.to_toml() == m.to_toml()
    other = arm.copy()
    other.body("more", mass=1.0)
    assert "more" in other.bodies and "more" not in arm.bodies


def test_errors_have_the_words_of_the_command_line(tmp_path: Path, pendulum: bc.Model) -> None:
    with pytest.raises(bc.ModelError) as e:
        bc.loads(PENDULUM.replace("mass", "mas"), "pendulum.toml")
    assert "did you mean `mass`" in str(e.value) and "pendulum.toml:8" in str(e.value)
    assert e.value.diagnostics[0]["line"] == 8
    with pytest.raises(bc.ModelError, match="no such file"):
        bc.load(tmp_path / "nowhere.toml")
    with pytest.raises(bc.OptionError, match="did you mean `method`"):
        pendulum.run(methode="bdf")  # type: ignore[arg-type]
    with pytest.raises(bc.OptionError, match=r"use `max_order=5`"):
        pendulum.run(max_order=9)
    with pytest.raises(bc.OptionError, match="dopri5"):
        pendulum.run(method="dopri")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="found object"):
        pendulum.run(rtol=object())  # type: ignore[arg-type]
    for bad in (float("nan"), -1.0, 0.0, float("inf")):
        with pytest.raises(bc.OptionError):
            pendulum.run(rtol=bad)
    with pytest.raises(ValueError, match="did you mean `pendulum`"):
        bc.example("pendulm")


def test_mistakes_in_code_name_element_and_key() -> None:
    m = bc.Model("m", plane=True)
    m.body("bob", mass=1.0)
    m.joint.revolute("pin", between=("ground", "bop"), at=(0, 0))
    with pytest.raises(bc.ModelError, match="did you mean `bob`"):
        m.run()
    m = bc.Model("m", plane=True)
    m.body("bob", mass=float("nan"))
    with pytest.raises(bc.ModelError, match="`mass` of body `bob`"):
        m.check()
    with pytest.raises(TypeError, match="`mass` must be"):
        m.body("other", mass={1, 2})  # type: ignore[arg-type]
    assert "cannot be read yet" in repr(m)


def test_every_kind_has_a_signature_and_a_docstring() -> None:
    for kinds in (_catalog.Joints, _catalog.Forces):
        methods = [f for name, f in inspect.getmembers(kinds, inspect.isfunction) if not name.startswith("_")]
        assert len(methods) >= 12
        for method in methods:
            assert method.__doc__ and "name" in inspect.signature(method).parameters
    assert "between" in inspect.signature(bc.Model("m").joint.revolute).parameters
    assert "rtol" in inspect.signature(bc.Model.run).parameters


def test_states_tables_and_units_can_be_written() -> None:
    m = bc.Model("motor", plane=True)
    rotor = m.body("rotor", mass="1 kg", inertia="20 kg cm^2")
    m.joint.revolute("pin", between=(bc.GROUND, rotor), at=(0, 0))
    m.table("drop", x=[0, 50, 100], y=[0, 1], values=[[0, 1, 2], [0, 2, 4]])
    current = m.state("current", rate="(24 - 3*current - 0.5*pin.rate - drop(pin.rate, 1))/0.01", unit="A")
    m.state("smooth", input="pin.rate", numerator=[1], denominator=[0.001, 0.05, 1])
    m.force.joint_actuator("drive", joint="pin", effort=0.5 * current)
    run = m.run(until=0.3, rtol=1e-8)
    # 24 V = 3 i + 0.5 w + 0.04 w, and at last there is no torque
    assert abs(run["pin.rate"][-1] - 24 / 0.54) < 0.1
    assert abs(run["smooth"][-1] - run["pin.rate"][-1]) < 1
    m.body("heavy", mass="5 kN")
    with pytest.raises(bc.ModelError, match="is in kg, found a number in kN"):
        m.check()
