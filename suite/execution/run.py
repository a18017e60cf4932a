"""One run, from a resolved request to a closed bundle."""

import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from reference_impls import contract
from reference_impls.definitions import log_facts
from suite import __version__
from suite.bundle import layout
from suite.bundle.data_record import DATA, write_data_record
from suite.bundle.lifetime import Lifetime
from suite.bundle.log import LogEvent
from suite.bundle.manifest import refuse_inside_run
from suite.bundle.reader import Bundle, RunRecord
from suite.catalog.rounds import current_round
from suite.catalog.seeds import describe_implementation
from suite.errors import InterruptedAfterEnd, SuiteError
from suite.execution.closing import close_bundle, disk_errors, refuse_removed, training_ended
from suite.execution.data_digests import digest_data
from suite.execution.failure import describe_failure
from suite.execution.heartbeat import Heartbeat, HeartbeatMonitor
from suite.execution.implementation import start_implementation
from suite.execution.interrupts import deferred, hold_back
from suite.execution.neighbours import neighbours
from suite.execution.power_pulse import Pulse, pulse
from suite.execution.progress import LogFollower
from suite.execution.recorder import MeterRecord, Recorder
from suite.execution.records import RunRecords, amend_system, records_of
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import RunRequest
from suite.execution.resume import refuse_other_data
from suite.execution.run_lock import RunLock, is_held
from suite.execution.witnessing import ask_receipt, ask_stamp
from suite.files.json_file import write_json
from suite.files.typed import typed
from suite.launch.environments import Environment
from suite.launch.gate import release
from suite.launch.isolation import describe_isolation
from suite.launch.process import terminate, wait
from suite.machine import system
from suite.machine.limits import limited
from suite.machine.memory_kills import kills_for_memory, kills_since
from suite.machine.page_cache import CacheState, prepare_page_cache
from suite.machine.power_mode import PowerSettings, changed_settings, read_power_settings
from suite.machine.process_tree import is_running
from suite.meters.meter import MeteredProcess
from suite.meters.sources.page_cache import PageCacheMeter
from suite.witness.record import WitnessRecord

POLL_S = 0.2
RECORDED_LIBRARIES = 200
NOT_CLOSED = "the run was finished, its bundle is not closed; `{command}` closes it"
EPOCH_ENDS = ("epoch_start", "epoch_stop")
BEFORE_RECORD = frozenset(
    (layout.BASELOAD_RAW, DATA, layout.LOCK, layout.PRIVATE, layout.WITNESS, layout.RUN)
)
"""Files that a run writes before its record is there; a leading dot is that of a file that is being
written."""


class RunObserver(Protocol):
    """Receives a run's progress; called by the harness between polls, never by the
    implementation."""

    def event(self, event: LogEvent) -> None:
        """A new event of the implementation's log."""

    def tick(self) -> None:
        """Called at every poll, five times a second."""

    def notice(self, sentence: str) -> None:
        """Something that the person at the terminal should know; the run goes on."""

    def closing_goes_on(self) -> None:
        """The user interrupted a run whose training had ended; its bundle is closed first. Called
        by a signal handler."""


@dataclass(frozen=True)
class Recorders:
    """The recorders of a run's nodes, and this node's page cache and power settings before the
    run."""

    local: Recorder
    remote: RemoteRecorders
    cache: CacheState
    witness: WitnessRecord | None
    power: PowerSettings
    records: RunRecords


@dataclass(frozen=True)
class RunResult:
    """A closed bundle: where it is and how the run ended; ``status`` as in run.json."""

    path: Path
    status: str
    message: str | None


@dataclass(frozen=True)
class Invocation:
    """How a run was begun: the command line, the ids of rules that its request breaks and the user
    accepted (`--allow-invalid`), and since when the harness works for it.
    """

    command: tuple[str, ...]
    findings_allowed: tuple[str, ...]
    lifetime: Lifetime


