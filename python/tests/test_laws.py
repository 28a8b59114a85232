"""Forces, drives and whole equations that are Python functions."""

from __future__ import annotations

import pickle
from typing import Any

import bellcrank as bc
import numpy as np
import pytest


def pull(t: float, x: Any, v: Any, R: Any, w: Any) -> tuple[float, float]:
    """Another gravity."""
    return (0.0, -9.81 * 1.5)


@pytest.mark.parametrize("method", ["dopri5", "bdf", "gen-alpha"])
def test_a_force_by_a_function_is_the_force(pendulum: bc.Model, method: Any) -> None:
    pulled = pendulum.copy()
    pulled.force.law("pull", pull, body="bob")
    twice = pendulum.replace({"model.gravity": [0, -19.62]})
    a, b = pulled.run(method=method, sample=0.005), twice.run(method=method, sample=0.005)
    assert abs(a["bob.x"] - b["bob.x"]).max() < 1e-6


def test_a_spring_with_and_without_its_derivative() -> None:
    def spring(t: float, x: Any, v: Any, R: Any, w: Any) -> Any:
        return -400 * np.array(x) - 2 * np.array(v)

    def derivative(t: float, x: Any, v: Any, R: Any, w: Any) -> Any:
        return -400 * np.eye(3), -2 * np.eye(3)

    found = []
    for given in (None, derivative):
        m = bc.Model("m")
        m.body("b", mass=1.0, at=(0.1, 0, 0))
        m.force.law("spring", spring, body="b", derivative=given)
        found.append(m.run(until=1.0, method="bdf", rtol=1e-9, sample=0.005)["b.x"])
    t = np.linspace(0, 1, len(found[0]))
    omega = np.sqrt(400 - 1)
    exact = 0.1 * np.exp(-t) * (np.cos(omega * t) + np.sin(omega * t) / omega)
    assert all(abs(x - exact).max() < 1e-6 for x in found)


def test_a_torque_on_a_point_off_the_centre() -> None:
    m = bc.Model("m")
    m.body("b", mass=2.0, inertia=(1.0, 1.0, 1.0))
    m.force.law("push", lambda t, x, v, R, w: ((0, 0, 1.0), (0, 0, 3.0)), body="b", on=(0.5, 0, 0))
    s = m.simulate()
    assert np.allclose(s.accelerations(), [0, 0, 0.5, 0, -0.5, 3.0])


@pytest.mark.parametrize("key, course", [("angle", np.sin), ("rate", np.cos)])
def test_a_drive_by_a_function(key: str, course: Any) -> None:
    m = bc.Model("m", plane=True)
    arm = m.body("arm", rod=bc.rod((0, 0), (1, 0), mass=1.0))
    pin = m.joint.revolute("pin", between=("ground", arm), at=(0, 0))
    by_text = m.copy()
    m.joint.drive_by("motor", course, joint=pin, coordinate=key)
    by_text.joint.drive("motor", joint=pin, **{key: "sin(t)" if key == "angle" else "cos(t)"})
    a, b = m.run(until=2.0), by_text.run(until=2.0)
    assert abs(a["pin.angle"] - b["pin.angle"]).max() < 1e-6
    assert abs(a["pin.angle"] - np.sin(a.time)).max() < 1e-5
    if key == "angle":
        exact = m.copy().replace()
        exact = by_text.replace()
        torque = m.inverse(until=2.0)["motor.torque"]
        assert abs(torque - exact.inverse(until=2.0)["motor.torque"]).max() < 1e-6


def test_a_drive_with_its_derivatives_is_exact() -> None:
    found = []
    for derivative in (None, lambda t: (np.cos(t), -np.sin(t))):
        m = bc.Model("m", plane=True)
        m.body("arm", rod=bc.rod((0, 0), (1, 0), mass=3.0))
        m.joint.revolute("pin", between=("ground", "arm"), at=(0, 0))
        m.joint.drive_by("motor", np.sin, joint="pin", derivative=derivative)
        found.append(m.inverse(until=1.0)["motor.torque"])
    t = np.linspace(0, 1, len(found[1]))
    assert abs(found[1] + np.sin(t)).max() < 1e-12 and abs(found[0] + np.sin(t)).max() < 1e-8


