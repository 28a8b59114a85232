"""Check, plan, statics, modes, linear models and inverse dynamics."""

from __future__ import annotations

from pathlib import Path

import bellcrank as bc
import numpy as np
import pytest


def test_check_and_plan_tell_what_the_command_line_tells(pendulum: bc.Model) -> None:
    found = pendulum.check()
    assert found.runs and found.degrees_of_freedom == 1 and found.redundant_equations == 0
    assert "degrees of freedom: 1" in str(found)
    assert all(finding.message for finding in found.findings)
    assert str(pendulum.plan(method="bdf", rtol=1e-4)) != str(pendulum.plan())
    assert pendulum.plan().details
    loop = bc.example("four-bar").check()
    assert loop.degrees_of_freedom == 1


def test_an_equilibrium_hangs_down() -> None:
    m = bc.Model("p", plane=True, gravity=(0, -9.81))
    m.body("b", rod=bc.rod((0, 0), (1, 0.1), mass=2.0))
    m.joint.revolute("pin", between=("ground", "b"), at=(0, 0))
    found = m.statics()
    assert found.stability == "stable" and found["b.y"] == pytest.approx(-np.hypot(1, 0.1) / 2)
    modes = m.modes("equilibrium")
    # a thin rod: ω² = 3 g / 2 l
    omega = np.sqrt(1.5 * 9.81 / np.hypot(1, 0.1))
    assert len(modes) == 1 and modes[0].frequency == pytest.approx(omega / (2 * np.pi))
    assert modes.stable and modes.about == "the equilibrium" and abs(modes[0].shape["b.x"]) > 0
    with pytest.raises(ValueError, match='use "equilibrium"'):
        m.modes("somewhere")
    assert m.modes(0.3).about == "t = 0.3 s"


def upright() -> bc.Model:
    """A rod that stands on a hinge, with a motor."""
    m = bc.Model("p", plane=True, gravity=(0, -9.81))
    torque = m.input("torque")
    m.body("b", rod=bc.rod((0, 0), (0, 1), mass=2.0))
    pin = m.joint.revolute("pin", between=("ground", "b"), at=(0, 0))
    m.force.joint_actuator("motor", joint=pin, effort=torque)
    return m


def test_outputs_of_a_model_are_linearized_with_their_filters(tmp_path: Path) -> None:
    path = tmp_path / "upright.toml"
    path.write_text("""
        model = { plane = "xy", gravity = [0, -9.81] }
        input.torque = {}
        body.b = { rod = { from = [0, 0], to = [0, 1], mass = 2 } }
        joint.pin = { type = "revolute", between = ["ground", "b"], at = [0, 0] }
        force.motor = { type = "joint-actuator", joint = "pin", effort = "torque" }
        output.tip = { value = "-cos(pin.angle)", unit = "m" }
        output.slow = { value = "pin.angle", lag = 0.2 }
    """)
    a, b, c, d = bc.load(path).linearize(outputs=["tip", "slow"], at="start")
    assert a.shape == (3, 3), "a lag is a state"
    s = 1 + 3j
    g = c @ np.linalg.solve(s * np.eye(3) - a, b) + d
    want = 1 / (2 / 3 * s**2 - 9.81)
    assert g[:, 0] == pytest.approx([want, want / (1 + 0.2 * s)])
    with pytest.raises(bc.ChannelError, match="did you mean `slow`"):
        bc.load(path).linearize(outputs=["slwo"], at="start")


def test_a_linear_model_is_that_of_the_pendulum() -> None:
    lin = upright().linearize(outputs=["pin.angle", "pin.rate", "b.x"], at="start")
    a, b, c, d = lin
    assert a.shape == (2, 2) and b.shape == (2, 1) and c.shape == (3, 2) and d.shape == (3, 1)
    inertia, moment = 2.0 / 3, 2.0 * 9.81 * 0.5
    # poles ±√(m g l/2 / I), and the transfer from torque to angle is 1/(I s² − m g l/2)
    assert np.sort(np.linalg.eigvals(a).real) == pytest.approx(np.sqrt(moment / inertia) * np.array([-1, 1]))
    for s in (2j, 1 + 3j):
        g = c @ np.linalg.solve(s * np.eye(2) - a, b) + d
        want = 1 / (inertia * s**2 - moment)
        assert g[0, 0] == pytest.approx(want) and g[1, 0] == pytest.approx(s * want)
        assert g[2, 0] == pytest.approx(-0.5 * want), "the centre of mass moves to −x"
    assert lin.output_values == pytest.approx([np.pi / 2, 0, 0]) and lin.inputs == ("torque",)


def test_a_linear_model_predicts_small_motions() -> None:
    """Two routes to one number: the linear model, and the difference of two runs."""
    m = bc.example("cart-pole") if "cart-pole" in bc.examples() else upright()
    if not m.inputs:
        m = upright()
    name = next(iter(m.inputs))
    outputs = [c for c in m.channels if c.endswith((".angle", ".position", ".x"))][:4]
    lin = m.linearize(inputs=[name], outputs=outputs, at="start")
    small, t = 1e-4, 0.05
    moved = []
    for sign in (1, -1):
        s = m.simulate(until=1.0, rtol=1e-11)
        s.input[name] = lin.input_values[0] + sign * small
        s.advance_to(t)
        moved.append(s.values(*outputs))
    seen = (moved[0] - moved[1]) / (2 * small)
    n = len(lin.A)
    # x(t) = ∫ exp(A τ) B dτ, by the exponential of [[A, B], [0, 0]]
    block = np.zeros((n + 1, n + 1))
    block[:n, :n], block[:n, n:] = lin.A * t, lin.B * t
    exponential, term = np.eye(n + 1), np.eye(n + 1)
    for k in range(1, 40):
        term = term @ block / k
        exponential = exponential + term
    predicted = lin.C @ exponential[:n, n] + lin.D[:, 0]
    assert seen == pytest.approx(predicted, abs=1e-6 + 1e-3 * abs(predicted).max())


def test_linear_models_fit_scipy() -> None:
    signal = pytest.importorskip("scipy.signal")
    model = signal.StateSpace(*upright().linearize(outputs=["pin.angle"], at="start"))
    assert model.A.shape == (2, 2)


def test_inputs_and_outputs_are_looked_up() -> None:
    with pytest.raises(bc.ChannelError, match="did you mean `torque`"):
        upright().linearize(inputs=["torqe"])
    with pytest.raises(bc.ChannelError, match=r"did you mean `pin\.angle`"):
        upright().linearize(outputs=["pin.angl"])
    m = upright()
    m.joint.drive("turn", joint="pin", rate="torque")
    with pytest.raises(bc.SimulationError, match="drives a rate"):
        m.linearize(at="start")


def test_inverse_dynamics_of_a_driven_rod() -> None:
    m = bc.Model("p", plane=True, gravity=(0, -9.81))
    m.body("b", rod=bc.rod((0, 0), (1, 0), mass=2.0))
    m.joint.revolute("pin", between=("ground", "b"), at=(0, 0))
    with pytest.raises(bc.ModelError, match="not fully prescribed"):
        m.inverse()
    m.joint.drive("motor", joint="pin", angle="0.3*sin(2*t)")
    found = m.inverse(until=1.0, sample=0.01)
    t, torque = found.results.time, found["motor.torque"]
    angle = 0.3 * np.sin(2 * t)
    assert np.allclose(torque, -4 * angle * 2 / 3 + 9.81 * np.cos(angle))
    assert found.demands[0].name == "motor.torque" and found.demands[0].unit == "N m"
    assert found.demands[0].peak == pytest.approx(torque[np.argmax(abs(torque))])
