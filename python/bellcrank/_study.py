"""Studies: many runs of a model with other values each time, as one table."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _bellcrank, _progress
from ._model import Model

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    import pandas
    import polars
    import pyarrow
    from numpy.typing import NDArray

    #: What one value is varied over: a list or an array of numbers or words, or a distribution such as `uniform(1, 2)`.
    Axis = Union[Sequence[Any], NDArray[Any], Mapping[str, Any]]


def uniform(low: float, high: float) -> dict[str, Any]:
    """Numbers between two bounds, all of them equally likely.

    >>> uniform(1, 2)
    {'distribution': 'uniform', 'from': 1, 'to': 2}
    """
    return {"distribution": "uniform", "from": low, "to": high}


def log_uniform(low: float, high: float) -> dict[str, Any]:
    """Numbers between two positive bounds, evenly on a logarithmic scale."""
    return {"distribution": "log-uniform", "from": low, "to": high}


def normal(mean: float, deviation: float) -> dict[str, Any]:
    """Normally distributed numbers, by their mean and standard deviation."""
    return {"distribution": "normal", "mean": mean, "deviation": deviation}


def log_normal(median: float, deviation: float) -> dict[str, Any]:
    """Numbers whose logarithm is normally distributed, by their median and the standard deviation of the logarithm."""
    return {"distribution": "log-normal", "median": median, "deviation": deviation}


def triangular(low: float, mode: float, high: float) -> dict[str, Any]:
    """Numbers between two bounds with a most likely one."""
    return {"distribution": "triangular", "from": low, "mode": mode, "to": high}


class Sweep(Mapping[str, Any]):
    """The table of a study: a mapping from the names of columns to arrays of numbers or lists of texts.

    There is one row for each run: its number as `row`, what was varied, what was wanted, `status` (finished, doubtful or failed)
    and `reason`. Numbers of a run that failed are NaN.

    Tables go through Arrow's C stream, in batches and without copies of numbers: `pyarrow.table(sweep)`, `sweep.to_polars()`,
    `pandas.DataFrame.from_arrow(sweep)`. What is missing is null there.
    """

    def __init__(self, core: _bellcrank.StudyTable, folder: str | None = None) -> None:
        self._core = core
        self._columns = core.columns()
        self._about = dict(core.about())
        #: The folder it was written to, if it was.
        self.folder = folder

    def __getitem__(self, name: str) -> Any:
        return self._core[name]

    def __iter__(self) -> Iterator[str]:
        return iter(name for name, _, _ in self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        failed = len(self.failures)
        told = f", {failed} failed" if failed else ""
        return f"<Sweep of {self._about.get('model', '')!r}: {self.rows} rows{told}, {len(self)} columns>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._core.__arrow_c_schema__()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._core)

    @property
    def axes(self) -> list[str]:
        """The names of what was varied."""
        return list(json.loads(self._about.get("axes", "[]")))

    @property
    def outputs(self) -> list[str]:
        """The names of what was wanted of every run."""
        return list(json.loads(self._about.get("columns", "[]")))

    @property
    def units(self) -> dict[str, str]:
        """The SI units of all columns; empty for pure numbers and texts."""
        return {name: unit for name, unit, _ in self._columns}

    @property
    def failures(self) -> dict[int, str]:
        """Why rows failed, by their numbers."""
        pairs = zip(self["status"], self["reason"], strict=True)
        return {row: reason for row, (status, reason) in enumerate(pairs) if status == "failed"}

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas; texts that are missing are None."""
        import pandas

        def column(name: str, is_text: bool) -> Any:
            return [text or None for text in self[name]] if is_text else self[name]

        return pandas.DataFrame({name: column(name, is_text) for name, _, is_text in self._columns})

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow, with units in the metadata of its fields; what is missing is null, and numbers are not copied."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """A data frame of Polars; what is missing is null, and numbers are not copied."""
        import polars

        # a mapping it would take apart, with texts that are empty and not missing
        return polars.DataFrame(self._core)


def open_study(path: str | os.PathLike[str]) -> Sweep:
    """Opens a folder that `bellcrank study --out` or `sweep(out=...)` wrote, or its table."""
    return Sweep(_bellcrank.StudyTable.open(os.fspath(path)), os.fspath(path))


def ray_executor(**options: Any) -> Executor:
    """An executor on the Ray cluster that `ray.init` connected to; options are those of `ray.remote`, such as `num_cpus=1`."""
    from ._executors import RayExecutor

    return RayExecutor(**options)


def _plain(value: Any) -> Any:
    """A value as JSON has it: arrays and numbers of NumPy as lists and numbers, symbols as their texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, range)):
        return [_plain(item) for item in value]
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    return str(value)


