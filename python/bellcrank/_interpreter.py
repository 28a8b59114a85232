"""Refuses interpreters that the extension module is not made for, before it is loaded."""

from __future__ import annotations

import sys

if "free-threading build" in sys.version:
    raise ImportError(
        "bellcrank does not run on free-threaded Python: its extension module relies on the interpreter's lock\n"
        f"help: use the regular build of Python {sys.version_info[0]}.{sys.version_info[1]}; "
        "runs release the lock, so threads work at the same time there too"
    )
