"""Workers anywhere: batches of replications for any executor, and their answers."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import time
from collections import OrderedDict
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from wormcast import _native
from wormcast._algorithm import Algorithm, in_use
from wormcast._native import WorkersError


@dataclass(frozen=True)
class Description:
    """An experiment as workers are told of it."""

    path: str
    """Its file, from the root: files that it names are relative to this one, wherever a worker runs."""
    text: str
    settings: tuple[str, ...]
    quick: bool
    variation: str | None
    algorithms: tuple[Algorithm, ...]

    def made(self) -> _native.Experiment:
        """The experiment, with its algorithms known by their names."""
        with in_use(self.algorithms):
            return _native.Experiment(self.path, self.text, list(self.settings), self.quick, self.variation)

    @property
    def key(self) -> tuple[object, ...]:
        """What tells experiments apart in a worker."""
        own = tuple((algorithm.name, algorithm.revision) for algorithm in self.algorithms)
        return (self.path, self.text, self.settings, self.quick, self.variation, own)


@dataclass(frozen=True)
class Task:
    """Replications of a point, with consecutive numbers."""

    position: int
    window: tuple[int, int | None]
    first: int
    count: int
    config_hash: str
    program: tuple[str, str, int]


#: The experiments that this worker has computed last, with their networks and algorithms.
_runners: OrderedDict[tuple[object, ...], _native.Runner] = OrderedDict()
_KEPT = 4


def compute(description: Description, task: Task) -> bytes:
    """Computes a task, in a worker. Returns an answer that the coordinator checks."""
    where = f"a worker ({socket.gethostname()}, process {os.getpid()})"
    if task.program != _native.version():
        raise WorkersError(f"{where} runs {_named(_native.version())}, and the coordinator {_named(task.program)}")
    for own in description.algorithms:
        # A module that it has imported may be older than the one of the coordinator.
        if own.has_changed():
            raise WorkersError(
                f"{where} has other code of `{own.name}` than the coordinator: start it again, or give the algorithm a `revision` if its code cannot be told"
            )
    key = description.key
    asked = (task.position, task.window, task.first, task.count, task.config_hash)
    with in_use(description.algorithms, is_worker=True):
        runner = _runners.pop(key, None)
        answer = None
        if runner is not None:
            # Files that the experiment names may have changed since.
            with contextlib.suppress(_native.RunError, _native.InputError):
                answer = runner.compute(*asked)
        if runner is None or answer is None:
            runner = _native.Runner(description.made())
            try:
                answer = runner.compute(*asked)
            except _native.RunError as problem:
                raise _native.RunError(f"{where}: {problem}") from problem
        _runners[key] = runner
        while len(_runners) > _KEPT:
            _runners.popitem(last=False)
    return answer


def _named(program: tuple[str, str, int]) -> str:
    version, revision, model = program
    return f"wormcast {version}{f', commit {revision}' if revision else ''}, model {model}"


class Pool:
    """Hands batches to an executor. The native sweep calls :meth:`capacity`, :meth:`start` and :meth:`finished`."""

    #: How often a batch is handed out again because the worker that had it is gone.
    RETRIES = 10
    #: Seconds between two looks at how many workers there are.
    LOOK = 2.0

    def __init__(self, executor: Any, description: Description, parallel: int | None, batch_seconds: float) -> None:
        if not batch_seconds > 0:
            raise _native.InputError("batch_seconds: expected a number above 0")
        # A client of Dask is made an executor like others.
        if isinstance(executor, type):
            raise _native.InputError(f"executor: found the class {executor.__name__}; expected one made of it: `{executor.__name__}()`")
        self._client = executor if hasattr(executor, "get_executor") else None
        if self._client is not None and getattr(self._client, "status", None) in ("closing", "closed"):
            raise WorkersError("the executor takes no more batches: the client is closed")
        self._executor = executor if self._client is None else self._client.get_executor(pure=False)
        if not hasattr(self._executor, "submit"):
            raise _native.InputError(
                f"executor: found {executor!r}; expected an executor of `concurrent.futures`, or a client of Dask"
            )
        self._description = description
        self._parallel = parallel
        #: Seconds that a batch should take.
        self.batch_seconds = batch_seconds
        self._program = _native.version()
        self._done: queue.SimpleQueue[tuple[int, Future[bytes]]] = queue.SimpleQueue()
        self._tasks: dict[int, tuple[Task, int]] = {}
        self._futures: dict[int, Future[bytes]] = {}
        self._slots = 1
        self._looked = float("-inf")

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for future in list(self._futures.values()):
            future.cancel()

    def capacity(self) -> int:
        """How many batches may be under way."""
        if self._parallel is None and time.monotonic() - self._looked > self.LOOK:
            self._slots = max(1, 2 * self._workers())
            self._looked = time.monotonic()
        return self._parallel or self._slots

    def _workers(self) -> int:
        if self._client is not None:
            return int(sum(self._client.nthreads().values()))
        return int(getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)

    def start(
        self, ticket: int, position: int, window: tuple[int, int | None], first: int, count: int, config_hash: str
    ) -> None:
        """Hands a batch to the executor."""
        self._submit(ticket, Task(position, window, first, count, config_hash, self._program), 0)

    def _submit(self, ticket: int, task: Task, tries: int) -> None:
        self._tasks[ticket] = (task, tries)
        try:
            future: Future[bytes] = self._executor.submit(compute, self._description, task)
        except (BrokenExecutor, RuntimeError) as error:
            raise WorkersError(f"the executor takes no more batches: {error}") from error
        self._futures[ticket] = future
        future.add_done_callback(lambda done: self._done.put((ticket, done)))

    def finished(self) -> tuple[int, bytes]:
        """Waits for a batch, and returns its answer. A batch whose worker is gone is handed out again."""
        while True:
            try:
                # Signals are seen between two waits.
                ticket, future = self._done.get(timeout=0.2)
            except queue.Empty:
                continue
            task, tries = self._tasks[ticket]
            self._futures.pop(ticket, None)
            try:
                answer = future.result()
            except BrokenExecutor as error:
                raise WorkersError(f"the executor is broken, as a worker ended: {error}") from error
            except (WorkersError, _native.InputError, _native.RunError):
                raise
            except (Exception, CancelledError) as error:
                if not _is_gone(error):
                    raise WorkersError(f"a worker failed: {type(error).__name__}: {error}") from error
                if tries >= self.RETRIES:
                    what = f"replications {task.first} to {task.first + task.count - 1} of point {task.position + 1}"
                    raise WorkersError(f"the workers that computed {what} ended {tries + 1} times: {error}") from error
                self._submit(ticket, task, tries + 1)
                continue
            del self._tasks[ticket]
            if not isinstance(answer, bytes):
                raise WorkersError(f"a worker's answer is refused: it is {type(answer).__name__}, not bytes")
            return ticket, answer


def _is_gone(error: BaseException) -> bool:
    """Whether the worker is gone, and not its work that failed. Dask says so when several in a row are."""
    return type(error).__name__ in {"KilledWorker", "CancelledError", "FutureCancelledError", "WorkerLostError"}
