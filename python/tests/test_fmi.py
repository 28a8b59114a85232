"""FMUs of Bellcrank in another tool: FMPy validates them, runs them, goes back with them.

A sample runs with the other tests; `BELLCRANK_FMI=all` runs ten examples and a thousand instances.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bellcrank as bc
import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave
from fmpy.validation import validate_fmu
from lxml import etree

ALL = os.environ.get("BELLCRANK_FMI") == "all"

# Examples in the plane, in space, with bodies that bend, events and controllers; how long they run, and how far the results
# of co-simulation and of CVODE may be from those of a run, relative to the size of a channel.
EXAMPLES = {
    "slider-crank": (1.0, 1e-8, 1e-6),
    "bouncing-ball": (1.0, 1e-8, 1e-6),
    "robot-arm": (1.0, 1e-6, 1e-5),
    "stick-slip": (2.0, 1e-9, 1e-6),
    "four-bar": (1.0, 1e-7, 3e-5),
    "suspension": (1.0, 2e-6, 5e-5),
    "gyroscope": (1.0, 1e-6, 1e-5),
    "flexible-crank": (0.1, 1e-6, 1e-6),
    "cart-pole": (1.0, 1e-9, 1e-6),
    "dzhanibekov": (1.0, 1e-8, 1e-5),
}
SAMPLE = list(EXAMPLES) if ALL else ["slider-crank", "bouncing-ball", "robot-arm"]

DRIVEN = """
[model]
plane = "xy"
gravity = [0, -9.81]
[parameter]
length = { value = 1.0, unit = "m", doc = "of the arm" }
half = "length / 2"
[input.torque]
start = 0.5
unit = "N m"
[body.arm]
mass = 2.0
inertia = 0.1
at = ["half", 0]
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0]
[force.motor]
type = "joint-actuator"
joint = "pin"
effort = "torque"
[force.kick]
type = "joint-actuator"
joint = "pin"
effort = "if(t < 0.5, 0, 3)"
[solve]
until = 2
rtol = 1e-9
"""


class Unpacked:
    """An FMU in a folder, and instances of it."""

    def __init__(self, path: Path) -> None:
        self.description = fmpy.read_model_description(str(path))
        self.three = self.description.fmiVersion.startswith("3")
        self.folder = fmpy.extract(str(path))
        self.reference = {v.name: v.valueReference for v in self.description.modelVariables}

    def make(self, kind: str = "CoSimulation", **options: Any) -> Instance:
        classes = {
            (True, True): FMU3Slave,
            (True, False): FMU3Model,
            (False, True): FMU2Slave,
            (False, False): FMU2Model,
        }
        steps = kind == "CoSimulation"
        part = self.description.coSimulation if steps else self.description.modelExchange
        token = self.description.instantiationToken if self.three else self.description.guid
        fmu = classes[self.three, steps](
            guid=token, unzipDirectory=self.folder, modelIdentifier=part.modelIdentifier, instanceName="one"
        )
        fmu.instantiate(**options)
        return Instance(self, fmu)


class Instance:
    """One instance under the same names in both versions."""

    def __init__(self, of: Unpacked, fmu: Any) -> None:
        self.of, self.fmu, self.three = of, fmu, of.three

    def start(self, time: float = 0.0, **values: float) -> Instance:
        if not self.three:
            self.fmu.setupExperiment(tolerance=1e-9, startTime=time)
        for name, value in values.items():
            self.set(name, value)
        if self.three:
            self.fmu.enterInitializationMode(tolerance=1e-9, startTime=time)
        else:
            self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        return self

    def get(self, *names: str) -> list[float]:
        get = self.fmu.getFloat64 if self.three else self.fmu.getReal
        return list(get([self.of.reference[name] for name in names]))

    def set(self, name: str, value: float) -> None:
        (self.fmu.setFloat64 if self.three else self.fmu.setReal)([self.of.reference[name]], [value])

    def step(self, t: float, h: float) -> Any:
        return self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=h)

    def steps(self, first: int, last: int, *names: str) -> list[list[float]]:
        found = []
        for k in range(first, last):
            self.step(k * 0.01, 0.01)
            found.append(self.get(*names))
        return found

    def __getattr__(self, name: str) -> Any:
        """States of the FMU, whose names differ by one letter."""
        names = {
            "save": ("getFMUState", "getFMUstate"),
            "restore": ("setFMUState", "setFMUstate"),
            "forget": ("freeFMUState", "freeFMUstate"),
            "serialize": ("serializeFMUState", "serializeFMUstate"),
            "deserialize": ("deserializeFMUState", "deSerializeFMUstate"),
        }
        return getattr(self.fmu, names[name][0 if self.three else 1])


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Unpacked]]:
    made: dict[tuple[str, int], Unpacked] = {}
    folder = tmp_path_factory.mktemp("fmus")

    def fmu(name: str, version: int) -> Unpacked:
        if (name, version) not in made:
            model = bc.loads(DRIVEN, "driven.toml") if name == "driven" else bc.example(name)
            path = folder / f"{name}{version}.fmu"
            model.to_fmu(path, fmi=version)
            assert not validate_fmu(str(path))
            made[name, version] = Unpacked(path)
        return made[name, version]

    yield fmu
    for one in made.values():
        shutil.rmtree(one.folder, ignore_errors=True)


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", SAMPLE)
def test_fmus_agree_with_runs(name: str, version: int, kind: str, fmus: Callable[..., Unpacked]) -> None:
    until, by_steps, by_rates = EXAMPLES[name]
    run = bc.example(name).run(until=until, rtol=1e-10)
    fmu = fmus(name, version)
    outputs = [v.name for v in fmu.description.modelVariables if v.causality == "output"]
    assert set(outputs) == set(bc.example(name).channels) - set(bc.example(name).inputs)
    found = fmpy.simulate_fmu(
        fmu.folder,
        stop_time=until,
        step_size=0.01,
        output_interval=0.01,
        fmi_type=kind,
        output=outputs,
        # the errors of every step of CVODE add up
        relative_tolerance=1e-9 if kind == "CoSimulation" else 1e-10,
    )
    errors = {n: abs(found[n][-1] - run[n][-1]) / max(1.0, float(np.max(np.abs(run[n])))) for n in outputs}
    worst = max(errors, key=lambda n: errors[n])
    assert errors[worst] < (by_steps if kind == "CoSimulation" else by_rates), (worst, errors[worst])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("name", "output"), [("bouncing-ball", "ball.y"), ("stick-slip", "slide.rate")])
def test_going_back_gives_the_same_bits(name: str, output: str, version: int, fmus: Callable[..., Unpacked]) -> None:
    fmu = fmus(name, version)
    one = fmu.make().start()
    one.steps(0, 40, output)
    saved = one.save()
    first = one.steps(40, 120, output)
    one.restore(saved)
    assert one.steps(40, 120, output) == first
    data = one.serialize(saved)
    other = fmu.make().start()
    other.restore(other.deserialize(data))
    assert other.steps(40, 120, output) == first
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    with pytest.raises(Exception, match="failed"):
        other.restore(other.deserialize(bytes(damaged)))
    one.forget(saved)


@pytest.mark.parametrize("version", [2, 3])
def test_parameters_inputs_and_what_is_refused(version: int, fmus: Callable[..., Unpacked]) -> None:
    fmu = fmus("driven", version)
    length = next(v for v in fmu.description.modelVariables if v.name == "length")
    assert (length.unit, length.description, length.start) == ("m", "of the arm", "1.0")
    one = fmu.make().start(length=1.4, torque=2.0)
    assert one.get("length", "half", "torque", "arm.x") == [1.4, 0.7, 2.0, 0.7]
    model = bc.loads(DRIVEN).replace(length=1.4)
    s = model.simulate(rtol=1e-9, until=5.0)
    s.input["torque"] = 2.0
    for k in range(100):
        one.step(0.01 * k, 0.01)
        s.advance_to(0.01 * (k + 1))
        if k == 50:
            one.set("torque", -1.0)
            s.input["torque"] = -1.0
    assert one.get("pin.angle") == pytest.approx([s.value("pin.angle")], rel=1e-7)
    for name in ("length", "half", "pin.angle"):
        with pytest.raises(Exception, match="failed"):
            one.set(name, 2.0)
    with pytest.raises(Exception, match="failed"):
        one.step(5.0, 0.01)
    with pytest.raises(Exception, match="failed"):
        one.set("torque", float("nan"))
    assert one.get("length", "torque") == [1.4, -1.0]
    one.fmu.reset()
    assert one.start().get("length", "torque", "pin.angle") == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("version", [2, 3])
def test_a_run_that_begins_later(version: int, fmus: Callable[..., Unpacked]) -> None:
    """The kick at 0.5 s is over before the run begins, in both kinds."""
    fmu = fmus("driven", version)
    ends = []
    for kind in ("CoSimulation", "ModelExchange"):
        found = fmpy.simulate_fmu(
            fmu.folder, start_time=0.4, stop_time=1.0, step_size=0.01, output_interval=0.01, fmi_type=kind,
            output=["pin.angle", "pin.rate"], relative_tolerance=1e-9,
        )  # fmt: skip
        ends.append([found["time"][0], *(found[n][-1] for n in ("pin.angle", "pin.rate"))])
    assert ends[0] == pytest.approx(ends[1], abs=1e-6) and ends[0][0] == 0.4
    s = bc.loads(DRIVEN.replace("t < 0.5", "t < 0.1")).simulate(rtol=1e-9)
    s.advance_to(0.6)
    assert ends[0][1] == pytest.approx(s.value("pin.angle"), abs=1e-7)


@pytest.mark.parametrize("version", [2, 3])
def test_directional_derivatives_are_those_of_the_equation(version: int, fmus: Callable[..., Unpacked]) -> None:
    """J φ̈ = M − m g l cos φ with J = 0.1 + m l², l = 0.5."""
    fmu = fmus("driven", version)
    one = fmu.make("ModelExchange").start()
    (one.fmu.updateDiscreteStates if version == 3 else one.fmu.newDiscreteStates)()
    one.fmu.enterContinuousTimeMode()
    one.set("state[1]", 0.7)
    inertia = 0.1 + 2.0 * 0.25
    unknowns = [fmu.reference[n] for n in ("der(state[1])", "der(state[2])", "pin.angle")]
    for known, expected in [
        ("state[1]", [0.0, 2 * 9.81 * 0.5 * np.sin(0.7) / inertia, 1.0]),
        ("state[2]", [1.0, 0.0, 0.0]),
        ("torque", [0.0, 1 / inertia, 0.0]),
    ]:
        found = one.fmu.getDirectionalDerivative(unknowns, [fmu.reference[known]], [2.0])
        assert np.asarray(found) / 2 == pytest.approx(np.asarray(expected), abs=1e-9)


def test_steps_of_fmi_3_return_at_impacts_and_on_request(fmus: Callable[..., Unpacked]) -> None:
    fmu = fmus("bouncing-ball", 3)
    one = fmu.make(eventModeUsed=True, earlyReturnAllowed=True).start()
    event, _, early, last = one.step(0.0, 5.0)
    assert event and early and 0 < last < 5
    assert one.get("time", "ball.vy")[0] == last and one.get("ball.vy")[0] > 0
    impact = next(e for e in bc.example("bouncing-ball").run().events if e.time > 0)
    assert last == pytest.approx(impact.time, abs=1e-6)
    one.fmu.enterEventMode()
    one.fmu.updateDiscreteStates()
    one.fmu.enterStepMode()
    times = []

    def stop(environment: Any, t: float, a: Any, b: Any, c: Any, d: Any, request: Any, at: Any) -> None:
        times.append((t, *two.get("time")))
        if 0.2 < t < 0.3 and times[0][0] < 0.2:
            request[0], at[0] = True, t
            times.insert(0, (1.0, 1.0))

    two = fmus("slider-crank", 3).make(earlyReturnAllowed=True, intermediateUpdate=stop).start()
    event, _, early, last = two.step(0.0, 0.4)
    assert early and not event and 0.2 < last < 0.4 and times and all(t == seen for t, seen in times)
    assert two.step(last, 0.4 - last)[3] == pytest.approx(0.4)


def test_twenty_instances_and_two_versions_in_one_process(fmus: Callable[..., Unpacked]) -> None:
    kinds = [fmus("robot-arm", 2), fmus("robot-arm", 3)]
    names = [v.name for v in kinds[0].description.modelVariables if v.causality == "output"][:5]
    alone = kinds[0].make().start().steps(0, 20, *names)
    many = [kinds[k % 2].make().start() for k in range(20)]
    for k in range(20):
        assert all(one.steps(k, k + 1, *names) == [alone[k]] for one in many)


@pytest.mark.parametrize("version", [2, 3])
def test_many_instances_do_not_grow(version: int, fmus: Callable[..., Unpacked]) -> None:
    def memory() -> float:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    fmu = fmus("slider-crank", version)
    one, before = fmu.make(), 0.0
    count = 1000 if ALL else 150
    for k in range(count):
        if k == count // 10:
            before = memory()
        one.start().step(0.0, 0.01)
        # FMPy's freeInstance also unloads the library
        (one.fmu.fmi3FreeInstance if version == 3 else one.fmu.fmi2FreeInstance)(one.fmu.component)
        one.fmu.instantiate()
    assert memory() - before < 2.0


PORTED = """
[model]
plane = "xy"
gravity = [0, -9.81]
[body.arm]
mass = 2.0
inertia = 0.1
at = [0.5, 0]
[joint.pin]
type = "revolute"
between = ["ground", "arm"]
at = [0, 0]
[probe.tip]
body = "arm"
at = [1, 0]
[solve]
until = 1
rtol = 1e-9
"""

PUSH = """
[force.push]
type = "force"
body = "arm"
at = [1, 0]
force = [3, 12]
[force.turn]
type = "torque"
body = "arm"
torque = -1.5
"""


@pytest.mark.parametrize("version", [2, 3])
def test_ports_are_terminals_whose_loads_act(version: int, tmp_path: Path) -> None:
    path = bc.loads(PORTED, "ported.toml").to_fmu(tmp_path / "ported.fmu", fmi=version, ports=["tip"])
    assert not validate_fmu(str(path))
    fmu = Unpacked(path)
    roles = {v.name: v.causality for v in fmu.description.modelVariables if v.name.startswith("tip")}
    loads, motions = ["fx", "fy", "mz"], ["x", "y", "angle", "vx", "vy", "wz", "ax", "ay", "alphaz"]
    variables = {m: f"tip_{m}" for m in loads} | {m: f"tip.{m}" for m in motions}
    assert roles == {variables[m]: "input" for m in loads} | {variables[m]: "output" for m in motions}
    file = Path(fmu.folder) / "terminalsAndIcons" / "terminalsAndIcons.xml"
    assert file.exists() == (version == 3)
    if version == 3:
        schema = Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3TerminalsAndIcons.xsd"
        tree = etree.parse(str(file))
        etree.XMLSchema(etree.parse(str(schema))).assertValid(tree)
        (terminal,) = tree.getroot().iter("Terminal")
        members = {m.get("memberName"): m.get("variableName") for m in terminal}
        assert terminal.get("name") == "tip" and members == variables
    one = fmu.make().start(tip_fx=3.0, tip_fy=12.0, tip_mz=-1.5)
    one.steps(0, 50)
    s = bc.loads(PORTED + PUSH).simulate(rtol=1e-9)
    s.advance_to(0.5)
    assert one.get("tip.x", "tip.vy") == pytest.approx([s.value("tip.x"), s.value("tip.vy")], abs=1e-6)
    shutil.rmtree(fmu.folder)


def test_what_cannot_become_an_fmu(tmp_path: Path) -> None:
    model = bc.loads(DRIVEN, "driven.toml")
    with pytest.raises(bc.ModelError, match=r"did you mean `pin\.angle`"):
        model.to_fmu(tmp_path / "a.fmu", outputs=["pin.angel"])
    with pytest.raises(bc.ModelError, match="no probe `tip`"):
        model.to_fmu(tmp_path / "a.fmu", ports=["tip"])
    with pytest.raises(ValueError, match="kind"):
        model.to_fmu(tmp_path / "a.fmu", kind="both")
    with pytest.raises(ValueError, match="2 or 3"):
        model.to_fmu(tmp_path / "a.fmu", fmi=1)
    law = bc.loads(DRIVEN, "driven.toml")
    law.force.law("magnet", body="arm", law=lambda t, frame: (0.0, 0.0))
    with pytest.raises(bc.ModelError, match="Python function"):
        law.to_fmu(tmp_path / "a.fmu")
    assert not list(tmp_path.iterdir())


def test_files_of_a_model_travel_with_it(tmp_path: Path) -> None:
    model = bc.load(Path(__file__).parents[2] / "examples" / "modal-strip.toml")
    path = model.to_fmu(tmp_path / "strip.fmu", fmi=3, outputs=["*.x"])
    assert not validate_fmu(str(path))
    one = Unpacked(path)
    assert one.make().start().steps(0, 2)
    shutil.rmtree(one.folder)
