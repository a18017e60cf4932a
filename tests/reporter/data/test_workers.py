"""Worker processes: order of results, errors, no processes left behind."""

import os
import subprocess
import sys

import pytest

from reporter.data import workers
from reporter.data.workers import map_tasks
from suite.errors import SuiteError
from suite.files.paths import repository_root


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "MIN_TASKS_PER_WORKER", 1)
    monkeypatch.setattr(workers, "CHUNK", 2)
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda _: {0, 1})


@pytest.mark.usefixtures("two_workers")
def test_results_have_the_order_of_the_tasks() -> None:
    assert list(map_tasks(abs, [-1, 2, -3, 4, -5])) == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("two_workers")
def test_worker_processes_end_with_the_work() -> None:
    pids = set(map_tasks(_pid, [0, 1, 2, 3]))
    assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.usefixtures("two_workers")
def test_tasks_are_consumed_lazily() -> None:
    taken: list[int] = []
    results = map_tasks(abs, (taken.append(number) or number for number in range(500)))
    assert next(results) == 0 and len(taken) < 50
    assert list(results) == list(range(1, 500))


@pytest.mark.usefixtures("two_workers")
def test_an_error_of_a_task_is_raised_here() -> None:
    with pytest.raises(SuiteError, match="no such thing"):
        list(map_tasks(_refuse, [1, 2, 3]))


@pytest.mark.usefixtures("two_workers")
def test_a_worker_that_dies_is_an_error_not_a_hang() -> None:
    with pytest.raises(RuntimeError, match="worker process ended"):
        list(map_tasks(os._exit, [1, 1, 1, 1]))


def test_a_script_without_a_main_guard_can_use_it() -> None:
    """A notebook and a plain script have none."""
    script = (
        "from reporter.data import workers; workers.MIN_TASKS_PER_WORKER = 1;"
        " print(list(workers.map_tasks(abs, [-1, -2, -3])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=repository_root(),
        timeout=60,
    )
    assert done.stdout == "[1, 2, 3]\n", done.stderr


def _pid(_: int) -> int:
    print("output that is not a result")
    return os.getpid()


def _refuse(_: int) -> None:
    raise SuiteError("no such thing")
