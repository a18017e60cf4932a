"""Which process the meters of a run on several nodes are attached to, and when its ranks start."""

from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.execution import training
from suite.execution.training import Training
from suite.launch.placement import Placement

LAUNCHER, DAEMON, RANKS = 5, 7, {0: 10, 1: 11, 2: 12}
"""Pids of srun or mpirun, of the parent of the first node's ranks, and of the ranks, by rank."""


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pids that the recorder was started with; nothing of the machine is touched."""
    for name in ("neighbour_trainings", "release_process"):
        monkeypatch.setattr(training, name, lambda *_: nullcontext())
    monkeypatch.setattr(training, "parent_of", lambda root, pid: {RANKS[0]: DAEMON}[pid])
    return []


def training_by(agent: str | None, attached: list[int], released: list[int]) -> Training:
    recorder: Any = SimpleNamespace(
        start=lambda process: attached.append(process.pid), wait_until_attached=lambda: None
    )
    monitor: Any = SimpleNamespace(
        start=lambda: None,
        polled=lambda: None,
        pids=lambda: RANKS,
        release=released.extend,
        failure=lambda is_running: None,
    )
    placement = Placement(("pi1", "pi2"), 2, agent)
    request = SimpleNamespace(placement=placement, data_directory=Path("/data"), data_files=())
    run: Any = SimpleNamespace(request=request, environment=None)
    process: Any = SimpleNamespace(pid=LAUNCHER)
    return Training(
        run, recorder, process, monitor, lambda pid: None, ExitStack(), lambda: None, None
    )


def test_the_meters_are_attached_to_mpirun_before_it_starts_the_ranks(attached: list[int]) -> None:
    begun = training_by(None, attached, [])
    begun.start()
    begun.attach_to_tasks(RANKS)
    assert attached == [LAUNCHER]


def test_under_slurm_the_meters_are_attached_to_the_parent_of_this_nodes_ranks_which_wait(
    attached: list[int],
) -> None:
    released: list[int] = []
    begun = training_by("srun", attached, released)
    monitor: Any = begun.monitor
    remote: Any = SimpleNamespace(
        tick=lambda pids: None,
        take_notices=lambda: (),
        attached_ranks=lambda: (0, 1, 2),
        is_running=None,
    )
    begun.start()
    begun.attach_to_tasks({0: RANKS[0], 2: RANKS[2]})
    assert attached == []
    for waiting in ([2], [2, 0, 1, 2]):
        training._failed_rank(monitor, remote, begun.unmetered, lambda event: None)
        assert released == waiting
        begun.attach_to_tasks(RANKS)
        assert attached == [DAEMON]
