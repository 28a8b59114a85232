"""Models that the tests share."""

from __future__ import annotations

import bellcrank as bc
import pytest

PENDULUM = """
[model]
plane = "xy"
gravity = [0, -9.81]
[parameter]
length = 0.8
[body.bob]
mass = 1.5
at = ["length", 0]
[joint.rod]
type = "distance"
between = ["ground", "bob"]
at = [[0, 0], ["length", 0]]
[solve]
until = 2
rtol = 1e-8
"""


@pytest.fixture
def pendulum() -> bc.Model:
    """A point mass on a rod, from a text."""
    return bc.loads(PENDULUM, "pendulum.toml")


@pytest.fixture
def arm() -> bc.Model:
    """A rod on a motor, built in code."""
    m = bc.Model("arm", plane=True, gravity=(0, -9.81))
    torque = m.input("torque", start=0.0, unit="N m")
    body = m.body("arm", rod=bc.rod((0, 0), (1, 0), mass=2.0))
    pin = m.joint.revolute("pin", between=(bc.GROUND, body), at=(0, 0))
    m.force.joint_actuator("motor", joint=pin, effort=torque)
    m.start(pin, angle=-0.5)
    return m
