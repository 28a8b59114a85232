"""Derivatives of outputs by parameters, and gradients of tuning and fitting from them."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import bellcrank as bc
import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def throw() -> bc.Model:
    """A ball thrown at an angle, without air."""
    m = bc.Model("throw", gravity=(0, 0, -9.81))
    angle = m.parameter("angle", 0.6)
    m.body("ball", mass=1.0, velocity=(10 * np.cos(angle), 0, 10 * np.sin(angle)))  # type: ignore[call-overload]
    return m


def test_derivatives_have_the_closed_form_both_ways() -> None:
    m, a = throw(), 0.6
    exact = [[-10 * math.sin(a)], [10 * math.cos(a)], [10 * math.sin(a) / 9.81 * 10 * math.cos(a)]]
    for mode in ("forward", "adjoint"):
        found = m.sensitivity(["ball.x", "ball.z", "ball.z.max"], ["angle"], until=1, mode=mode)
        assert found.mode == mode and found.jacobian.shape == (3, 1)
        assert np.allclose(found.jacobian, exact, rtol=1e-8)
        assert found["ball.x", "angle"] == found.jacobian[0, 0] and found.units[0] == "m"
        assert found.at[2] == pytest.approx(10 * math.sin(a) / 9.81)
    with pytest.raises(KeyError, match="was not asked for"):
        found["ball.y", "angle"]


def test_curves_over_time() -> None:
    found = bc.sensitivity(throw(), "ball.z", ["angle"], until=1, over_time=True, solve={"sample": 0.1})
    assert found.time is not None and found.curves is not None and found.derivatives is not None
    assert found.derivatives.shape == (11, 1, 1) and found.curves.shape == (11, 1)
    assert np.allclose(found.derivatives[:, 0, 0], 10 * math.cos(0.6) * found.time, atol=1e-9)


def test_many_parameters_go_back_and_other_values_are_set() -> None:
    m = bc.example("four-bar")
    names = ["a", "b", "start.A.rate"]
    few = m.sensitivity("P.x", names, until=0.5)
    assert few.mode == "forward"
    back = m.sensitivity("P.x", names, until=0.5, mode="adjoint")
    assert np.allclose(few.jacobian, back.jacobian, rtol=1e-7)
    longer = m.sensitivity("P.x", "a", until=0.5, set={"b": m.parameters["b"] * 1.01})
    assert longer["P.x", "a"] != few["P.x", "a"]


def test_bad_questions_are_refused() -> None:
    m = throw()
    with pytest.raises(bc.ModelError, match="no parameter `angel`"):
        m.sensitivity("ball.x", "angel", until=1)
    with pytest.raises(ValueError, match="unknown mode"):
        m.sensitivity("ball.x", "angle", until=1, mode="sideways")
    with pytest.raises(ValueError, match="`of` is empty"):
        m.sensitivity([], "angle")
    with pytest.raises(ValueError, match="curves over time"):
        m.sensitivity("ball.x", "angle", mode="adjoint", over_time=True)
    with pytest.raises(bc.SimulationError, match="dop853"):
        m.sensitivity("ball.x", "angle", until=1, mode="adjoint", solve={"method": "bdf"})


def miss(o: dict[str, float]) -> float:
    """How far from a place at which the ball is after 1 s with another angle."""
    return (o["ball.x"] - 6) ** 2 + (o["ball.z"] - (8 - 9.81 / 2)) ** 2


def test_a_gradient_takes_one_run_and_differences_remain_where_there_is_none() -> None:
    pytest.importorskip("scipy")
    asked: dict[str, Any] = {"until": 1, "starts": 1}
    bounds = {"angle": (0.05, 1.5)}
    exact = bc.minimize(throw(), miss, bounds, outputs=["ball.x", "ball.z"], **asked)
    assert exact.gradients == "exact" and not exact.reason
    assert exact.parameters["angle"] == pytest.approx(math.atan2(8, 6), abs=1e-5)
    # steps of a run have no derivative
    other = bc.minimize(throw(), miss, bounds, outputs=["ball.x", "ball.z", "run.steps"], **asked)
    assert other.gradients == "differences" and "run.steps" in other.reason
    assert other.parameters["angle"] == pytest.approx(exact.parameters["angle"], abs=1e-4)
    assert 2 * exact.runs < other.runs + 2, (exact.runs, other.runs)


@pytest.mark.parametrize(
    ("name", "most"),
    [("tune_suspension", 30), ("swing_test", 20), ("coupler_curve", 50), ("robot_inertias", 36)],
)
def test_examples_take_their_gradients_from_runs(name: str, most: int) -> None:
    pytest.importorskip("scipy")
    found = runpy.run_path(str(EXAMPLES / f"{name}.py"))["found"]
    assert found.gradients == "exact", found.reason
    assert found.runs <= most, found.runs
