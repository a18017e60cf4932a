"""Parallel map over child processes that need no ``__main__`` guard in a caller's script and
inherit no threads."""

import gc
import io
import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import IO, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

MIN_TASKS_PER_WORKER = 24  # fewer take less time than a worker's import of pandas
CHUNK = 8
CHUNKS_AHEAD = 2  # per worker: keeps all of them busy, bounds the memory
SCANNED_AFTER = 50_000
"""New objects between two collections of garbage. Rows and pages have few cycles; to collect after
every 700, as Python 3.11 does, costs a twentieth of the time and saves no memory."""
COMMAND = "from reporter.data.workers import serve; serve()"


@contextmanager
def seldom_scanned() -> Iterator[None]:
    """Collects garbage rarely in the block, and never among the objects from before it, which are
    modules: to scan those was an eighth of the cost of rendering again."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(SCANNED_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def map_tasks(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """As :meth:`Workers.map`, with processes of its own, which end with the last result."""
    with Workers() as workers:
        yield from workers.map(function, tasks)


class Workers:
    """A process per core for several calls of :meth:`map`, ended with the `with` block: importing
    pandas takes one as long as twenty bundles."""

    def __init__(self) -> None:
        self._cores = len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self._cores)
        self._children: list[subprocess.Popen[bytes]] = []
        self._of_thread = threading.local()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        for child in self._children:
            child.communicate()  # closes its pipes and waits for it

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """``function`` of each task, in order, by one process per core; few tasks are done in this
        process.

        Function, tasks and results must be picklable. An exception of a task is raised here. Tasks
        are consumed lazily, a few chunks ahead.
        """
        remaining = iter(tasks)
        first = list(itertools.islice(remaining, self._cores * MIN_TASKS_PER_WORKER))
        all_tasks = itertools.chain(first, remaining)
        if self._cores < 2 or len(first) < 2 * MIN_TASKS_PER_WORKER:
            yield from map(function, all_tasks)
            return
        pending: deque[Future[list[Result]]] = deque()
        try:
            while chunk := list(itertools.islice(all_tasks, CHUNK)):
                pending.append(self._threads.submit(self._run, function, chunk))
                if len(pending) > CHUNKS_AHEAD * self._cores:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        finally:
            for chunk_of_results in pending:
                chunk_of_results.cancel()

    def _run(self, function: Callable[[Task], Result], chunk: list[Task]) -> list[Result]:
        if not hasattr(self._of_thread, "child"):
            self._of_thread.child = _start()
            self._children.append(self._of_thread.child)
        child = self._of_thread.child
        try:
            pickle.dump((function, chunk), child.stdin)
            child.stdin.flush()
            results, error = pickle.load(child.stdout)  # noqa: S301  the child wrote it
        except (EOFError, BrokenPipeError):
            raise RuntimeError(
                "a worker process ended before it returned its results, perhaps for lack of memory;"
                " free some memory and try again"
            ) from None
        if error is not None:
            raise error
        return list(results)


def _start() -> "subprocess.Popen[bytes]":
    child_environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OMP_NUM_THREADS": "1",
        "ARROW_IO_THREADS": "1",
    }
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment,
    )


def serve() -> None:
    """Main loop of a worker process: chunks of tasks from standard input, results to standard
    output, until the input ends."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with the results
    source: IO[bytes] = io.BufferedReader(io.FileIO(0, closefd=False))
    modules = 0
    gc.set_threshold(SCANNED_AFTER)
    while True:
        try:
            function, chunk = pickle.load(source)  # noqa: S301  the parent wrote it
        except EOFError:
            return
        result: tuple[list[object], BaseException | None]
        try:
            result = [function(task) for task in chunk], None
        except Exception as error:  # noqa: BLE001  the parent raises it
            result = [], error
        pickle.dump(result, output)
        output.flush()
        if len(sys.modules) > modules:
            modules = len(sys.modules)
            gc.freeze()  # they stay, and are not scanned for garbage again
