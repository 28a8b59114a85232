"""Rows of a study on executors of others: process pools, Dask, Ray. Whoever asks for rows alone writes them down."""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from typing import Any

from . import _bellcrank
from ._errors import BellcrankError

#: What a study is in another process: the parts of its model, and its text.
Spec = tuple[tuple[Any, ...], str]

#: Chunks that wait at an executor, for each of its workers: enough to keep them busy, few enough to keep memory flat.
AHEAD = 3
#: A chunk that was lost with its worker is computed this many times.
ATTEMPTS = 3
#: How the clusters name a worker that died.
LOST = {
    "KilledWorker",
    "CommClosedError",
    "WorkerCrashedError",
    "RayActorError",
    "ActorDiedError",
    "NodeDiedError",
    "OwnerDiedError",
    "ObjectLostError",
    "OutOfMemoryError",
}

#: The studies that this worker has compiled; the last one is enough.
_known: dict[tuple[Any, ...], _bellcrank.Study] = {}


@functools.cache
def _end_with_parent(process: int) -> None:
    """A worker of a pool whose coordinator was killed would wait for ever: once per process, a thread looks for that."""
    if multiprocessing.parent_process() is None:
        return
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=look, name="bellcrank: parent", daemon=True).start()


def compute(spec: Spec, indices: list[int], folder: str) -> bytes:
    """Computes rows of a study in a worker, which reads the model once."""
    _end_with_parent(os.getpid())
    (name, text, built, overrides, laws), study = spec
    key = (name, text, built, tuple(overrides), study)
    if key not in _known:
        _known.clear()
        _known[key] = _bellcrank.Study(_bellcrank.Description.of_parts(name, text, built, overrides, laws), study)
    return _known[key].compute(indices, folder)


class Chunk:
    """Rows that are computed together, and how often they were lost."""

    def __init__(self, indices: list[int], lost: int = 0) -> None:
        self.indices = indices
        self.lost = lost


def run(
    study: _bellcrank.Study,
    spec: Spec,
    executor: Executor,
    folder: str,
    resume: bool,
    jobs: int | None,
    chunk: int | None,
    tell: Callable[[int, int], object] | None,
) -> None:
    """Computes all rows that are missing in a folder, and makes the table."""
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"`executor` must be one of concurrent.futures, found {type(executor).__name__}")
    workers = jobs or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    ledger = study.ledger(folder, resume)
    pending = ledger.pending()
    size = chunk or max(1, min(64, len(pending) // (8 * workers)))
    chunks = deque(Chunk(pending[k : k + size]) for k in range(0, len(pending), size))
    with Pool(executor, spec, folder) as pool:
        drive(pool, ledger, chunks, AHEAD * workers, lambda done: tell and tell(done, study.rows()))
    ledger.finish(len(pending))


class Pool:
    """An executor, or the process pools that take its place when one of its processes dies."""

    def __init__(self, executor: Executor, spec: Spec, folder: str) -> None:
        self._executor = executor
        self._own: ProcessPoolExecutor | None = None
        self._spec, self._folder = spec, folder

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._own is not None:
            self._own.shutdown(wait=True, cancel_futures=True)

    def submit(self, chunk: Chunk) -> Future[bytes]:
        """Hands rows to a worker."""
        return (self._own or self._executor).submit(compute, self._spec, chunk.indices, self._folder)

    def mend(self) -> bool:
        """Puts a new process pool in the place of one that broke; whether that can be done."""
        broken: Any = self._own or self._executor
        if not isinstance(broken, ProcessPoolExecutor):
            return False
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
        settings: Any = self._executor
        self._own = ProcessPoolExecutor(
            max_workers=settings._max_workers,
            mp_context=settings._mp_context,
            initializer=settings._initializer,
            initargs=settings._initargs,
        )
        return True


def drive(
    pool: Pool, ledger: _bellcrank.Ledger, chunks: deque[Chunk], ahead: int, tell: Callable[[int], object]
) -> None:
    """Hands out chunks until none is left; those that were lost with a worker one at a time, so that the culprit is found."""
    suspects: deque[Chunk] = deque()
    running: dict[Future[bytes], Chunk] = {}
    try:
        while chunks or suspects or running:
            if suspects and not running:
                _hand_out(pool, suspects, running)
            while chunks and not suspects and len(running) < ahead:
                if not _hand_out(pool, chunks, running):
                    break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            alone = len(running) == 1
            broken = False
            for future in done:
                chunk = running.pop(future)
                try:
                    tell(ledger.push(future.result()))
                except (BrokenExecutor, CancelledError, ConnectionError) as error:
                    broken = True
                    _suspect(ledger, suspects, chunk, alone, error)
                except BellcrankError:
                    raise
                except ImportError as error:
                    help = "install the same version of bellcrank where the executor's workers are"
                    raise RuntimeError(
                        f"the workers of the executor cannot import it: {error}\nhelp: {help}"
                    ) from error
                except Exception as error:
                    if type(error).__name__ not in LOST:
                        raise
                    _suspect(ledger, suspects, chunk, alone, error)
            if broken:
                # what else was on its way is lost with the pool
                for chunk in running.values():
                    _suspect(ledger, suspects, chunk, False, None)
                running.clear()
                if not pool.mend():
                    raise RuntimeError(
                        "the executor does not take rows any more; resume=True goes on with those there are"
                    )
    finally:
        for future in running:
            future.cancel()


def _hand_out(pool: Pool, chunks: deque[Chunk], running: dict[Future[bytes], Chunk]) -> bool:
    chunk = chunks.popleft()
    try:
        running[pool.submit(chunk)] = chunk
    except BrokenExecutor:
        # nobody has seen the chunk: it is handed out again
        chunks.appendleft(chunk)
        if running:
            return False  # what is on its way tells
        if not pool.mend():
            raise
        running[pool.submit(chunks.popleft())] = chunk
    return True


def _suspect(
    ledger: _bellcrank.Ledger, suspects: deque[Chunk], chunk: Chunk, alone: bool, error: BaseException | None
) -> None:
    """A chunk whose worker died: it is computed again, and where it was alone, in halves; a row that kills again is a failure."""
    if not alone:
        suspects.append(chunk)
        return
    chunk.lost += 1
    if chunk.lost < ATTEMPTS:
        suspects.append(chunk)
    elif len(chunk.indices) > 1:
        middle = len(chunk.indices) // 2
        suspects.extend(Chunk(part) for part in (chunk.indices[:middle], chunk.indices[middle:]))
    else:
        ledger.fail(chunk.indices[0], f"the worker died while it computed this row: {type(error).__name__}")


class RayExecutor(Executor):
    """Tasks of Ray as an executor of `concurrent.futures`; Ray computes a task again when its worker dies."""

    def __init__(self, **options: Any) -> None:
        ray: Any = importlib.import_module("ray")
        self._call = ray.remote(**{"max_retries": ATTEMPTS, **options})(_called)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Starts a task."""
        future: Future[Any] = self._call.remote(fn, args, kwargs).future()
        return future


def _called(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)