def new_run_id(workload: str, framework: str, clock_s: float) -> str:
    """A unique name for a run; names sort by time."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock_s))
    return f"{workload}-{framework}-{stamp}-{secrets.token_hex(3)}"


def run(
    request: RunRequest,
    environment: Environment,
    invocation: Invocation,
    recorder: Recorder,
    observer: RunObserver,
) -> RunResult:
    """Run the implementation into ``request.training.output_directory`` and close the bundle there.

    The directory must exist and be empty. A failed or interrupted run leaves an unsealed bundle
    from which every finished epoch can be read. Raises SuiteError when the bundle cannot be
    written, and KeyboardInterrupt after the final record is written.

    An interrupt after the training's end is held back until the bundle is closed; the second one is
    not, and `suite finish` closes the bundle.
    """
    path = Path(request.training.output_directory)
    with disk_errors(path), RemoteRecorders(request, environment.interpreter, path) as remote:
        write_data_record(
            path, digest_data(request.training.data.name, Path(request.training.data.directory))
        )
        if request.resume is not None:
            refuse_other_data(path, request.resume.run)
        request, cache = _with_page_cache(request, remote)
        with (
            RunLock(path) as lock,
            hold_back(partial(training_ended, path), observer.closing_goes_on) as interrupt,
        ):
            records = records_of(request)
            records.redactor.write(path / layout.PRIVATE)
            pulses = [pulse()] if request.power_pulse else []
            witness = ask_receipt(request, records)
            record = _open_bundle(request, environment, invocation, records)
            recorders = Recorders(recorder, remote, cache, witness, read_power_settings(), records)
            try:
                record = _train(request, environment, record, recorders, observer, lock.handle)
            except OSError as error:
                record = replace(
                    record,
                    status="failed",
                    message=f"the harness could not write: {error.strerror or error}",
                )
                lock.write(partial(records.write_run, record))
                raise
            if request.power_pulse and record.status == "finished":
                pulses.append(pulse())
                record = replace(
                    record,
                    power_pulse={"loads_ns": [load for each in pulses for load in each.loads_ns]},
                )
            record = replace(record, lifetime=_with_idle(invocation.lifetime, pulses).to_dict())
            lock.write(partial(records.write_run, record))
            if record.status != "finished":
                lock.remove()
            if record.status == "interrupted":
                raise KeyboardInterrupt
            if record.status == "finished" and interrupt.repeated:
                raise InterruptedAfterEnd(NOT_CLOSED.format(command=typed("suite finish", path)))
            if record.status == "finished":
                _close(path)
            if interrupt.happened:
                raise InterruptedAfterEnd(
                    f"the run was finished before, and its bundle is closed in {path}"
                )
            return RunResult(path, record.status, record.message)


def _with_idle(lifetime: Lifetime, pulses: Sequence[Pulse]) -> Lifetime:
    return replace(
        lifetime, idle_ns=(*lifetime.idle_ns, *((each.begin_ns, each.end_ns) for each in pulses))
    )


def _close(path: Path) -> None:
    try:
        with disk_errors(
            path, f"Free some space, then close the run: {typed('suite finish', path)}"
        ):
            close_bundle(path)
    except KeyboardInterrupt:
        raise InterruptedAfterEnd(NOT_CLOSED.format(command=typed("suite finish", path))) from None


def _train(
    request: RunRequest,
    environment: Environment,
    record: RunRecord,
    recorders: "Recorders",
    observer: RunObserver,
    lock: int,
) -> RunRecord:
    """Train from start to end, and stop the recorders; returns the record of how it ended
    (finished, failed or interrupted)."""
    path, problem, is_interrupted = Path(request.training.output_directory), None, False
    _begin_log(request, path)
    kills = kills_for_memory()
    with (
        limited(request.limits) as limit,
        _heartbeats(request) as monitor,
        ExitStack() as beside,
        deferred() as deliver_interrupts,
    ):
        process = start_implementation(
            request,
            environment,
            path / layout.OUTPUT,
            monitor.variables if monitor else {},
            (lock,),
        )
        try:
            limit(process.pid)
            if monitor:
                monitor.start()
            recorders.local.start(
                MeteredProcess(process.pid, Path(request.training.data.directory))
            )
            deliver_interrupts()  # not before, since what has half started cannot be stopped
            recorders.local.wait_until_attached()
            if monitor:
                monitor.polled()
            beside.enter_context(neighbours(request, environment))
            if record.isolation is not None:
                record = replace(
                    record, isolation={**record.isolation, "released_ns": time.monotonic_ns()}
                )
            release(process)
            problem = _follow_log(
                process,
                path,
                observer,
                recorders.local,
                partial(_check_nodes, monitor, recorders.remote, observer),
            )
            if monitor:
                monitor.polled()  # the job may have ended while the harness was stopped
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            if process.poll() is None:
                terminate(process)
        report = wait(process, path / layout.OUTPUT, request.training.parallel.ranks)
        changes = changed_settings(recorders.power, read_power_settings())
        amend_system(path, system.POWER_CHANGES, changes)
        if recorders.witness is not None and problem is None and report.exit_code == 0:
            ask_stamp(request, recorders.witness, recorders.records)
        record = replace(record, meters=tuple(map(_plain, _stop_meters(recorders, monitor))))
        # the implementation may have been terminated as it exited
        if is_interrupted and training_ended(path):
            return replace(
                record, status="finished", exit_code=0 if report.exit_code == 0 else None
            )
        if is_interrupted:
            return replace(record, status="interrupted", message="interrupted by the user")
        if problem is not None or report.exit_code != 0:
            message = f"the implementation {report.reason}"
            if monitor:
                message = _failure(
                    problem
                    or describe_failure(report, monitor, recorders.remote, kills_since(kills)),
                    path,
                )
            return replace(record, status="failed", exit_code=report.exit_code, message=message)
        return replace(record, status="finished", exit_code=0)


def _begin_log(request: RunRequest, path: Path) -> None:
    """Write the facts of the request into rank 0's log, unless that rank may run on another
    machine, whose clock is another."""
    if request.placement.hosts:
        return
    log = contract.LogWriter(contract.RecordFile(str(path / contract.log_name(0))))
    log_facts(log, request.training)
    log.close()


def _stop_meters(
    recorders: "Recorders", monitor: HeartbeatMonitor | None
) -> tuple[MeterRecord, ...]:
    """Stop the recorders of every node; returns this node's meters and writes the remote nodes'
    into nodes.json."""
    meters = recorders.local.stop()
    recorders.remote.stop()
    nodes = recorders.remote.records(recorders.cache, monitor.nodes() if monitor else {})
    if nodes:
        recorders.records.write_nodes(nodes)
    return meters


@contextmanager
def _heartbeats(request: RunRequest) -> Iterator[HeartbeatMonitor | None]:
    """The heartbeat monitor of a run with several ranks; None for one rank."""
    if request.training.parallel.ranks == 1:
        yield None
        return
    monitor = HeartbeatMonitor(
        request.training.parallel.ranks,
        request.placement.hosts,
        silence_s=request.placement.silence_s,
    )
    try:
        yield monitor
    finally:
        monitor.close()


def _failure(cause: str, path: Path) -> str:
    """The cause, and the last finished epoch."""
    finished = (
        Bundle(path).log().finished_epochs() if (path / contract.log_name(0)).exists() else ()
    )
    return f"{cause.rstrip('.')}; " + (
        f"the last finished epoch is epoch {max(finished)}" if finished else "no epoch was finished"
    )


def _with_page_cache(request: RunRequest, remote: RemoteRecorders) -> tuple[RunRequest, CacheState]:
    """Empty or fill the page cache of every node; returns the request with ``cache_cleared`` set,
    and this node's cache state."""
    are_cold = remote.prepare()
    local = prepare_page_cache(Path(request.training.data.directory), request.page_cache.value)
    are_cold.append(local.is_cold)
    is_cold = False if False in are_cold else None if None in are_cold else True
    return replace(request, training=request.training._replace(cache_cleared=is_cold)), local


