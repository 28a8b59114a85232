"""The command line, inside the package: `bellcrank` and `python -m bellcrank`."""

from __future__ import annotations

import signal
import sys

from . import _bellcrank

# FMUs of other tools run in a process of their own: this interpreter, with the extension module alone
_HOST = """
import importlib.util, sys
found = importlib.util.spec_from_file_location("bellcrank._bellcrank", sys.argv[1])
module = importlib.util.module_from_spec(found)
found.loader.exec_module(module)
sys.exit(module.main(["fmu-host"]))
"""
if sys.executable:
    _bellcrank.set_fmu_host([sys.executable, "-I", "-S", "-c", _HOST, _bellcrank.__file__])


def main() -> int:
    """Runs the program with the arguments of this process."""
    # the program has its own ways with Ctrl-C
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _bellcrank.main(sys.argv[1:])
