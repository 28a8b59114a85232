"""Models: from a file, from a text, or built in code."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _bellcrank, _progress, _sensitivity
from ._catalog import Elements, Forces, Joints, Runs
from ._errors import DoubtWarning
from ._names import Force, Joint, Symbol
from ._reports import Check, Demand, Equilibrium, Inverse, LinearModel, Modes, Plan
from ._results import Results, _wrapped
from ._simulation import Simulation

if TYPE_CHECKING:
    from ._sensitivity import Sensitivity
    from ._types import Progress, Scalar, Table, Vector

    #: A law f(t, x, v, R, w) of a load: the time, place, velocity, rotation and angular velocity of the point, in the world.
    ForceLaw = Callable[[float, Any, Any, Any, Any], Any]


class JointKinds(Joints):
    """Every kind of joint, as `model.joint.revolute("pin", ...)`."""

    _model: Model

    def drive_by(
        self,
        name: str,
        law: Callable[[float], float],
        *,
        joint: str,
        coordinate: str = "angle",
        derivative: Callable[[float], tuple[float, float]] | None = None,
    ) -> Joint:
        """Holds a coordinate of a joint, or its rate, to a Python function of time.

        law: f(t)
        joint: the joint that is driven
        coordinate: `angle`, `position`, `rate`, ... as in the results
        derivative: gives f′ and f″ at t; default: by differences
        """
        self._model._core.add_drive(name, str(joint), coordinate, law, derivative)
        return Joint(name)


class ForceKinds(Forces):
    """Every kind of force, as `model.force.spring_damper("spring", ...)`."""

    _model: Model

    def law(
        self,
        name: str,
        law: ForceLaw,
        *,
        body: str,
        on: Vector | None = None,
        derivative: ForceLaw | None = None,
    ) -> Force:
        """A force by a Python function of the motion of a point of a body.

        law: f(t, x, v, R, w) with the place, velocity, rotation and angular velocity of the point, in the world; gives the
            force there, or the force and a torque
        body: the body it acts on
        on: the point, in the body's frame [m]; default: the centre of mass
        derivative: gives two matrices, 3×3 or 6×6: the derivatives of the load by displacement and by velocity (translation
            first, then rotation); default: by differences, which take 24 calls of `law` where a method needs them
        """
        self._model._core.add_law(name, str(body), law, on, derivative)
        return Force(name)


class Model(Elements, Runs):
    """A machine: bodies, joints, forces, parameters, inputs.

    >>> m = Model("pendulum", plane=True, gravity=(0, -9.81))
    >>> length = m.parameter("length", 0.8)
    >>> bob = m.body("bob", mass=1.5, at=(length, 0))
    >>> rod = m.joint.distance("rod", between=("ground", bob), at=[(0, 0), (length, 0)])
    >>> r = m.run(until=1, rtol=1e-9)
    >>> print(f"{r['bob.y'][-1]:.6f}")
    -0.017033
    """

    def __init__(
        self,
        name: str = "model",
        *,
        plane: bool | str = False,
        gravity: Vector | None = None,
        folder: str | os.PathLike[str] = "",
    ) -> None:
        """A model without bodies.

        name: for messages and results
        plane: True for a planar model, with three coordinates per body
        gravity: the acceleration of gravity [m/s²]; default: none
        folder: where tables, meshes and modal files lie; default: the working directory
        """
        header: dict[str, object] = {}
        if plane:
            header["plane"] = "xy" if plane is True else plane
        if gravity is not None:
            header["gravity"] = gravity
        self._take(_bellcrank.Description(name, header, os.fspath(folder)))

    def _take(self, core: _bellcrank.Description) -> None:
        self._core = core
        #: Adds joints: `m.joint.revolute("pin", between=("ground", arm), at=(0, 0))`.
        self.joint = JointKinds(self)
        #: Adds forces: `m.force.spring_damper("spring", between=("ground", arm), stiffness=200.0)`.
        self.force = ForceKinds(self)

    @classmethod
    def _of(cls, core: _bellcrank.Description) -> Model:
        model = cls.__new__(cls)
        model._take(core)
        return model

    def __repr__(self) -> str:
        try:
            return f"<Model {self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints>"
        except Exception:
            return "<Model that cannot be read yet>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, self._core.parts()

    def __copy__(self) -> Model:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Model:
        return self.copy()

    # building

    def _element(self, section: str, name: str, kind: str | None, values: dict[str, Any]) -> str:
        given = {key: value for key, value in values.items() if value is not None}
        if section == "start":
            self._core.add("start", "", {name: given})
            return name
        if kind == "drive" and (laws := [key for key, value in given.items() if callable(value)]):
            self._core.add_drive(name, str(given["joint"]), laws[0], given[laws[0]])
            return name
        if kind is not None:
            given = {"type": kind, **given}
        self._core.add(section, name, given)
        return name

    def parameter(self, name: str, value: Scalar | Table) -> Symbol:
        """A number, or an expression of other parameters; what comes back stands for it in expressions."""
        self._core.add("parameter", "", {name: value})
        return Symbol(name)

    def solve(self, **options: Scalar) -> None:
        """Options of runs of this model, unless a run says otherwise: `[solve]` of its file."""
        self._core.add("solve", "", options)

    def replace(self, values: Mapping[str, Any] | None = None, /, **parameters: Scalar) -> Model:
        """A copy with other values: of parameters as keywords, or of anything by its path.

        >>> m = Model("ball", gravity=(0, 0, -9.81))
        >>> m.parameter("m", 1.0)
        Symbol('m')
        >>> m.body("ball", mass="m", velocity=(1, 0, 0))
        'ball'
        >>> n = m.replace({"body.ball.velocity": [2, 0, 0]}, m=3)
        >>> float(n.run()["energy.kinetic"][0])
        6.0
        """
        pairs = [(str(path), value) for path, value in (values or {}).items()]
        pairs += [(f"parameter.{name}", value) for name, value in parameters.items()]
        return Model._of(self._core.replaced(pairs))

    def copy(self) -> Model:
        """A copy that can be changed without this one."""
        return Model._of(self._core.copy())

    def to_toml(self) -> str:
        """The model as the text of a file."""
        return self._core.to_toml()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as a file that reads back the same."""
        text = self.to_toml()
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def to_fmu(
        self,
        path: str | os.PathLike[str],
        *,
        fmi: int = 3,
        kind: str = "cs,me",
        outputs: Sequence[str] = (),
        ports: Sequence[str] = (),
    ) -> Path:
        """Writes the model as an FMU, for other simulation tools.

        `fmi` is the version of the standard, 2 or 3; `kind` is `"cs"` (co-simulation, with the solver inside), `"me"` (model
        exchange) or both; `outputs` are channels, with `*` for any letters: without them, every channel is one. `ports` are probes
        at which other machines are joined: their loads are inputs, their motions outputs.
        """
        if fmi not in (2, 3):
            raise ValueError(f"the version of FMI is 2 or 3, found {fmi!r}")
        self._core.to_fmu(Path(path), fmi, kind, list(outputs), list(ports))
        return Path(path)

    # looking

    @property
    def left_out(self) -> list[tuple[str, str, list[str]]]:
        """What a robot file says and the model does not: what, why, and the names concerned."""
        return self._core.left_out()[0]

    @property
    def notes(self) -> list[str]:
        """What else there is to tell about a robot file: decisions and repairs."""
        return self._core.left_out()[1]

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name()

    @property
    def bodies(self) -> list[str]:
        """The names of its bodies."""
        return self._core.names("body")

    @property
    def joints(self) -> list[str]:
        """The names of its joints."""
        return self._core.names("joint")

    @property
    def forces(self) -> list[str]:
        """The names of its forces."""
        return self._core.names("force")

    @property
    def parameters(self) -> dict[str, float]:
        """Its parameters with their values."""
        return dict(self._core.parameters())

    @property
    def inputs(self) -> dict[str, float]:
        """Its inputs with their values at the start."""
        return dict(self._core.inputs())

    @property
    def channels(self) -> dict[str, str]:
        """What its runs record, with units."""
        return dict(self._core.channels())

    def check(self) -> Check:
        """Looks at the model without running it: freedom, redundant and contradicting equations, masses, units."""
        return Check(*_bellcrank.check_model(self._core))

    def statics(self, *, time: float = 0.0) -> Equilibrium:
        """The pose in which all forces balance; loads and drives are taken at the time."""
        return Equilibrium(**_bellcrank.statics(self._core, time))

    def modes(self, at: str | float | None = None) -> Modes:
        """Frequencies, damping and shapes of small motions.

        at: "equilibrium", "start", or a time of the run [s]; default: the start if it moves, else the equilibrium
        """
        return Modes._of(_bellcrank.modes_of(self._core, None if at is None else str(at)))

    def linearize(
        self,
        *,
        inputs: Sequence[str | Symbol] | None = None,
        outputs: Sequence[str] | None = None,
        at: str | float | None = None,
    ) -> LinearModel:
        """A linear model from inputs to channels and outputs about a state, for the design of controllers.

        inputs: names of inputs; default: all
        outputs: names of channels and of outputs of the model; default: the channels that runs record
        at: as for `modes`
        """
        given = [str(name) for name in (self.inputs if inputs is None else inputs)]
        shown = [str(name) for name in (self.channels if outputs is None else outputs)]
        found = _bellcrank.linearize(self._core, given, shown, None if at is None else str(at))
        found.pop("freedoms")
        return LinearModel(inputs=tuple(given), outputs=tuple(shown), **found)

    def sensitivity(
        self,
        of: str | Sequence[str],
        to: str | Symbol | Sequence[str | Symbol],
        *,
        until: float | None = None,
        solve: Mapping[str, Any] | None = None,
        set: Mapping[str, Any] | None = None,
        mode: str = "auto",
        over_time: bool = False,
    ) -> Sensitivity:
        """How outputs of a run change with parameters: `bellcrank.sensitivity`, which tells the arguments."""
        return _sensitivity.sensitivity(self, of, to, until=until, solve=solve, set=set, mode=mode, over_time=over_time)

    def inverse(self, *, until: float | None = None, sample: float | None = None) -> Inverse:
        """The forces and torques that the drives of the model take.

        until: end of the motion [s]
        sample: distance of samples [s]
        """
        told, core = _bellcrank.inverse_of(self._core, {"until": until, "sample": sample})
        demands = tuple(
            Demand(item["effort"], item["unit"], item, item["peak"], item["rms"], item["work"])
            for item in told["drives"]
        )
        return Inverse(demands, Results(core), told)

    # running

    def _run(self, solve: Mapping[str, object], progress: Progress) -> Results:
        return _ran(self._core, solve, progress)

    def _simulate(self, solve: Mapping[str, object]) -> Simulation:
        return Simulation(self._core.simulate(dict(solve)))

    def _plan(self, solve: Mapping[str, object]) -> Plan:
        return Plan(*_bellcrank.plan(self._core, dict(solve)))


