"""What analyses find, as typed objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._results import Results
    from ._types import Array


class Event(NamedTuple):
    """Something that happened in a run."""

    #: When, in s.
    time: float
    #: The name of what it happened to.
    name: str
    #: What it did.
    what: str


class Doubt(NamedTuple):
    """Why a run cannot vouch for its result."""

    #: What kind of doubt it is, in a word.
    kind: str
    #: What it is.
    message: str
    #: What to try.
    help: str


class Finding(NamedTuple):
    """One thing that a check found."""

    #: `error`, `warning` or `note`.
    level: str
    #: What kind of finding it is, in a word.
    kind: str
    #: The elements it is about.
    names: tuple[str, ...]
    #: What it is.
    message: str
    #: What to try.
    help: str


@dataclass(frozen=True)
class Check:
    """What `bellcrank check` tells of a model; `print` shows it in its words."""

    text: str = field(repr=False)
    #: Everything, as `bellcrank check --json` prints it.
    details: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text

    @property
    def runs(self) -> bool:
        """Whether the model can run."""
        return bool(self.details["runs"])

    @property
    def degrees_of_freedom(self) -> int | None:
        """In how many ways the model can move."""
        value = self.details["degrees_of_freedom"]
        return None if value is None else int(value)

    @property
    def redundant_equations(self) -> int:
        """How many equations of joints say what others say."""
        return int(self.details["redundant_equations"])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong or odd."""
        keys = ("level", "kind", "names", "message", "help")
        found = [[item[key] for key in keys] for item in self.details["findings"]]
        return tuple(Finding(a, b, tuple(c), d, e) for a, b, c, d, e in found)


@dataclass(frozen=True)
class Plan:
    """What a run would do, and why; `print` shows it in the words of `bellcrank plan`."""

    text: str = field(repr=False)
    #: Everything, as `bellcrank plan --json` prints it.
    details: Mapping[str, Any]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Equilibrium:
    """Where all forces balance."""

    #: `stable`, `unstable`, `neutral`, or None where that is not known.
    stability: str | None
    #: The values of all channels there.
    values: Mapping[str, float] = field(repr=False)
    #: Eigenvalues of the reduced stiffness, ascending.
    stiffness_eigenvalues: Array = field(repr=False)
    #: What is left of the forces, as a part of them.
    residual: float
    iterations: int
    redundant_equations: int

    def __getitem__(self, channel: str) -> float:
        return self.values[channel]


@dataclass(frozen=True)
class Mode:
    """One mode of the linearized motion."""

    #: In 1/s; of a conjugate pair the one above the real axis.
    eigenvalue: complex
    #: In Hz.
    frequency: float
    #: The frequency it would have undamped, in Hz.
    undamped_frequency: float
    damping_ratio: float
    #: Whether nothing drives it back.
    rigid: bool
    grows: bool
    #: Displacements by channel, the largest of them 1.
    shape: Mapping[str, complex] = field(repr=False)


@dataclass(frozen=True)
class Modes(Sequence[Mode]):
    """All modes about a state, by the size of their eigenvalues."""

    #: In words: `the equilibrium`, `the start`, `t = 2.5 s`.
    about: str
    stable: bool
    modes: tuple[Mode, ...]

    def __getitem__(self, index: Any) -> Any:
        return self.modes[index]

    def __len__(self) -> int:
        return len(self.modes)

    @classmethod
    def _of(cls, told: Mapping[str, Any]) -> Modes:
        def mode(item: Mapping[str, Any]) -> Mode:
            return Mode(
                complex(*item["eigenvalue"]),
                item["frequency"],
                item["undamped_frequency"],
                item["damping_ratio"],
                item["rigid"],
                item["grows"],
                {name: complex(*value) for name, value in item["shape"].items()},
            )

        return cls(told["about"], told["stable"], tuple(mode(item) for item in told["modes"]))


