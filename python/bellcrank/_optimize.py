"""Optimization and identification, on SciPy's optimizers.

Gradients are central differences of tight runs, all of them computed at a time; exact sensitivities will take their place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._errors import BellcrankError, SimulationError
from ._model import Model
from ._study import sweep

if TYPE_CHECKING:
    from ._types import Array

    #: What is made small: one output, or a function of all of them.
    Objective = Union[str, Callable[[dict[str, float]], float]]

#: Steps of differences, in ranges of the parameters: errors of order step² and tolerance/step are then both near 1e-7.
STEP = 3e-4
#: The relative tolerance of runs, unless the options say otherwise.
RTOL = 1e-10


@dataclass(frozen=True)
class Minimum:
    """Where an objective is smallest."""

    #: The parameters there.
    parameters: dict[str, float]
    #: The objective there.
    value: float
    #: The outputs there.
    outputs: dict[str, float]
    #: Whether the optimizer is content.
    success: bool
    #: What it says.
    message: str
    #: How many runs it took.
    runs: int
    #: The objective that each start came to, best first.
    starts: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Fit:
    """Parameters with which a model comes closest to measurements."""

    #: The parameters.
    parameters: dict[str, float]
    #: Their confidence intervals.
    intervals: dict[str, tuple[float, float]]
    #: Their covariance, in the order of the parameters.
    covariance: Array
    #: The standard deviation of what the model leaves unexplained, in weighted units.
    deviation: float
    #: Model minus measurement, for each channel.
    residuals: dict[str, Array]
    #: Whether the optimizer is content.
    success: bool
    #: What it says.
    message: str
    #: How many runs it took.
    runs: int


class _Box:
    """Parameters between bounds, as numbers from 0 to 1."""

    def __init__(self, model: Model, parameters: Mapping[str, tuple[float, float]]) -> None:
        if not parameters:
            raise ValueError("`parameters` is empty: name at least one, with its bounds")
        self.names = [str(name) for name in parameters]
        for name, bounds in parameters.items():
            if len(bounds) != 2 or not (np.isfinite(bounds).all() and bounds[0] < bounds[1]):
                raise ValueError(f"the bounds of `{name}` must be two numbers, the lower one first, found {bounds!r}")
        self.low = np.array([float(b[0]) for b in parameters.values()])
        self.range = np.array([float(b[1]) - float(b[0]) for b in parameters.values()])
        now = [model.parameters.get(name) for name in self.names]
        middle = self.low + 0.5 * self.range
        self.start = np.array([m if x is None else x for x, m in zip(now, middle, strict=True)])

    def values(self, u: Array) -> Array:
        """The parameters at a place."""
        return np.asarray(self.low + u * self.range)

    def starts(self, count: int, seed: int) -> list[Array]:
        """Where the model is now, if that is within bounds, and a Latin hypercube of others."""
        from scipy.stats import qmc

        first = np.clip((self.start - self.low) / self.range, 0.0, 1.0)
        more = qmc.LatinHypercube(len(self.names), rng=seed).random(count - 1) if count > 1 else []
        return [first, *more]

    def around(self, u: Array) -> tuple[Array, Array]:
        """A place, and both neighbours along each axis: within the bounds, where one of them falls on the other side."""
        up = np.minimum(u + STEP, 1.0)
        down = np.maximum(u - STEP, 0.0)
        points = [u]
        for k in range(len(u)):
            for end in (down, up):
                point = u.copy()
                point[k] = end[k]
                points.append(point)
        return np.array(points), up - down


def minimize(
    model: Model,
    objective: Objective,
    parameters: Mapping[str, tuple[float, float]],
    *,
    outputs: Sequence[str] | Mapping[str, str] = (),
    until: float | None = None,
    solve: Mapping[str, Any] | None = None,
    starts: int = 1,
    seed: int = 1,
    executor: Executor | None = None,
    jobs: int | None = None,
    tolerance: float = 1e-8,
) -> Minimum:
    """The parameters within bounds with which an objective of a run is smallest.

    SciPy's L-BFGS-B with gradients by central differences of tight runs (rtol 1e-10 unless `solve` says otherwise); a gradient of p
    parameters takes 2 p runs, which go on at a time. An objective with kinks, as maxima over time can have, may hold it up: then
    `message` tells, and other starts help.

    model: what is run
    objective: an output such as `"body.ay.rms"`, or a function of a dictionary of all `outputs`
    parameters: names or paths with their bounds, such as `{"damping": (100, 2000)}`
    outputs: what the objective is computed from, as for `sweep`
    until: end of the runs [s]
    solve: other options of all runs
    starts: from how many places it is begun: where the model is now, and others by a Latin hypercube; the best end counts
    seed: another one chooses other places
    executor, jobs: where runs go, as for `sweep`
    tolerance: the relative change of the objective at which it ends

    >>> import bellcrank as bc
    >>> m = bc.Model("ball", gravity=(0, 0, -9.81))
    >>> v = m.parameter("v", 1.0)
    >>> ball = m.body("ball", mass=1.0, velocity=(0, 0, v))
    >>> found = minimize(m, lambda o: (o["ball.z"] - 0.1) ** 2, {"v": (0, 20)}, outputs=["ball.z"], until=1)
    >>> round(found.parameters["v"], 4)  # v - g/2 = 0.1
    5.005
    """
    from scipy import optimize

    box = _Box(model, parameters)
    wanted: Sequence[str] | Mapping[str, str] = [objective] if isinstance(objective, str) and not outputs else outputs
    names = list(wanted)
    if isinstance(objective, str) and objective not in names:
        raise ValueError(f"the objective `{objective}` is none of the outputs: {', '.join(names)}")
    options = {"rtol": RTOL, **(solve or {})}
    runs = 0

    def evaluated(points: Array) -> list[tuple[float, dict[str, float]]]:
        nonlocal runs
        runs += len(points)
        axes = {name: [float(x) for x in box.values(points)[:, k]] for k, name in enumerate(box.names)}
        rows = sweep(
            model,
            axes,
            outputs=wanted,
            until=until,
            solve=options,
            together=True,
            executor=executor,
            jobs=jobs,
            progress=False,
        )
        if rows.failures:
            row, reason = next(iter(rows.failures.items()))
            where = ", ".join(f"{name} = {axis[row]:g}" for name, axis in axes.items())
            raise SimulationError(f"a run failed at {where}: {reason}\nhelp: narrow the bounds of the parameters")
        found = [{name: float(rows[name][row]) for name in names} for row in range(len(points))]
        return [(o[objective] if isinstance(objective, str) else float(objective(o)), o) for o in found]

    def gradient(u: Array) -> tuple[float, Array]:
        points, widths = box.around(u)
        values = [value for value, _ in evaluated(points)]
        return values[0], np.array([values[2 * k + 2] - values[2 * k + 1] for k in range(len(u))]) / widths

    ends: list[tuple[float, Any]] = []
    failure: BellcrankError | None = None
    for start in box.starts(starts, seed):
        try:
            end = optimize.minimize(
                gradient, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(start), options={"ftol": tolerance}
            )
        except SimulationError as error:  # other starts may do better
            failure = error
            continue
        ends.append((float(end.fun), end))
    if not ends:
        raise failure or SimulationError("there is no start")
    ends.sort(key=lambda pair: pair[0])
    value, best = ends[0]
    value, found = evaluated(np.array([best.x]))[0]
    place = {name: float(x) for name, x in zip(box.names, box.values(best.x), strict=True)}
    return Minimum(place, value, found, bool(best.success), str(best.message), runs, [v for v, _ in ends])


def fit(
    model: Model,
    measurements: Mapping[str, Any],
    parameters: Mapping[str, tuple[float, float]],
    *,
    weights: Mapping[str, float] | None = None,
    solve: Mapping[str, Any] | None = None,
    starts: int = 1,
    seed: int = 1,
    jobs: int | None = None,
    confidence: float = 0.95,
) -> Fit:
    """The parameters within bounds with which a model comes closest to measurements, with their confidence intervals.

    Least squares by SciPy, with derivatives by central differences of tight runs. The intervals are those of a linear model about the
    best fit with independent, normally distributed errors of equal size (after `weights`).

    model: what is run
    measurements: arrays by the names of channels, and their times as `"time"` [s]
    parameters: names or paths with their bounds
    weights: of channels: errors are multiplied by them; default: one over the range of the channel, if there are several
    solve: other options of all runs
    starts, seed: as for `minimize`
    jobs: how many runs go on at a time; default: one on each core
    confidence: the probability of the intervals
    """
    from scipy import optimize, stats

    box = _Box(model, parameters)
    given = {str(name): np.asarray(values, dtype=float) for name, values in measurements.items()}
    times = given.pop("time", None)
    if times is None or times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0).all() or times[0] < 0:
        raise ValueError('`measurements` needs "time": two or more times from 0 on, rising')
    for name, values in given.items():
        if values.shape != times.shape or not np.isfinite(values).all():
            raise ValueError(f"the measurement of `{name}` must be {len(times)} finite numbers, one for each time")
    if not given:
        raise ValueError("`measurements` has no channel beside the time")
    if len(given) * len(times) <= len(box.names):
        raise ValueError(f"{len(given) * len(times)} numbers cannot tell {len(box.names)} parameters")
    scale = {name: 1.0 if len(given) == 1 else 1.0 / (float(np.ptp(values)) or 1.0) for name, values in given.items()}
    scale.update(weights or {})
    until = float(times[-1])
    sample = float(np.diff(times).min()) / 2
    options = {"rtol": RTOL, **(solve or {}), "until": until, "sample": sample, "record": list(given)}
    runs = 0

    def curves(u: Array) -> Array:
        values = {name: float(x) for name, x in zip(box.names, box.values(u), strict=True)}
        paths = {name if "." in name else f"parameter.{name}": x for name, x in values.items()}
        found = model.replace(paths)._run(options, False)
        # twice as many samples as measurements, and a spline through them
        from scipy.interpolate import CubicSpline

        t = np.asarray(found["time"])
        return np.concatenate([scale[name] * CubicSpline(t, found[name])(times) for name in given])

    measured = np.concatenate([scale[name] * values for name, values in given.items()])
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:

        def residual(u: Array) -> Array:
            nonlocal runs
            runs += 1
            return np.asarray(curves(u) - measured)

        def jacobian(u: Array) -> Array:
            nonlocal runs
            points, widths = box.around(u)
            runs += len(points) - 1
            found = list(pool.map(curves, points[1:]))
            pairs = [(found[2 * k + 1] - found[2 * k]) / widths[k] for k in range(len(u))]
            return np.asarray(np.array(pairs).T)

        ends: list[Any] = []
        failure: BellcrankError | None = None
        for start in box.starts(starts, seed):
            inside = np.clip(start, 1e-6, 1 - 1e-6)
            try:
                ends.append(
                    optimize.least_squares(residual, inside, jac=jacobian, bounds=(0, 1), xtol=1e-10, ftol=1e-12)
                )
            except BellcrankError as error:  # other starts may do better
                failure = error
        if not ends:
            raise failure or SimulationError("there is no start")
    best = min(ends, key=lambda end: float(end.cost))
    freedom = len(measured) - len(box.names)
    variance = 2.0 * float(best.cost) / freedom
    slope = best.jac / box.range
    covariance = variance * np.linalg.pinv(slope.T @ slope)
    half = stats.t.ppf(0.5 + 0.5 * confidence, freedom) * np.sqrt(np.diag(covariance))
    values = box.values(best.x)
    place = {name: float(x) for name, x in zip(box.names, values, strict=True)}
    intervals = {name: (float(x - h), float(x + h)) for name, x, h in zip(box.names, values, half, strict=True)}
    parts = np.split(best.fun, len(given))
    residuals = {name: part / scale[name] for name, part in zip(given, parts, strict=True)}
    return Fit(place, intervals, covariance, variance**0.5, residuals, bool(best.success), str(best.message), runs)