def _ran(core: _bellcrank.Description | _bellcrank.Machine, solve: Mapping[str, object], progress: Progress) -> Results:
    """Runs, with a bar if anybody sees it."""
    if progress is None:
        progress = _progress.shown()
    if not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"`progress` must be True, False or a function, found {type(progress).__name__}")
    bar: _progress.Bar | None = None
    if progress is True:
        until = solve.get("until")
        bar = _progress.Bar(float(until) if isinstance(until, (int, float)) else None)
    tell = bar or (progress if callable(progress) else None)
    try:
        results = Results(core.run(dict(solve), tell))
    except BaseException as error:
        _wrapped(error)
        raise
    finally:
        if bar is not None:
            bar.close()
    for doubt in results.doubts:
        warnings.warn(f"{doubt.message}\nhelp: {doubt.help}", DoubtWarning, stacklevel=4)
    return results


def _unpickled(*parts: Any) -> Model:
    return Model._of(_bellcrank.Description.of_parts(*parts))


def load(path: str | os.PathLike[str]) -> Model:
    """Reads a model file: TOML, or JSON by its ending; or a robot file: URDF, MJCF or SDF (see `load_robot`)."""
    return Model._of(_bellcrank.Description.open(os.fspath(path)))


def load_robot(
    path: str | os.PathLike[str],
    *,
    base: str | None = None,
    repair: bool = False,
    stops: float | None = None,
    inputs: bool = False,
    package_roots: Sequence[str | os.PathLike[str]] = (),
    loops: str | os.PathLike[str] | None = None,
    ground: str | float | None = None,
) -> Model:
    """Reads a robot file: URDF, MJCF or SDF.

    `base` is "fixed" or "free" (URDF does not say, and is fixed), `repair` makes inertias physical that are not, `stops` is the
    stiffness of stops at the limits of joints (none without it), `inputs` makes an input of the effort of every joint,
    `package_roots` are folders in which `package://` is looked for, `loops` a file with joints that close loops, `ground`
    adds contacts of spheres, capsules and boxes with the ground: "hard", or with a stiffness.
    `Model.left_out` tells what the file says and the model does not.
    """
    roots = [os.fspath(root) for root in package_roots]
    told = None if loops is None else os.fspath(loops)
    on = None if ground is None else str(ground)
    return Model._of(_bellcrank.Description.robot(os.fspath(path), base, repair, stops, inputs, roots, told, on))


def loads(text: str, name: str = "model.toml") -> Model:
    """Reads a model from a text, under the name of the file it would be in.

    >>> loads("body.ball = { mass = 1 }").bodies
    ['ball']
    """
    return Model._of(_bellcrank.Description.parse(name, text))


def example(name: str) -> Model:
    """One of the examples that Bellcrank carries: `examples()` names them all.

    Those that read other files (a mesh, modes) are for the command line: `bellcrank new`.
    """
    texts = dict(_bellcrank.examples())
    if name not in texts:
        near = _bellcrank.nearest(name, list(texts))
        help = f"did you mean `{near}`?" if near else f"examples are {', '.join(texts)}"
        raise ValueError(f"there is no example `{name}`\nhelp: {help}")
    return loads(texts[name], f"{name}.toml")


def examples() -> list[str]:
    """The names of all examples."""
    return [name for name, _ in _bellcrank.examples()]
