"""Simulations that are stepped, saved and asked."""

from __future__ import annotations

import pickle
import time

import bellcrank as bc
import numpy as np
import pytest


def test_steps_are_those_of_a_run(pendulum: bc.Model) -> None:
    r, s = pendulum.run(), pendulum.simulate()
    steps = 0
    while (step := s.step()) is not None:
        assert step.start < step.end == s.time
        steps += 1
    assert steps == r.summary.steps and s.value("bob.x") == r["bob.x"][-1]
    assert s.advance_to(1.0) == s.until and s.step() is None


def test_a_controller_holds_an_arm(arm: bc.Model) -> None:
    s = arm.simulate(until=3.0)
    for k in range(1, 3001):
        angle, rate = s.value("pin.angle"), s.value("pin.rate")
        s.input["torque"] = 9.81 * np.cos(angle) - 40 * angle - 10 * rate
        s.advance_to(1e-3 * k)
    assert abs(s.value("pin.angle")) < 1e-3
    assert dict(s.input) == {"torque": s.input["torque"]} and len(s.input) == 1


def test_a_state_goes_back_to_the_bit(arm: bc.Model) -> None:
    s = arm.simulate(until=5.0)
    s.input["torque"] = 3.0
    s.advance_to(0.4)
    state = s.state
    stored = pickle.loads(pickle.dumps(state))
    first = [s.advance_to(t) and s.values("pin.angle", "pin.rate", "arm.x") for t in (0.5, 1.0, 1.7)]
    for other in (state, stored):
        s.state = other
        assert s.time == 0.4 == other.time
        assert [(s.advance_to(t) and s.values("pin.angle", "pin.rate", "arm.x")).tolist() for t in (0.5, 1.0, 1.7)] == [
            values.tolist() for values in first
        ]
    fresh = arm.simulate(until=5.0)
    fresh.state = stored
    assert fresh.input["torque"] == 3.0
    for t in (0.5, 1.0, 1.7):
        fresh.advance_to(t)
    assert fresh.values("pin.angle", "pin.rate", "arm.x").tolist() == first[-1].tolist()


def test_bad_states_are_refused(arm: bc.Model, pendulum: bc.Model) -> None:
    state = arm.simulate().state
    with pytest.raises(bc.SimulationError, match="another machine"):
        pendulum.simulate().state = state
    data = state.to_bytes()
    for bad in (b"", data[:-1], data[:20] + b"x" + data[21:], b"x" * 100):
        with pytest.raises(ValueError, match="the stored state"):
            bc.State(bad)
    with pytest.raises(ValueError, match="3 finite numbers"):
        state.replace(q=[1.0])
    with pytest.raises(ValueError, match="3 finite numbers"):
        state.replace(v=[1.0, 2.0, float("nan")])
    with pytest.raises(TypeError):
        arm.simulate().state = 3  # type: ignore[assignment]


def test_equations_at_a_state(arm: bc.Model) -> None:
    s = arm.simulate()
    s.input["torque"] = 2.0
    mass, jacobian = s.mass_matrix(), s.constraint_jacobian()
    a, reactions = s.accelerations(), s.reactions()
    assert mass.shape == (3, 3) and jacobian.shape == (2, 3)
    # M a + Gᵀλ = f, so M a − f = −Gᵀλ
    assert np.allclose(s.inverse_dynamics(a), -jacobian.T @ reactions, atol=1e-9)
    # about the pin: I φ̈ = torque − m g l/2 cos φ
    inertia, angle = 2.0 / 3, s.value("pin.angle")
    assert a[2] == pytest.approx((2.0 - 2.0 * 9.81 * 0.5 * np.cos(angle)) / inertia, rel=1e-9)
    mass[0, 0] = 7.0
    assert s.mass_matrix()[0, 0] == 2.0
    with pytest.raises(bc.SimulationError, match="3 coordinates"):
        s.inverse_dynamics(np.zeros(2))
    moved = s.state.replace(v=np.zeros(3))
    s.state = moved
    assert s.value("pin.rate") == 0.0


def test_names_are_suggested(arm: bc.Model) -> None:
    s = arm.simulate()
    with pytest.raises(bc.ChannelError, match=r"did you mean `pin\.angle`"):
        s.value("pin.angel")
    with pytest.raises(KeyError, match="did you mean `torque`"):
        s.input["torqe"] = 1.0
    with pytest.raises(ValueError, match="cannot be NaN"):
        s.input["torque"] = float("nan")
    with pytest.raises(TypeError, match="must be a number"):
        s.input["torque"] = "much"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="cannot advance"):
        s.advance_to(float("nan"))
    with pytest.raises(TypeError):
        del s.input["torque"]


def test_parameters_are_exchanged_in_a_run(pendulum: bc.Model) -> None:
    s = pendulum.simulate(until=2.0)
    s.advance_to(0.5)
    s.exchange(pendulum.replace({"body.bob.mass": 3.0}))
    s.advance_to(1.0)
    # the mass of a pendulum does not matter
    other = pendulum.simulate(until=2.0)
    other.advance_to(1.0)
    assert s.value("bob.x") == pytest.approx(other.value("bob.x"), abs=1e-5)
    with pytest.raises(bc.SimulationError, match="other bodies"):
        s.exchange(bc.example("four-bar"))


def test_events_happen_between_steps() -> None:
    s = bc.example("bouncing-ball").simulate()
    s.advance_to(1.0)
    assert s.events and s.events[0].time < 1.0


def test_a_step_costs_little_beyond_the_solver(arm: bc.Model) -> None:
    """Counts decide in tests; here a generous bound shows that nothing is copied or made anew in every step."""
    s = arm.simulate(until=1e9)
    n = 2000
    begin = time.perf_counter()
    for _ in range(n):
        s.value("pin.angle")
    seconds = (time.perf_counter() - begin) / n
    assert seconds < 1e-4