def _text(
    vary: Mapping[str, Axis],
    outputs: Sequence[str] | Mapping[str, str],
    header: Mapping[str, Any],
    solve: Mapping[str, Any],
    values: Mapping[str, Any],
) -> str:
    """The text of a study file, which is what is checked and sent to workers."""
    if isinstance(outputs, str):
        raise TypeError("`outputs` must be a list of names or a dictionary, found one text")
    columns = dict(outputs) if isinstance(outputs, Mapping) else {str(name): str(name) for name in outputs}
    sections = {
        "study": {key: value for key, value in header.items() if value is not None},
        "vary": {str(name): axis for name, axis in vary.items()},
        "column": columns,
        "solve": {key: value for key, value in solve.items() if value is not None},
        "set": values,
    }
    plain = {name: _plain(section) for name, section in sections.items() if section or name == "study"}
    return json.dumps(plain, indent=1, ensure_ascii=False)


def sweep(
    model: Model,
    vary: Mapping[str, Axis],
    *,
    outputs: Sequence[str] | Mapping[str, str] = (),
    until: float | None = None,
    solve: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    together: bool = False,
    samples: int | None = None,
    sampling: str | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    jobs: int | None = None,
    chunk: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    keep: bool = False,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Sweep:
    """Runs a model many times with other values, and gives one table with a row for each run.

    Lists and arrays give all their combinations; what has a distribution is drawn `samples` times at each of them. The table is
    that of `bellcrank study`, to the byte, for any number of workers.

    model: what is run
    vary: what is varied, by the name of a parameter, a path such as `"start.pin.rate"`, or a choice such as `"solve.method"`
    outputs: what is wanted of every run, such as `"camber.max"` or `"bob.y"`; a dictionary gives columns other names; default:
        `max`, `min` and `final` of every output of the model
    until: end of the runs [s]
    solve: other options of all runs, such as `{"rtol": 1e-8}`
    set: other values of the model for all runs, by name or path
    together: whether lists go together, first with first and second with second, in the place of all combinations
    samples: how many points are drawn, where something has a distribution
    sampling: "latin-hypercube" (default), "sobol" or "monte-carlo"
    seed: another one draws other points; default: 1
    executor: where rows are computed: any executor of `concurrent.futures`, such as that of a process pool or of a Dask client, or
        `ray_executor()`; default: threads of this process
    jobs: how many runs go on at a time; default: one on each core
    chunk: how many rows an executor is given at a time; default: by their number
    out: the folder for study.parquet; default: nothing stays
    resume: goes on with the rows that are in the folder
    keep: whole results of every run too, in a folder for each row, below `out`
    progress: True or False for a bar, or a function that is told how many rows are done, and of how many

    >>> import bellcrank as bc
    >>> m = bc.Model("ball", gravity=(0, 0, -9.81))
    >>> v = m.parameter("v", 1.0)
    >>> ball = m.body("ball", mass=1.0, velocity=(0, 0, v))
    >>> found = sweep(m, {"v": [1, 2, 3]}, outputs={"height": "ball.z.max"}, until=1)
    >>> [round(float(h), 4) for h in found["height"]]
    [0.051, 0.2039, 0.4587]
    """
    if keep and out is None:
        raise ValueError("`keep` needs `out`: a folder for whole results")
    if jobs is not None and jobs < 1:
        raise ValueError(f"`jobs` must be at least 1, found {jobs}")
    if chunk is not None and chunk < 1:
        raise ValueError(f"`chunk` must be at least 1, found {chunk}")
    options = dict(solve or {})
    if until is not None:
        options["until"] = until
    combine = "together" if together else None
    header = {"combine": combine, "samples": samples, "sampling": sampling, "seed": seed, "keep": keep or None}
    text = _text(vary, outputs, header, options, set or {})
    study = _bellcrank.Study(model._core, text)
    tell, bar = _told(progress, study.rows())
    scratch = tempfile.TemporaryDirectory(prefix="bellcrank-study-") if out is None else None
    try:
        # an empty folder of its own: studies refuse those with other files
        folder = os.path.join(scratch.name, "study") if scratch is not None else os.path.abspath(os.fspath(out or ""))
        if executor is None:
            study.run(folder, resume, jobs or 0, tell)
        else:
            from . import _executors  # process pools take a while to import

            spec = (model._core.parts(), text)
            _executors.run(study, spec, executor, folder, resume, jobs, chunk, tell)
        table = _bellcrank.StudyTable.open(folder)
    finally:
        if bar is not None:
            bar.close()
        if scratch is not None:
            scratch.cleanup()
    return Sweep(table, None if out is None else os.fspath(out))


def _told(
    progress: bool | Callable[[int, int], object] | None, rows: int
) -> tuple[Callable[[int, int], object] | None, _progress.Bar | None]:
    if progress is None:
        progress = _progress.shown()
    if callable(progress):
        return progress, None
    if not isinstance(progress, bool):
        raise TypeError(f"`progress` must be True, False or a function, found {type(progress).__name__}")
    if not progress:
        return None, None
    bar = _progress.Bar(rows, unit="row")
    return (lambda done, _: bar(done)), bar
