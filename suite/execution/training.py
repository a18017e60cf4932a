"""Trains: starts the implementation at its gate, attaches the meters, lets it go and follows its
log to the end."""

import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from suite.bundle import layout
from suite.bundle.log import LogEvent, parse_line
from suite.errors import SuiteError
from suite.execution.events import LogLine, Notice, Progress, Waiting
from suite.execution.heartbeat import HeartbeatMonitor
from suite.execution.implementation import neighbour_trainings, start_implementation
from suite.execution.interrupts import interrupts_deferred
from suite.execution.preparation import Preparation
from suite.execution.recorder import Recorder
from suite.execution.remote_recorders import RemoteRecorders
from suite.files.appended import lines_after
from suite.launch.first_records import begin_log
from suite.launch.process import release_process, terminate_session
from suite.launch.slurm import SRUN
from suite.launch.step_counter import step_counter
from suite.machine.limits import process_limits
from suite.machine.process_tree import parent_of
from suite.machine.procfs import kills_for_memory
from suite.meters.meter import MeteredProcess
from suite.meters.sources.page_cache import PageCacheMeter

POLL_S = 0.2
EPOCH_ENDS = ("epoch_start", "epoch_stop")


@dataclass
class Training:
    """The implementation of a run, within :func:`at_gate`. ``monitor`` is None for one rank.

    ``unmetered`` are this node's ranks, under Slurm, until the meters are attached to them.

    Of its end: ``problem`` is why it was terminated, if a rank failed; ``interrupted`` by whom, if
    it was. ``kills_before`` are the kernel's for lack of memory, as it began.
    """

    run: Preparation
    recorder: Recorder
    process: "subprocess.Popen[bytes]"
    monitor: HeartbeatMonitor | None
    limit: Callable[[int], None]
    beside: ExitStack
    deliver_interrupts: Callable[[], None]
    kills_before: int | None
    released_ns: int | None = None
    problem: str | None = None
    interrupted: str | None = None
    unmetered: frozenset[int] = frozenset()

    def start(self) -> None:
        """Let the implementation go, once limits, meters and neighbours are there."""
        request, pid = self.run.request, self.process.pid
        self.limit(pid)
        if self.monitor:
            self.monitor.start()
        if self.monitor and request.placement.hosts and request.placement.agent == SRUN:
            self.unmetered = frozenset(range(request.placement.ranks_per_node))
        else:
            self.recorder.start(MeteredProcess(pid, request.data_directory, request.data_files))
        self.deliver_interrupts()  # not before, since what has half started cannot be stopped
        if not self.unmetered:
            self.recorder.wait_until_attached()
        if self.monitor:
            self.monitor.polled()
        self.beside.enter_context(neighbour_trainings(request, self.run.environment))
        self.released_ns = time.monotonic_ns()
        release_process(self.process)

    def follow(self, remote: RemoteRecorders, progress: Progress) -> None:
        """Report the log's events until the implementation exits or a rank fails; at both ends of
        an epoch, the page cache is read too. Raises SuiteError when the run directory is
        removed."""
        path = self.run.records.path
        follower = LogFollower(path / contract.log_name(0))
        while True:
            has_ended = self.process.poll() is not None
            refuse_removed(path)
            for event in follower.new_events():
                progress(LogLine(event))
                if event.key in EPOCH_ENDS:
                    self.recorder.read_soon(PageCacheMeter.name)
            if has_ended:
                break
            if self.monitor:
                self.problem = _failed_rank(self.monitor, remote, self.unmetered, progress)
                if self.problem is not None:
                    break
                self.attach_to_tasks(self.monitor.pids())
            progress(Waiting())
            time.sleep(POLL_S)
        if self.monitor:
            self.monitor.polled()  # the job may have ended while the harness was stopped

    def attach_to_tasks(self, pids: Mapping[int, int]) -> None:
        """Under Slurm, attach the meters when all ranks of this node wait for them (``pids``, by
        rank): they are children of Slurm's daemon, not of srun."""
        if not self.unmetered or not pids.keys() >= self.unmetered:
            return
        pid = pids[min(self.unmetered)]
        request, pid = self.run.request, parent_of(Path("/"), pid) or pid
        metered = MeteredProcess(pid, request.data_directory, request.data_files)
        with interrupts_deferred():  # what has half started cannot be stopped
            self.recorder.start(metered)
        self.recorder.wait_until_attached()
        self.unmetered = frozenset()

    def terminate(self) -> None:
        """End the implementation, if it still runs."""
        if self.process.poll() is None:
            terminate_session(self.process)


@contextmanager
def at_gate(run: Preparation, recorder: Recorder, lock: int) -> Iterator[Training]:
    """The implementation, which waits at its gate and inherits the file ``lock``. Its limits,
    heartbeats and neighbours go with the block; interrupts wait until the meters are there."""
    request, path, monitor = run.request, run.records.path, None
    placement = request.placement
    # the clock of another machine, where rank 0 may run, is another one
    if not placement.hosts:
        begin_log(request.training)
    kills = kills_for_memory()
    with (
        process_limits(request.limits) as limit,
        ExitStack() as beside,
        interrupts_deferred() as deliver_interrupts,
    ):
        if request.ranks > 1:
            monitor = HeartbeatMonitor(
                request.ranks, placement.hosts, silence_s=placement.silence_s
            )
            beside.callback(monitor.close)
        variables = {
            **beside.enter_context(step_counter()),
            **(monitor.variables if monitor else {}),
        }
        process = start_implementation(
            request, run.environment, path / layout.OUTPUT, variables, (lock,)
        )
        yield Training(run, recorder, process, monitor, limit, beside, deliver_interrupts, kills)


def _failed_rank(
    monitor: HeartbeatMonitor,
    remote: RemoteRecorders,
    unmetered: Collection[int],
    progress: Progress,
) -> str | None:
    """Exchange messages with the remote recorders, and let ranks start whose node's meters are
    attached; returns which rank failed, or None."""
    remote.tick(monitor.pids())
    for sentence in remote.take_notices():
        progress(Notice(sentence))
    monitor.polled()
    monitor.release(rank for rank in remote.attached_ranks() if rank not in unmetered)
    return monitor.failure(remote.is_running)


def refuse_removed(path: Path) -> None:
    """Raise SuiteError when the directory of a run that goes on is no longer there, or no longer
    has its record."""
    if not (path / layout.RUN).is_file():
        raise SuiteError(
            f"The run directory {path} was removed or emptied while the run went on, so the"
            " harness ended the run; none of its records can be read. Perhaps a cleaner of"
            " temporary files or another job removed the directory; run again with an --output"
            " elsewhere."
        )


class LogFollower:
    """Reads the events that are appended to a log; an incomplete line is read with the next
    call."""

    def __init__(self, path: Path) -> None:
        self._path, self._position, self._line = path, 0, 0

    def new_events(self) -> list[LogEvent]:
        """Events logged since the last call; none while the file does not exist."""
        whole, self._position = lines_after(self._path, self._position)
        return [event for event in map(self._parse, whole.splitlines()) if event is not None]

    def _parse(self, raw: bytes) -> LogEvent | None:
        self._line += 1
        return parse_line(self._line, raw.decode("utf-8", errors="replace"))
