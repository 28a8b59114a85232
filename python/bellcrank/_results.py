"""What a run recorded."""

from __future__ import annotations

import fnmatch
import html
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _bellcrank
from ._errors import ChannelError
from ._reports import Doubt, Event, Summary, Verification

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._types import Array


class Results(Mapping[str, "Array"]):
    """What a run recorded: a mapping from the names of channels to arrays, the time first.

    Arrays look at the memory of the results and cannot be written to; they keep it alive. Tables go through Arrow's C
    stream without a copy: `pyarrow.table(r)`, `polars.DataFrame(r)`, `pandas.DataFrame.from_arrow(r)`.

    >>> import bellcrank as bc
    >>> r = bc.example("pendulum").run(until=1)
    >>> len(r["time"]) == r.rows
    True
    """

    def __init__(self, core: _bellcrank.Results) -> None:
        self._core = core

    def __getitem__(self, name: str) -> Array:
        return self._core[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._core)

    def __len__(self) -> int:
        return len(self._core.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._core

    def __repr__(self) -> str:
        summary = self.summary
        return f"<Results of {summary.model!r}: {summary.status}, {self.rows} frames of {len(self)} columns>"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def rows(self) -> int:
        """The number of frames."""
        return len(self._core)

    @property
    def time(self) -> Array:
        """The times of all frames, in s."""
        return self._core["time"]

    @cached_property
    def units(self) -> dict[str, str]:
        """The SI units of all columns; empty for pure numbers."""
        return dict(self._core.columns())

    @cached_property
    def summary(self) -> Summary:
        """How the run ended and what it took."""
        return Summary._of(self._core.summary_json())

    @cached_property
    def events(self) -> list[Event]:
        """What happened on the way: contacts, stops, sticking, changes of rank."""
        return [Event(*event) for event in self._core.events()]

    @cached_property
    def doubts(self) -> list[Doubt]:
        """Why the run cannot vouch for its result; empty where it can."""
        return [Doubt(*doubt) for doubt in self._core.doubts()]

    def matching(self, *patterns: str) -> list[str]:
        """The channels of these names, where `*` and `?` stand for many: `r.matching("*.x")`."""
        names = self._core.keys()[1:]
        found: list[str] = []
        for pattern in patterns or ("*",):
            some = [pattern] if pattern in self._core else fnmatch.filter(names, pattern)
            if not some:
                if any(mark in pattern for mark in "*?["):
                    raise ChannelError(f"no channel matches `{pattern}`")
                self._core[pattern]
            found += [name for name in some if name not in found]
        return found

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._core.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """A table of pyarrow, with units in the metadata of its fields; nothing is copied."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas."""
        import pandas

        return pandas.DataFrame({name: self[name] for name in self})

    def to_polars(self) -> polars.DataFrame:
        """A data frame of Polars; nothing is copied."""
        import polars

        return polars.DataFrame(self)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes what `bellcrank run --out` writes: Parquet, CSV, the summary and the scene."""
        self._core.save(os.fspath(folder))

    def verify(self) -> Verification:
        """How accurate the run was: it is computed again, more finely, twice."""
        return Verification._of(self._core.verify())

    def report(
        self, file: str | os.PathLike[str], *, plots: Sequence[str | Sequence[str]] = (), verify: bool = True
    ) -> None:
        """Writes the report of `bellcrank run --report`: the moving scene, plots and the evidence, in one HTML file.

        The run is made again to gather the evidence, and with `verify` twice more to tell the accuracy.
        """
        text = self._core.report(self._plots(plots), verify)
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)

    def show(self, *, plots: Sequence[str | Sequence[str]] = (), open: bool = True) -> Page:
        """The viewer with these results: inline in notebooks, else in the browser.

        The page holds everything it needs: it works without a server, and stays in a saved notebook.
        """
        page = Page(self._core.page(self._plots(plots)))
        if open and not _in_notebook():
            page.open()
        return page

    def plot(self, *channels: str, x: str | None = None, log: bool = False, title: str = "") -> Plot:
        """Curves of channels over time, or over another channel; `*` and `?` stand for many.

        The plot shows itself in notebooks, prints itself in terminals, and `save`s itself as SVG.
        """
        names = self.matching(*channels)
        svg, text = self._core.drawing(names, x, log, title)
        return Plot(svg, text)

    def _plots(self, plots: Sequence[str | Sequence[str]]) -> list[list[str]]:
        return [self.matching(plot) if isinstance(plot, str) else self.matching(*plot) for plot in plots]


class Page:
    """A page of HTML that holds everything it shows."""

    def __init__(self, text: str) -> None:
        #: The text of the page.
        self.text = text

    def _repr_html_(self) -> str:
        source = html.escape(self.text, quote=True)
        return f'<iframe srcdoc="{source}" style="width: 100%; height: 480px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<Page of {len(self.text)} characters>"

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the page as a file."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.text)

    def open(self) -> None:
        """Shows the page in the browser."""
        import tempfile
        import webbrowser

        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as out:
            out.write(self.text)
        webbrowser.open(f"file://{out.name}")


class Plot:
    """Curves, as SVG and as text."""

    def __init__(self, svg: str, text: str) -> None:
        #: The text of an SVG file.
        self.svg = svg
        self._text = text

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return self._text

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the plot as an SVG file."""
        path = os.fspath(file)
        if not path.lower().endswith(".svg"):
            raise ValueError(f"cannot tell the kind of picture from {path}\nhelp: let the file end with .svg")
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.svg)


def open_results(path: str | os.PathLike[str]) -> Results:
    """Opens a folder that `bellcrank run --out` or `Results.save` wrote, or a Parquet or CSV file from it."""
    return Results(_bellcrank.open(os.fspath(path)))


def _in_notebook() -> bool:
    import sys

    return "ipykernel" in sys.modules


def _wrapped(error: BaseException) -> None:
    """Gives the results that an exception carries their face."""
    core: Any = getattr(error, "result", None)
    if isinstance(core, _bellcrank.Results):
        error.result = Results(core)  # type: ignore[attr-defined]
