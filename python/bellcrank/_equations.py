"""Equations of motion that are written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _bellcrank
from ._catalog import Runs
from ._model import _ran
from ._reports import Plan
from ._simulation import Simulation

if TYPE_CHECKING:
    from ._results import Results
    from ._types import Progress


class Equations(Runs):
    """M(q) v̇ = f(t, q, v) − Gᵀλ, g(t, q) = 0, q̇ = v, by Python functions; they run in every formulation and method.

    A pendulum of length 1 in x and y:

    >>> import numpy as np
    >>> pendulum = Equations(
    ...     mass=lambda q: np.eye(2),
    ...     force=lambda t, q, v: [0.0, -9.81],
    ...     constraint=lambda t, q: [q @ q - 1],
    ...     jacobian=lambda t, q: [2 * q],
    ...     q=[1.0, 0.0],
    ...     names=["x", "y"],
    ... )
    >>> r = pendulum.run(until=1.0, rtol=1e-8)
    >>> bool(abs(r["x"] ** 2 + r["y"] ** 2 - 1).max() < 1e-6)
    True

    Derivatives that are not given come from differences.
    """

    def __init__(
        self,
        *,
        mass: Callable[[Any], Any],
        force: Callable[[float, Any, Any], Any],
        q: Sequence[float] | Any,
        v: Sequence[float] | Any | None = None,
        constraint: Callable[[float, Any], Any] | None = None,
        jacobian: Callable[[float, Any], Any] | None = None,
        force_q: Callable[[float, Any, Any], Any] | None = None,
        force_v: Callable[[float, Any, Any], Any] | None = None,
        names: Sequence[str] = (),
        name: str = "equations",
    ) -> None:
        """Equations with a start.

        mass: M(q), n×n
        force: f(t, q, v), n numbers
        q: the coordinates at the start, n numbers
        v: the velocities at the start; default: at rest
        constraint: g(t, q), m numbers; default: none
        jacobian: ∂g/∂q, m×n; default: by differences
        force_q: ∂f/∂q, n×n; default: by differences
        force_v: ∂f/∂v, n×n; default: by differences
        names: of the coordinates, for the results; default: q1, q2, ...
        name: for messages and results
        """
        given = {"mass": mass, "force": force, "constraint": constraint, "jacobian": jacobian}
        for key, law in {**given, "force_q": force_q, "force_v": force_v}.items():
            if law is not None and not callable(law):
                raise TypeError(f"`{key}` must be a function, found {type(law).__name__}")
        start = [float(x) for x in q]
        constraints = 0
        if constraint is not None:
            import numpy as np

            constraints = int(np.size(constraint(0.0, np.array(start))))
        derivatives = {"jacobian": jacobian, "force_q": force_q, "force_v": force_v}
        rates = [0.0] * len(start) if v is None else v
        self._core = _bellcrank.Machine(
            name, list(names), start, rates, mass, force, constraint, constraints, derivatives
        )

    def _run(self, solve: Mapping[str, object], progress: Progress) -> Results:
        return _ran(self._core, solve, progress)

    def _simulate(self, solve: Mapping[str, object]) -> Simulation:
        return Simulation(self._core.simulate(dict(solve)))

    def _plan(self, solve: Mapping[str, object]) -> Plan:
        return Plan(self._core.simulate(dict(solve)).plan(), {})
