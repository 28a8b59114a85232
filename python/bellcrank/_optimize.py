"""Optimization and identification, on SciPy's optimizers.

Gradients come through the solver, from one run each (`sensitivity`). Where something has no derivative there, a choice of the solver or an
extreme at an event, central differences of tight runs take their place, all of them computed at a time; results say so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._errors import BellcrankError, ModelError, OptionError, SimulationError
from ._model import Model
from ._sensitivity import sensitivity
from ._study import sweep

if TYPE_CHECKING:
    from ._types import Array

    #: What is made small: one output, or a function of all of them.
    Objective = Union[str, Callable[[dict[str, float]], float]]

#: Steps of differences, in ranges of the parameters: errors of order step² and tolerance/step are then both near 1e-7.
STEP = 3e-4
#: Searches from so many starts go on at a time on an executor.
MANY = 32
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
    #: "exact", "differences", or "exact and differences".
    gradients: str = "exact"
    #: Why there were differences.
    reason: str = ""


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
    #: "exact", "differences", or "exact and differences": where derivatives came from.
    gradients: str = "exact"
    #: Why there were differences.
    reason: str = ""


class _Sources:
    """Where derivatives come from: through the solver, or by differences where that cannot be."""

    def __init__(self) -> None:
        self.exact, self.differences, self.reason = 0, 0, ""
        self._never = False

    def attempt(self, derivatives: Callable[[], _Exact]) -> _Exact | None:
        """Exact derivatives, unless there are none here."""
        if not self._never:
            try:
                found = derivatives()
            except BellcrankError as error:
                # the question is wrong at every place, and a run is at this one
                self._never = isinstance(error, (ModelError, OptionError))
                self.reason = self.reason or str(error).splitlines()[0]
            else:
                self.exact += 1
                return found
        self.differences += 1
        return None

    def told(self) -> tuple[str, str]:
        """What results say."""
        kinds = [kind for kind, count in (("exact", self.exact), ("differences", self.differences)) if count]
        return " and ".join(kinds) or "exact", self.reason


#: Values, and their derivatives by the parameters.
_Exact = tuple["Array", "Array"]


def _derivatives(model: Model, of: Sequence[str], values: Mapping[str, float], options: Mapping[str, Any]) -> _Exact:
    """Outputs of one run, with their derivatives by the parameters."""
    found = sensitivity(model, of, list(values), set=values, solve=options)
    return found.values, found.jacobian


def _slopes(model: Model, values: Mapping[str, float], options: Mapping[str, Any], times: Array) -> _Exact:
    """The channels that `options` records, with their derivatives, at some times."""
    from scipy.interpolate import CubicSpline

    found = sensitivity(
        model, options["record"], list(values), set=values, solve=options, mode="forward", over_time=True
    )
    splines = (CubicSpline(found.time, table)(times) for table in (found.curves, found.derivatives))
    curves, slopes = (np.asarray(table) for table in splines)
    return curves, slopes


@dataclass(frozen=True)
class _End:
    """Where a search from one start ended."""

    value: float
    #: SciPy's result.
    found: Any
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


def _from_all(search: Callable[[Array], _End], starts: Sequence[Array], at_a_time: int) -> tuple[list[_End], int]:
    """What searches from several starts come to, best first, and how many runs all of them took. They go on at a time; where one
    fails, others may do better."""

    def tried(start: Array) -> _End | SimulationError:
        try:
            return search(start)
        except SimulationError as error:
            return error

    with ThreadPoolExecutor(max(1, min(at_a_time, len(starts)))) as pool:
        found = list(pool.map(tried, starts))
    ends = [end for end in found if isinstance(end, _End)]
    if not ends:
        raise next(error for error in found if isinstance(error, SimulationError))
    return sorted(ends, key=lambda end: end.value), sum(end.runs for end in ends)


def _workers(executor: Executor | None, jobs: int | None) -> int:
    """How many runs go on at a time; an executor knows itself how many it takes."""
    if jobs is not None and jobs < 1:
        raise ValueError(f"`jobs` must be at least 1, found {jobs}")
    return jobs or (MANY if executor is not None else os.cpu_count() or 1)


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

    SciPy's L-BFGS-B on tight runs (rtol 1e-10 unless `solve` says otherwise). Gradients come through the solver with the run itself
    (`sensitivity`); where that cannot be, they are central differences of 2 p runs for p parameters, which go on at a time, and the
    result says so. An objective with kinks, as maxima over time can have, may hold it up: then
    `message` tells, and other starts help.

    model: what is run
    objective: an output such as `"body.ay.rms"`, or a function of a dictionary of all `outputs`
    parameters: names or paths with their bounds, such as `{"damping": (100, 2000)}`
    outputs: what the objective is computed from, as for `sweep`
    until: end of the runs [s]
    solve: other options of all runs
    starts: from how many places it is begun, at a time: where the model is now, and others by a Latin hypercube; the best end
        counts
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
    workers = _workers(executor, jobs)
    at_a_time = max(1, min(workers, starts))

    def evaluated(points: Array) -> list[tuple[float, dict[str, float]]]:
        axes = {name: [float(x) for x in box.values(points)[:, k]] for k, name in enumerate(box.names)}
        rows = sweep(
            model,
            axes,
            outputs=wanted,
            until=until,
            solve=options,
            together=True,
            executor=executor,
            jobs=jobs if executor is not None else max(1, workers // at_a_time),
            progress=False,
        )
        if rows.failures:
            row, reason = next(iter(rows.failures.items()))
            where = ", ".join(f"{name} = {axis[row]:g}" for name, axis in axes.items())
            raise SimulationError(f"a run failed at {where}: {reason}\nhelp: narrow the bounds of the parameters")
        found = [{name: float(rows[name][row]) for name in names} for row in range(len(points))]
        return [(o[objective] if isinstance(objective, str) else float(objective(o)), o) for o in found]

    texts = [wanted[name] for name in names] if isinstance(wanted, Mapping) else names
    ended = {**options, **({} if until is None else {"until": until})}
    sources = _Sources()

    def exact(u: Array) -> _Exact:
        values = dict(zip(box.names, map(float, box.values(u)), strict=True))
        if executor is None:
            return _derivatives(model, texts, values, ended)
        return executor.submit(_derivatives, model, texts, values, ended).result()

    def chained(values: Array, jacobian: Array) -> tuple[float, Array]:
        """The objective and its gradient from those of the outputs."""
        at = dict(zip(names, map(float, values), strict=True))
        if isinstance(objective, str):
            return at[objective], jacobian[names.index(objective)] * box.range
        by = jacobian * box.range
        gradient = np.zeros(len(box.names))
        for k, name in enumerate(names):
            # no run is taken for these: they may be small
            step = 1e-6 * (max(abs(at[name]), float(np.abs(by[k]).max())) or 1.0)
            both = [float(objective({**at, name: at[name] + end})) for end in (-step, step)]
            gradient += (both[1] - both[0]) / (2 * step) * by[k]
        return float(objective(at)), gradient

    def search(start: Array) -> _End:
        runs = 0

        def gradient(u: Array) -> tuple[float, Array]:
            nonlocal runs
            runs += 1
            found = sources.attempt(lambda: exact(u))
            if found is not None:
                return chained(*found)
            points, widths = box.around(u)
            runs += len(points)
            values = [value for value, _ in evaluated(points)]
            return values[0], np.array([values[2 * k + 2] - values[2 * k + 1] for k in range(len(u))]) / widths

        found = optimize.minimize(
            gradient, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(start), options={"ftol": tolerance}
        )
        return _End(float(found.fun), found, runs)

    ends, runs = _from_all(search, box.starts(starts, seed), at_a_time)
    best = ends[0].found
    value, found = evaluated(np.array([best.x]))[0]
    place = {name: float(x) for name, x in zip(box.names, box.values(best.x), strict=True)}
    values = [end.value for end in ends]
    return Minimum(place, value, found, bool(best.success), str(best.message), runs + 1, values, *sources.told())


def _curves(model: Model, values: Mapping[str, float], options: Mapping[str, Any], times: Array) -> dict[str, Array]:
    """The channels that `options` records, at some times: by a spline through samples that are twice as dense."""
    from scipy.interpolate import CubicSpline

    paths = {name if "." in name else f"parameter.{name}": x for name, x in values.items()}
    found = model.replace(paths)._run(options, False)
    t = np.asarray(found["time"])
    return {name: np.asarray(CubicSpline(t, found[name])(times)) for name in options["record"]}


def fit(
    model: Model,
    measurements: Mapping[str, Any],
    parameters: Mapping[str, tuple[float, float]],
    *,
    weights: Mapping[str, float] | None = None,
    solve: Mapping[str, Any] | None = None,
    starts: int = 1,
    seed: int = 1,
    executor: Executor | None = None,
    jobs: int | None = None,
    confidence: float = 0.95,
) -> Fit:
    """The parameters within bounds with which a model comes closest to measurements, with their confidence intervals.

    Least squares by SciPy, with derivatives through the solver (`sensitivity`) on tight runs; where there are none, by central differences of
    2 p runs for p parameters, and the result says so. The intervals are those of a linear model about the
    best fit with independent, normally distributed errors of equal size (after `weights`).

    model: what is run
    measurements: arrays by the names of channels, and their times as `"time"` [s]
    parameters: names or paths with their bounds
    weights: of channels: errors are multiplied by them; default: one over the range of the channel, if there are several
    solve: other options of all runs
    starts, seed: as for `minimize`
    executor: where runs go: any executor of `concurrent.futures`, as for `sweep`; default: threads of this process
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
    measured = np.concatenate([scale[name] * values for name, values in given.items()])
    workers = _workers(executor, jobs)

    sources = _Sources()

    def search(start: Array, pool: Executor) -> _End:
        runs = 0

        def weighted(points: Sequence[Array]) -> list[Array]:
            nonlocal runs
            runs += len(points)
            values = [dict(zip(box.names, map(float, box.values(u)), strict=True)) for u in points]
            futures = [pool.submit(_curves, model, v, options, times) for v in values]
            found = [future.result() for future in futures]
            return [np.concatenate([scale[name] * curves[name] for name in given]) for curves in found]

        def jacobian(u: Array) -> Array:
            nonlocal runs
            runs += 1
            now = dict(zip(box.names, map(float, box.values(u)), strict=True))
            exact = sources.attempt(lambda: pool.submit(_slopes, model, now, options, times).result())
            if exact is not None:
                by = [scale[name] * exact[1][:, k, :] for k, name in enumerate(given)]
                return np.asarray(np.concatenate(by) * box.range)
            points, widths = box.around(u)
            found = weighted(list(points[1:]))
            pairs = [(found[2 * k + 1] - found[2 * k]) / widths[k] for k in range(len(u))]
            return np.asarray(np.array(pairs).T)

        found = optimize.least_squares(
            lambda u: weighted([u])[0] - measured,
            np.clip(start, 1e-6, 1 - 1e-6),
            jac=jacobian,
            bounds=(0, 1),
            xtol=1e-10,
            ftol=1e-12,
        )
        return _End(float(found.cost), found, runs)

    with ExitStack() as stack:
        pool = executor or stack.enter_context(ThreadPoolExecutor(workers))
        ends, runs = _from_all(lambda start: search(start, pool), box.starts(starts, seed), workers)
    best = ends[0].found
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
    success, message = bool(best.success), str(best.message)
    return Fit(place, intervals, covariance, variance**0.5, residuals, success, message, runs, *sources.told())
