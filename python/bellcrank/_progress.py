"""A bar for runs that take a while."""

from __future__ import annotations

import sys
import time
from typing import Any

#: Shorter runs show no bar.
PATIENCE = 1.0


class Bar:
    """Draws a bar with tqdm from the first second on; without tqdm, nothing."""

    def __init__(self, until: float | None, unit: str = "s") -> None:
        self._until = until
        self._unit = unit
        self._begun = time.monotonic()
        self._bar: Any = None

    def __call__(self, t: float) -> None:
        """Tells the time that the run has reached."""
        if self._bar is None:
            if time.monotonic() - self._begun < PATIENCE:
                return
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._begun = float("inf")
                return
            self._bar = tqdm(total=self._until, unit=self._unit, unit_scale=True, leave=False)
        self._bar.update(t - self._bar.n)

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()


def shown() -> bool:
    """Whether anybody would see a bar: in a terminal or a notebook."""
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()
