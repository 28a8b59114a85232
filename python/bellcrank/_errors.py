"""What goes wrong, by name. The words are those of the command line: what is wrong, where, and what to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._results import Results


class BellcrankError(Exception):
    """Anything that Bellcrank refuses."""


class ModelError(BellcrankError, ValueError):
    """The model is wrong: its file, an element, or a start that cannot be assembled.

    `diagnostics` has one dictionary for each problem, with `message`, `help`, and `file`, `line` and `column` where the
    problem has a place.
    """

    diagnostics: Sequence[Mapping[str, Any]] = ()


class OptionError(BellcrankError, ValueError):
    """An option of a run is unknown or makes no sense; `diagnostics` as in `ModelError`."""

    diagnostics: Sequence[Mapping[str, Any]] = ()


class SimulationError(BellcrankError, RuntimeError):
    """A run or an analysis cannot go on.

    `result` has what was computed up to there, `time` when it happened, and `culprit` the element where it shows.
    """

    diagnostics: Sequence[Mapping[str, Any]] = ()
    result: Results | None = None
    time: float | None = None
    culprit: str | None = None


class ChannelError(BellcrankError, KeyError):
    """There is no channel or input of that name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class DoubtWarning(UserWarning):
    """A run finished but cannot vouch for its result: `Results.doubts` tells why."""


class ResultsError(BellcrankError, OSError):
    """Results cannot be read or written."""
