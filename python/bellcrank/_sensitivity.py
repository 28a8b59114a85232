"""Derivatives of outputs by parameters, through the solver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _bellcrank

if TYPE_CHECKING:
    from ._model import Model
    from ._names import Symbol
    from ._types import Array


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How outputs of a run change with parameters."""

    #: The outputs.
    of: tuple[str, ...]
    #: The parameters.
    to: tuple[str, ...]
    #: The values of the outputs.
    values: Array
    #: Their derivatives: a row for each output, a column for each parameter, in SI units.
    jacobian: Array
    #: The values of the parameters.
    parameters: Array
    #: Units of the outputs.
    units: tuple[str, ...]
    #: When an extreme was met; None where it has no time.
    at: tuple[float | None, ...]
    #: "forward" or "adjoint".
    mode: str
    #: The method of the run.
    method: str
    #: How many steps it took.
    steps: int
    #: How many events were crossed.
    events: int
    #: Times of the curves [s]; None unless they were asked for.
    time: Array | None = None
    #: The outputs over time: a row for each time.
    curves: Array | None = None
    #: Their derivatives over time: times, outputs, parameters.
    derivatives: Array | None = None

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The derivative of an output by a parameter: `found["bob.x", "length"]`."""
        of, to = pair
        for name, known in ((of, self.of), (to, self.to)):
            if str(name) not in known:
                raise KeyError(f"`{name}` was not asked for, but {', '.join(known)}")
        return float(self.jacobian[self.of.index(str(of)), self.to.index(str(to))])

    def __repr__(self) -> str:
        return f"<Sensitivity of {', '.join(self.of)} to {len(self.to)} parameters, {self.mode}>"


def sensitivity(
    model: Model,
    of: str | Sequence[str],
    to: str | Symbol | Sequence[str | Symbol],
    *,
    until: float | None = None,
    solve: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    mode: str = "auto",
    over_time: bool = False,
) -> Sensitivity:
    """Runs a model and differentiates outputs by parameters, through the solver.

    model: what is run
    of: outputs or channels, with a measure behind a dot (`max`, `min`, `absmax`, `mean`, `rms`); without one, the final value
    to: parameters, or paths of values such as `"body.crank.mass"`
    until: end of the run [s]
    solve: other options of the run, such as `{"rtol": 1e-10}`; without a tolerance it is at most 1e-8
    set: other values of the model, by name or path
    mode: "forward" carries derivatives along, at a cost for each parameter; "adjoint" carries them back over the run, at a cost for
        each output, with the one-step methods; "auto" takes the cheaper one
    over_time: whether curves are wanted too (forward)

    >>> import bellcrank as bc
    >>> m = bc.Model("ball", gravity=(0, 0, -9.81))
    >>> v = m.parameter("v", 1.0)
    >>> ball = m.body("ball", mass=1.0, velocity=(0, 0, v))
    >>> found = sensitivity(m, ["ball.z", "ball.z.max"], [v], until=2)
    >>> print(f"{found['ball.z', 'v']:.6f} {found['ball.z.max', 'v']:.6f}")  # t, and v/g
    2.000000 0.101937
    """
    listed = [of] if isinstance(of, str) else [str(name) for name in of]
    by = list(to) if isinstance(to, (list, tuple)) else [to]
    if not listed or not by:
        raise ValueError(f"`{'to' if listed else 'of'}` is empty: name at least one")
    if over_time and mode == "adjoint":
        raise ValueError('curves over time need mode="forward"')
    options = dict(solve or {})
    if until is not None:
        options["until"] = until
    paths = [(str(name), value) for name, value in (set or {}).items()]
    core = model._core.replaced([(name if "." in name else f"parameter.{name}", value) for name, value in paths])
    found = _bellcrank.sensitivity(core, listed, [str(name) for name in by], [], options, mode, over_time)
    for name in ("of", "to", "units", "at"):
        found[name] = tuple(found[name])
    if not over_time:
        for name in ("time", "curves", "derivatives"):
            found.pop(name, None)
    return Sensitivity(**found)