def test_exceptions_arrive_as_they_are(pendulum: bc.Model) -> None:
    class Mine(Exception):
        result: bc.Results

    def late(t: float, *rest: Any) -> Any:
        if t > 1.0:
            raise Mine("too late")
        return (0, 0)

    m = pendulum.copy()
    m.force.law("late", late, body="bob")
    for method in ("dopri5", "bdf", "gen-alpha"):
        with pytest.raises(Mine, match="too late") as e:
            m.run(method=method)  # type: ignore[arg-type]
        assert 0.5 < e.value.result.time[-1] <= 1.01
    s = m.simulate()
    with pytest.raises(Mine):
        s.advance_to(2.0)
    assert 0.5 < s.time <= 1.01
    m = pendulum.copy()
    m.force.law("wrong", lambda *a: 1 / 0, body="bob")
    for work in (m.run, m.simulate, m.statics, m.modes):
        with pytest.raises(ZeroDivisionError):
            work()


def test_bad_values_name_the_law_and_the_time(pendulum: bc.Model) -> None:
    m = pendulum.copy()
    m.force.law("hole", lambda t, *rest: (0, float("nan") if t > 1 else 0.0), body="bob")
    with pytest.raises(ValueError, match=r"the law of `hole` returned NaN at t = 1"):
        m.run()
    for wrong in ("text", (1.0,), (1, 2, 3, 4), None, ((1, 2), "x"), object()):
        m = pendulum.copy()
        m.force.law("f", lambda *a, wrong=wrong: wrong, body="bob")
        with pytest.raises(TypeError, match="what the law of `f` returns must be"):
            m.run()
    with pytest.raises(TypeError, match="must be a function"):
        m.force.law("g", 3, body="bob")  # type: ignore[arg-type]
    m = pendulum.copy()
    m.force.law("f", pull, body="bop")
    with pytest.raises(bc.ModelError, match="did you mean `bob`"):
        m.run()
    m = pendulum.copy()
    m.joint.drive_by("motor", np.sin, joint="rod")
    with pytest.raises(bc.ModelError, match="motor"):
        m.run()
    with pytest.raises(bc.ModelError, match="no file can hold it"):
        m.save("x.toml")


def test_models_with_functions_are_pickled(pendulum: bc.Model) -> None:
    m = pendulum.copy()
    m.force.law("pull", pull, body="bob")
    again = pickle.loads(pickle.dumps(m))
    assert np.array_equal(again.run()["bob.x"], m.run()["bob.x"])


def slider() -> bc.Equations:
    """A pendulum in x and y, with nothing but M, f and g."""
    return bc.Equations(
        mass=lambda q: np.eye(2),
        force=lambda t, q, v: [0.0, -9.81],
        constraint=lambda t, q: q @ q - 1.0,
        q=[1.0, 0.0],
        names=["x", "y"],
    )


@pytest.mark.parametrize("formulation", ["index3", "ggl", "si2", "index1"])
def test_own_equations_run_in_every_formulation(formulation: Any) -> None:
    reference = bc.Model("p", plane=True, gravity=(0, -9.81))
    reference.body("b", mass=1.0, at=(1, 0))
    reference.joint.distance("rod", between=("ground", "b"), at=[(0, 0), (1, 0)])
    want = reference.run(until=1.0, rtol=1e-10)["b.y"][-1]
    method = "dopri5" if formulation == "index1" else "bdf"
    r = slider().run(until=1.0, method=method, formulation=formulation, rtol=1e-7)
    assert r["y"][-1] == pytest.approx(want, abs=1e-4)
    assert abs(r["x"] ** 2 + r["y"] ** 2 - 1).max() < 1e-6


def test_own_equations_are_stepped_and_refused() -> None:
    s = slider().simulate(until=1.0)
    assert s.advance_to(0.5) == 0.5 and s.value("y") < 0
    assert "step" in str(slider().plan()).lower() or str(slider().plan())
    with pytest.raises(ValueError, match="`force` returned 1 numbers at t = 0 s, expected 2"):
        bc.Equations(mass=lambda q: np.eye(2), force=lambda t, q, v: [0.0], q=[0.0, 0.0]).run()
    with pytest.raises(ValueError, match="`force` returned NaN"):
        bc.Equations(mass=lambda q: [1.0], force=lambda t, q, v: [float("nan")], q=[0.0]).run()
    with pytest.raises(ZeroDivisionError):
        bc.Equations(mass=lambda q: [1.0], force=lambda t, q, v: [1 / 0], q=[0.0]).run()
    with pytest.raises(TypeError, match="`mass` must be a function"):
        bc.Equations(mass=1.0, force=lambda t, q, v: [0.0], q=[0.0])  # type: ignore[arg-type]
    with pytest.raises(bc.OptionError, match="did you mean `rtol`"):
        slider().run(rtoll=1.0)  # type: ignore[arg-type]
