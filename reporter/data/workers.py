"""Work on many things by every core: plain child processes, which need no ``__main__`` guard in a reader's script and inherit no threads."""

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
from typing import IO, TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")

WORTH_A_PROCESS = 24  # tasks; a worker imports pandas first, which takes as long
CHUNK = 8
AHEAD = 2  # chunks a worker that wait for it: none stands idle, and no more is held in memory
COMMAND = "from reporter.data.workers import serve; serve()"


def map_tasks(function: Callable[[Task], Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
    """``function`` of each task, in their order, by as many processes as there are cores; few tasks are done in this one.

    Function, tasks and answers must be picklable. What a task raises is raised here. Tasks are taken as they are needed, a few chunks ahead.
    """
    coming = iter(tasks)
    cores = len(os.sched_getaffinity(0))
    first = list(itertools.islice(coming, cores * WORTH_A_PROCESS))
    workers = min(cores, len(first) // WORTH_A_PROCESS)
    every = itertools.chain(first, coming)
    if workers < 2:
        yield from map(function, every)
        return
    children: list[subprocess.Popen[bytes]] = []
    lock, own = threading.Lock(), threading.local()

    def ask(chunk: list[Task]) -> list[Answer]:
        if not hasattr(own, "child"):
            own.child = _start()
            with lock:
                children.append(own.child)
        return _ask(own.child, function, chunk)

    with ThreadPoolExecutor(workers) as threads:
        asked: deque[Future[list[Answer]]] = deque()
        try:
            while chunk := list(itertools.islice(every, CHUNK)):
                asked.append(threads.submit(ask, chunk))
                if len(asked) > AHEAD * workers:
                    yield from asked.popleft().result()
            while asked:
                yield from asked.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)
            for child in children:
                _end(child)


def _start() -> "subprocess.Popen[bytes]":
    child_environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment)


def _ask(child: "subprocess.Popen[bytes]", function: Callable[[Task], Answer], chunk: list[Task]) -> list[Answer]:
    assert child.stdin is not None and child.stdout is not None
    try:
        pickle.dump((function, chunk), child.stdin)
        child.stdin.flush()
        answers, error = pickle.load(child.stdout)  # noqa: S301  a child of this process wrote it
    except (EOFError, BrokenPipeError):
        raise RuntimeError("a worker process ended before its answer; out of memory?") from None
    if error is not None:
        raise error
    return list(answers)


def _end(child: "subprocess.Popen[bytes]") -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()
    child.wait()


def serve() -> None:
    """A worker's life: chunks of tasks from standard input, answers to standard output, until the input ends."""
    answers_to = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand among the answers
    tasks_from: IO[bytes] = io.BufferedReader(io.FileIO(0, closefd=False))
    while True:
        try:
            function, chunk = pickle.load(tasks_from)  # noqa: S301  the parent wrote it
        except EOFError:
            return
        answer: tuple[list[object], BaseException | None]
        try:
            answer = [function(task) for task in chunk], None
        except Exception as error:  # noqa: BLE001  the parent raises it
            answer = [], error
        pickle.dump(answer, answers_to)
        answers_to.flush()
