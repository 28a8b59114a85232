"""Assemblies: parts with solvers of their own, joined at their ports, wherever there is room for them."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from . import _bellcrank
from ._errors import ModelError, SimulationError
from ._results import open_results

if TYPE_CHECKING:
    from ._results import Results

#: A part whose worker died is started again this many times.
ATTEMPTS = 3
#: Seconds that a worker has to start a part.
PATIENCE = 120.0
#: Serves a part until whoever started it is gone: the pipe closes with the process that holds its other end.
SERVE = """
import os, sys, threading
from bellcrank import _bellcrank
def gone():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=gone, daemon=True).start()
sys.exit(_bellcrank.main(sys.argv[1:]))
"""


@dataclass(frozen=True, eq=False)
class Glued:
    """What a run of an assembly gave."""

    #: Counts, residuals and final values, as `bellcrank glue --json` prints them.
    summary: Mapping[str, Any]
    #: What was recorded.
    results: Results
    #: Where parts were served at the end.
    addresses: Mapping[str, str] = field(default_factory=dict)
    #: Parts whose workers died on the way, in this order.
    lost: tuple[str, ...] = ()


class PartServer:
    """A part of an assembly in a worker of a cluster: an actor of Ray or Dask."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="bellcrank-part-")
        self._process: subprocess.Popen[str] | None = None

    def place(self, coordinator: str) -> tuple[str, str, int]:
        """The name of this machine, its address as seen from the coordinator, and the process."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as seen:
            try:
                seen.connect((coordinator, 9))  # nothing is sent
                address = str(seen.getsockname()[0])
            except OSError:
                address = "127.0.0.1"
        return platform.node(), address, os.getpid()

    def start(self, name: str, model: str, text: str, keys: dict[str, bytes], host: str, keep: str) -> str:
        """Serves a part from a process of its own, which ends with this worker; gives its address."""
        folder = Path(self._folder)
        for file, content in keys.items():
            path = folder / file
            path.touch(mode=0o600)
            path.write_bytes(content)
        path = Path(model)
        # tables and meshes lie beside the model, where this machine sees its folder
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path = folder / path.name
            path.write_text(text, encoding="utf-8")
        kept = Path(keep) if Path(keep).is_dir() else folder
        arguments = ["serve", str(path), "--listen", f"{host}:0", "--name", name, "--keep", str(kept / f"{name}.kept")]
        arguments += ["--token-file", str(folder / "token"), "--quiet", "--linger", "60"]
        if "server.key" in keys:
            arguments += ["--tls", str(folder)]
        line = [sys.executable, "-c", SERVE, *arguments]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self._process.stdout is not None and self._process.stderr is not None
        address = self._process.stdout.readline().strip()
        if not address:
            raise RuntimeError(self._process.stderr.read().strip() or "it did not start")
        return address

    def stop(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


#: Calls a method of a part and waits for what it gives.
Call = Callable[..., Any]


def _on_dask(cluster: Any) -> Callable[[], Call]:
    def made() -> Call:
        actor = cluster.submit(PartServer, actor=True, pure=False).result(timeout=PATIENCE)
        return lambda method, *arguments: getattr(actor, method)(*arguments).result(timeout=PATIENCE)

    return made


def _on_ray(ray: Any) -> Callable[[], Call]:
    kind = ray.remote(num_cpus=1)(PartServer)

    def made() -> Call:
        actor = kind.remote()
        return lambda method, *arguments: ray.get(getattr(actor, method).remote(*arguments), timeout=PATIENCE)

    return made


def _starter(cluster: Any) -> Callable[[], Call]:
    """What starts a part somewhere in a cluster."""
    if cluster == "ray" or getattr(cluster, "__name__", None) == "ray":
        return _on_ray(importlib.import_module("ray"))
    if callable(getattr(cluster, "submit", None)) and callable(getattr(cluster, "scheduler_info", None)):
        return _on_dask(cluster)
    found = type(cluster).__name__
    raise TypeError(f'`cluster` must be a client of Dask or "ray", found {found}')


def _program(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "bellcrank", *arguments], capture_output=True, text=True)


def _same_machine(node: str) -> bool:
    return node == platform.node()


class _Parts:
    """The parts of an assembly in a cluster."""

    def __init__(self, path: str, cluster: Any, shared: Path) -> None:
        self._start = _starter(cluster)
        self._models = {name: model for name, model in _bellcrank.parts_of(path) if model is not None}
        if not self._models:
            raise ModelError(f"no part of `{path}` has a model here: there is nothing to start in the cluster")
        self._shared = shared
        self._calls: dict[str, Call] = {}
        #: Where they are.
        self.addresses: dict[str, str] = {}
        #: The workers that hold them.
        self.processes: dict[str, int] = {}
        (shared / "kept").mkdir()

    def _keys(self, hosts: list[str]) -> dict[str, bytes]:
        folder = self._shared / "keys"
        arguments = ["keys", str(folder), *(word for host in hosts for word in ("--host", host))]
        made = _program(arguments)
        if made.returncode != 0:
            raise SimulationError(made.stderr.removeprefix("error: ").strip())
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def begin(self, names: list[str]) -> None:
        """Starts parts, all on this machine or reached through TLS."""
        for name in names:
            self._calls[name] = self._start()
        me = socket.gethostbyname(socket.gethostname())
        places = {name: self._calls[name]("place", me) for name in names}
        keys = self._keys(sorted({address for node, address, _ in places.values() if not _same_machine(node)}))
        for name, (node, address, process) in places.items():
            here = _same_machine(node)
            given = ["token"] if here else ["token", "ca.pem", "server.pem", "server.key"]
            model = self._models[name]
            text = Path(model).read_text(encoding="utf-8")
            host = "127.0.0.1" if here else address
            try:
                # two copies of a part's states must not meet in one folder
                files = {file: keys[file] for file in given}
                self.addresses[name] = self._calls[name](
                    "start", name, str(Path(model).absolute()), text, files, host, str(self._shared / "kept")
                )
            except RuntimeError as error:
                told = str(error).removeprefix("error: ")
                raise ModelError(f"part `{name}` does not start: {told}") from None
            self.processes[name] = process

    def lost(self) -> list[str]:
        """Those that nobody serves any more."""
        gone = []
        for name, url in self.addresses.items():
            at = urlsplit(url)
            try:
                socket.create_connection((at.hostname or "", at.port or 0), timeout=5).close()
            except OSError:
                gone.append(name)
        return gone

    def reach(self) -> list[str]:
        """The arguments of a coordinator."""
        keys = self._shared / "keys"
        where = [word for name, url in self.addresses.items() for word in ("--at", f"{name}={url}")]
        return [*where, "--token-file", str(keys / "token"), "--tls", str(keys)]

    def end(self) -> None:
        """Ends all."""
        for call in self._calls.values():
            with contextlib.suppress(Exception):  # its worker may be gone
                call("stop")


def glue(
    assembly: str | os.PathLike[str],
    *,
    cluster: Any = None,
    until: float | None = None,
    window: float | None = None,
    rtol: float | None = None,
    coupling: str | None = None,
    checkpoint: int = 100,
    timeout: float = 10.0,
    out: str | os.PathLike[str] | None = None,
    started: Callable[[dict[str, int]], object] | None = None,
) -> Glued:
    """Runs an assembly: parts with models and solvers of their own, joined at their ports (`bellcrank glue`).

    With a cluster, parts whose models are here are started in its workers and reached by Bellcrank's own protocol: with a token on this
    machine, through TLS with keys made for the run on others. A part whose worker dies is started again elsewhere, and the run
    goes on from its last checkpoint, or from its beginning where the states of the part died with the worker.

    assembly: the assembly file
    cluster: a client of Dask, or "ray" for the cluster that `ray.init` connected to; default: all parts in this process
    until: end of the run [s]
    window: length of the windows [s]; with `rtol`, of the first one
    rtol: relative tolerance; window lengths follow it
    coupling: "stabilized", "position", "windows", "relaxation", "gauss", "naive" or "explicit"
    checkpoint: windows between two checkpoints, with a cluster
    timeout: seconds of silence after which a part is lost
    out: the folder for the results; default: nothing stays
    started: is told which process holds each part, whenever parts were started
    """
    path = os.path.abspath(os.fspath(assembly))
    with contextlib.ExitStack() as stack:
        shared = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bellcrank-glue-")))
        folder = shared / "results" if out is None else Path(out).absolute()
        line = ["glue", path, "--json", "--out", str(folder), "--timeout", str(timeout)]
        given = {"until": until, "window": window, "rtol": rtol, "coupling": coupling}
        line += [word for key, value in given.items() if value is not None for word in (f"--{key}", str(value))]
        if cluster is None:
            return _told(_program(line), folder, {}, [])
        parts = _Parts(path, cluster, shared)
        stack.callback(parts.end)
        parts.begin(list(parts._models))
        line += ["--checkpoint", str(checkpoint)]
        lost: list[str] = []
        while True:
            if started is not None:
                started(dict(parts.processes))
            resumes = bool(lost) and (folder / "checkpoint").is_dir()
            done = _program([*line, *parts.reach(), *(["--resume"] if resumes else [])])
            if resumes and done.returncode != 0 and not parts.lost():
                # the states of a part died with its machine
                shutil.rmtree(folder / "checkpoint")
                done = _program([*line, *parts.reach()])
            gone = parts.lost() if done.returncode != 0 else []
            if not gone or len(lost) + len(gone) > ATTEMPTS * len(parts.addresses):
                return _told(done, folder, parts.addresses, lost)
            lost += gone
            parts.begin(gone)


def _told(done: subprocess.CompletedProcess[str], folder: Path, addresses: dict[str, str], lost: list[str]) -> Glued:
    if done.returncode != 0:
        text = done.stderr.strip().removeprefix("error: ")
        raise (ModelError if done.returncode == 2 else SimulationError)(text)
    return Glued(json.loads(done.stdout), open_results(folder), addresses, tuple(lost))