def make_output(path: Path, force: bool) -> None:
    """Create the run directory; one that is not empty is an error, unless ``force`` is set and it
    is a run's, which is then deleted."""
    has_something = is_taken(path)
    refuse_inside_run(path)
    if has_something:
        if not force:
            raise SuiteError(
                f"{path} exists and is not empty; choose another --output, or type --force to"
                " replace it."
            )
        if not _is_run(path):
            raise SuiteError(
                f"{path} is no run directory (it has no {layout.RUN}), so --force will not empty"
                " it; choose another --output."
            )
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(
            f"The run directory {path} cannot be created: {error.strerror}; choose another"
            " --output."
        ) from error


def is_taken(path: Path) -> bool:
    """Whether something is where a run directory is to be made; raises SuiteError where it is a run
    that still runs."""
    if is_held(path):
        raise SuiteError(f"{path} holds a run that still runs; choose another --output.")
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def _is_run(path: Path) -> bool:
    """Whether this is a run directory, or all that is in it is what a run writes before its record:
    it was killed as it began."""
    if not path.is_dir():
        return False
    return (path / layout.RUN).is_file() or all(
        each.is_file() and each.name.removeprefix(".") in BEFORE_RECORD for each in path.iterdir()
    )


def _open_bundle(
    request: RunRequest,
    environment: Environment,
    invocation: Invocation,
    records: RunRecords,
) -> RunRecord:
    now_s = time.time()
    software = system.Software(
        request.framework.name, None, dict(list(environment.packages.items())[:RECORDED_LIBRARIES])
    )
    data = Path(request.training.data.directory)
    record = RunRecord(
        schema=layout.SCHEMA,
        run_id=request.run_id,
        suite_version=__version__,
        command=invocation.command,
        started_time_ms=int(now_s * 1000),
        status="running",
        exit_code=None,
        message=None,
        device_evidence=request.device_evidence,
        request=records.request_values(request.training),
        findings_allowed=invocation.findings_allowed,
        round=current_round().name,
        nonce=None if request.nonce is None else asdict(request.nonce),
        implementation=describe_implementation(request.framework),
        study=None if request.study is None else request.study.to_dict(),
        isolation=describe_isolation(request.isolation),
        lifetime=invocation.lifetime.to_dict(),
        # its reason was redacted when it was recorded
        resumed=None if request.resume is None else asdict(request.resume.record),
    )
    records.write_run(record)
    write_json(records.path / contract.REQUEST_NAME, contract.request_to_dict(request.training))
    records.write_system(
        system.describe(request.device.name, software, data, with_identity=request.with_identity)
    )
    return record