@dataclass(frozen=True)
class LinearModel:
    """x′ = A x + B w, y = C x + D w: deviations of states, inputs w and outputs y from their values at the state.

    It unpacks as `A, B, C, D`, so that `control.ss(*model.linearize())` and `scipy.signal.StateSpace(*model.linearize())`
    work as they are. The states are displacements and velocities along directions in which the mass matrix is the
    identity; C tells what they mean in channels.
    """

    A: Array = field(repr=False)
    B: Array = field(repr=False)
    C: Array = field(repr=False)
    D: Array = field(repr=False)
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: In words: `the equilibrium`, `the start`, `t = 2.5 s`.
    about: str
    #: The values of the inputs at the state.
    input_values: Array
    #: The values of the outputs at the state.
    output_values: Array
    #: Coordinates and velocities at the state.
    q: Array = field(repr=False)
    v: Array = field(repr=False)
    time: float

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B, self.C, self.D))


@dataclass(frozen=True)
class Demand:
    """What a drive has to give over a prescribed motion."""

    #: The effort's channel, such as `motor.torque`.
    name: str
    unit: str
    #: The largest effort with its sign, and all else that `bellcrank inverse --json` prints.
    details: Mapping[str, Any] = field(repr=False)
    peak: float
    rms: float
    work: float


@dataclass(frozen=True)
class Inverse:
    """The forces and torques that a prescribed motion takes."""

    demands: tuple[Demand, ...]
    #: The motion, with the efforts of all drives as channels.
    results: Results = field(repr=False)
    details: Mapping[str, Any] = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        return self.results[name]


@dataclass(frozen=True)
class Verification:
    """How accurate a run was, against finer ones."""

    #: What it was compared with, in words.
    against: str
    #: Whether finer runs come closer to each other, so that the errors mean something.
    converges: bool
    #: The largest error of each channel, in its unit.
    errors: Mapping[str, float] = field(repr=False)
    #: The channel with the largest relative error, and that error.
    worst: tuple[str, float] | None
    #: The order that was observed.
    order: float | None
    details: Mapping[str, Any] = field(repr=False)

    @classmethod
    def _of(cls, told: Mapping[str, Any]) -> Verification:
        worst = told["worst"]
        return cls(
            told["against"],
            told["converges"],
            told["errors"],
            None if worst is None else (worst["channel"], worst["relative"]),
            told["observed_order"],
            told,
        )


@dataclass(frozen=True)
class Summary:
    """What a run was and what it took."""

    model: str
    #: `finished`, `interrupted` or `failed`.
    status: str
    method: str
    formulation: str
    steps: int
    rejected: int
    evaluations: int
    factorizations: int
    wall_seconds: float
    degrees_of_freedom: int
    redundant_equations: int
    #: The largest residuals of the constraints, in m (or rad) and m/s (or rad/s).
    position_drift: float
    velocity_drift: float
    #: The largest error of the balance of energy, in J.
    energy_error: float
    #: The error at the end, estimated during the run: of a coordinate, in sizes of the machine or in rad. `None` where it
    #: was not estimated; `no_estimate` then tells why, if the run tried.
    estimated_error: float | None
    no_estimate: str | None
    #: Everything, as `bellcrank run --json` prints it.
    details: Mapping[str, Any] = field(repr=False)

    @property
    def final(self) -> Mapping[str, float]:
        """The values of all channels at the end."""
        values: Mapping[str, float] = self.details.get("final", {})
        return values

    @classmethod
    def _of(cls, told: Mapping[str, Any]) -> Summary:
        def number(*keys: str) -> float:
            value: Any = told
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            return float("nan") if value is None else float(value)

        def count(key: str) -> int:
            return int(told.get(key) or 0)

        return cls(
            model=str(told.get("model", "")),
            status=str(told.get("status", "unknown")),
            method=str(told.get("method", "")),
            formulation=str(told.get("formulation", "")),
            steps=count("steps"),
            rejected=count("rejected"),
            evaluations=count("residual_evaluations"),
            factorizations=count("factorizations"),
            wall_seconds=number("wall_seconds"),
            degrees_of_freedom=count("degrees_of_freedom"),
            redundant_equations=count("redundant_equations"),
            position_drift=number("drift", "position"),
            velocity_drift=number("drift", "velocity"),
            energy_error=number("energy", "max_error"),
            estimated_error=told.get("estimated_error"),
            no_estimate=told.get("no_estimate"),
            details=told,
        )
