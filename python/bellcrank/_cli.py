"""The command line, inside the package: `bellcrank` and `python -m bellcrank`."""

from __future__ import annotations

import signal
import sys

from . import _bellcrank


def main() -> int:
    """Runs the program with the arguments of this process."""
    # the program has its own ways with Ctrl-C
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _bellcrank.main(sys.argv[1:])