def _check_nodes(
    monitor: HeartbeatMonitor | None, remote: RemoteRecorders, observer: RunObserver
) -> str | None:
    """Exchange messages with the remote recorders, let ranks start whose node's meters are
    attached; returns which rank failed, or None."""
    remote.tick(monitor.pids() if monitor else {})
    for sentence in remote.take_notices():
        observer.notice(sentence)
    if monitor is None:
        return None
    monitor.polled()
    monitor.release(remote.attached_ranks())
    return monitor.failure(partial(_is_running, remote))


def _is_running(remote: RemoteRecorders, beat: Heartbeat) -> bool | None:
    """Whether a rank's process still exists on its node; None while that is unknown."""
    return (
        remote.is_running(beat.rank, beat.pid)
        if remote.is_remote(beat.rank)
        else is_running(Path("/"), beat.pid)
    )


def _follow_log(
    process: "subprocess.Popen[bytes]",
    path: Path,
    observer: RunObserver,
    recorder: Recorder,
    check_nodes: Callable[[], str | None],
) -> str | None:
    """Pass the log's events to the observer until the implementation exits; at both ends of an
    epoch, the page cache is read too.

    Returns early with the failure that ``check_nodes``, called at every poll, reports; raises
    SuiteError when the run directory is removed.
    """
    follower = LogFollower(path / contract.log_name(0))
    ended = False
    while not ended:
        ended = process.poll() is not None
        refuse_removed(path)
        for event in follower.new_events():
            observer.event(event)
            if event.key in EPOCH_ENDS:
                recorder.read_soon(PageCacheMeter.name)
        problem = None if ended else check_nodes()
        if problem is not None:
            return problem
        if not ended:
            observer.tick()
            time.sleep(POLL_S)
    return None


def _plain(meter: MeterRecord) -> Mapping[str, Any]:
    return asdict(meter)
