"""One run, from a resolved request to a closed bundle."""

import errno
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from reference_impls import contract
from suite import __version__
from suite.bundle import convert, layout, manifest
from suite.bundle.data_record import write_data_record
from suite.bundle.log import LogEvent
from suite.bundle.nodes import read_nodes, write_nodes
from suite.bundle.reader import Bundle, RunRecord
from suite.catalog.rounds import current_round
from suite.errors import SuiteError
from suite.execution.data_digests import digest_data
from suite.execution.heartbeat import HeartbeatMonitor
from suite.execution.implementation import start_implementation
from suite.execution.progress import LogFollower
from suite.execution.recorder import MeterRecord, Recorder
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import RunRequest
from suite.execution.witnessing import ask_receipt, ask_stamp
from suite.files.json_file import write_json
from suite.launch.environments import Environment
from suite.launch.mpirun import is_rank_error
from suite.launch.process import ExitReport, terminate, wait
from suite.machine import system
from suite.machine.page_cache import CacheState, prepare_page_cache
from suite.machine.power_mode import PowerSettings, read_power_settings
from suite.meters.meter import MeteredProcess
from suite.meters.sources.page_cache import PageCacheMeter
from suite.metrics.power import write_power_rules

POLL_S = 0.2
RECORDED_LIBRARIES = 200
EPOCH_ENDS = ("epoch_start", "epoch_stop")


class RunObserver(Protocol):
    """Receives a run's progress; called by the harness between polls, never by the implementation."""

    def event(self, event: LogEvent) -> None:
        """A new event of the implementation's log."""

    def tick(self) -> None:
        """Called at every poll, five times a second."""


@dataclass(frozen=True)
class RunResult:
    """A closed bundle: where it is and how the run ended; ``status`` as in run.json."""

    path: Path
    status: str
    message: str | None


def new_run_id(workload: str, framework: str, clock_s: float) -> str:
    """A unique name for a run; names sort by time."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock_s))
    return f"{workload}-{framework}-{stamp}-{secrets.token_hex(3)}"


def run(
    request: RunRequest,
    environment: Environment,
    command: tuple[str, ...],
    findings_allowed: tuple[str, ...],
    recorder: Recorder,
    observer: RunObserver,
) -> RunResult:
    """Run the implementation into ``request.training.output_directory`` and close the bundle there.

    The directory must exist and be empty. ``command`` is the command line, ``findings_allowed`` the ids of rules that the request breaks
    and the user accepted (`--allow-invalid`). A failed or interrupted run leaves an unsealed bundle from which every finished epoch can be
    read. Raises SuiteError when the bundle cannot be written, and KeyboardInterrupt again after the final record is written.
    """
    path = Path(request.training.output_directory)
    with _disk_errors(path), RemoteRecorders(request, environment.interpreter, path) as remote:
        write_data_record(path, digest_data(request.training.data.name, Path(request.training.data.directory)))
        request, cache = _with_page_cache(request, remote)
        witness = ask_receipt(request)
        record = _open_bundle(request, command, findings_allowed, path)
        power = read_power_settings()
        if witness is not None:
            witness.write(path)
        with _heartbeats(request) as monitor:
            process = start_implementation(request, environment, path / layout.OUTPUT, monitor.variables if monitor else {})
            try:
                if monitor:
                    monitor.start()
                recorder.start(MeteredProcess(process.pid, Path(request.training.data.directory)))
                problem = _follow_log(process, path, observer, recorder, partial(_check_nodes, monitor, remote))
            except KeyboardInterrupt:
                terminate(process)
                _write_final_record(path, record, _stop_meters(recorder, remote, cache, path), "interrupted", None, "interrupted by the user")
                raise
            if problem is not None:
                terminate(process)
            report = wait(process, path / layout.OUTPUT)
            if witness is not None and problem is None and report.exit_code == 0:
                ask_stamp(request, witness, path).write(path)
            meters = _stop_meters(recorder, remote, cache, path)
            if problem is not None or report.exit_code != 0:
                message = _failure(report, problem, monitor, path) if monitor else f"the implementation {report.reason}"
                return _write_final_record(path, record, meters, "failed", report.exit_code, message)
            return _close(_Closing(request, environment, path, record, meters, power))


def _stop_meters(recorder: Recorder, remote: RemoteRecorders, cache: CacheState, path: Path) -> tuple[MeterRecord, ...]:
    """Stop the recorders of every node; returns this node's meters and writes the remote nodes' into nodes.json."""
    meters = recorder.stop()
    remote.stop()
    records = remote.records(cache)
    if records:
        write_nodes(path, records)
    return meters


@contextmanager
def _heartbeats(request: RunRequest) -> Iterator[HeartbeatMonitor | None]:
    """The heartbeat monitor of a run with several ranks; None for one rank."""
    if request.training.parallel.ranks == 1:
        yield None
        return
    monitor = HeartbeatMonitor(request.training.parallel.ranks, request.placement.hosts)
    try:
        yield monitor
    finally:
        monitor.close()


def _failure(report: ExitReport, problem: str | None, monitor: HeartbeatMonitor, path: Path) -> str:
    """Which rank failed first and why, and the last finished epoch."""
    problem = problem or _failed_rank(report, monitor)
    finished = Bundle(path).log().finished_epochs() if (path / contract.log_name(0)).exists() else ()
    return f"{problem}; " + (f"the last finished epoch is epoch {max(finished)}" if finished else "no epoch was finished")


def _failed_rank(report: ExitReport, monitor: HeartbeatMonitor) -> str:
    """The error that a rank reported by name before it ended the job; else the first rank that never started, or that exited first."""
    if is_rank_error(report.last_line):
        return report.last_line.removeprefix("error: ")
    missing, exited = monitor.first_missing_rank(), monitor.first_exited(report.failed)
    if missing is not None:
        return f"{missing} never started ({report.last_line}); `suite cluster doctor` says what its node lacks"
    return f"the job {report.reason}" if exited is None else f"rank {exited.rank} on node {exited.node} exited before the others: {report.last_line}"


def _with_page_cache(request: RunRequest, remote: RemoteRecorders) -> tuple[RunRequest, CacheState]:
    """Empty or fill the page cache of every node; returns the request with ``cache_cleared`` set, and this node's cache state."""
    are_cold = remote.prepare()
    local = prepare_page_cache(Path(request.training.data.directory), request.page_cache.value)
    are_cold.append(local.is_cold)
    is_cold = False if False in are_cold else None if None in are_cold else True
    return replace(request, training=request.training._replace(cache_cleared=is_cold)), local


def make_output(path: Path, force: bool) -> None:
    """Create the run directory; one that is not empty is an error, unless ``force`` is set and it is a bundle, which is then deleted."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if not force:
            raise SuiteError(f"{path} exists and is not empty; choose another --output, or type --force to replace it.")
        if not (path / layout.RUN).is_file():
            raise SuiteError(f"{path} is no run directory (it has no {layout.RUN}), so --force will not empty it; choose another --output.")
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(f"The run directory {path} cannot be created: {error.strerror}; choose another --output.") from error


def _open_bundle(request: RunRequest, command: tuple[str, ...], findings_allowed: tuple[str, ...], path: Path) -> RunRecord:
    now_s = time.time()
    record = RunRecord(
        schema=layout.SCHEMA,
        run_id=request.run_id,
        suite_version=__version__,
        command=command,
        started_time_ms=int(now_s * 1000),
        status="running",
        exit_code=None,
        message=None,
        device_evidence=request.device_evidence,
        request=contract.request_to_dict(request.training),
        findings_allowed=findings_allowed,
        round=current_round().name,
        nonce=None if request.nonce is None else asdict(request.nonce),
    )
    with _disk_errors(path):
        write_json(path / layout.RUN, record)
        write_json(path / contract.REQUEST_NAME, contract.request_to_dict(request.training))
    return record


def _check_nodes(monitor: HeartbeatMonitor | None, remote: RemoteRecorders) -> str | None:
    """Exchange messages with the remote recorders; returns which rank failed, or None."""
    remote.tick(monitor.pids() if monitor else {})
    return monitor.failure() if monitor else None


def _follow_log(
    process: "subprocess.Popen[bytes]", path: Path, observer: RunObserver, recorder: Recorder, check_nodes: Callable[[], str | None]
) -> str | None:
    """Pass the log's events to the observer until the implementation exits; at both ends of an epoch, the page cache is read too.

    Returns early with the failure that ``check_nodes``, called at every poll, reports.
    """
    follower = LogFollower(path / contract.log_name(0))
    ended = False
    while not ended:
        ended = process.poll() is not None
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


@dataclass(frozen=True)
class _Closing:
    """What the bundle of a finished run is closed with; ``power`` are the power settings from before the run."""

    request: RunRequest
    environment: Environment
    path: Path
    record: RunRecord
    meters: tuple[MeterRecord, ...]
    power: PowerSettings


def _close(closing: _Closing) -> RunResult:
    """Derive the figures, write the remaining files and seal the bundle."""
    from suite.metrics.counters import derive_counters  # memory: numpy is loaded after the training only
    from suite.metrics.summary import derive  # memory: numpy is loaded after the training only

    path, meters = closing.path, closing.meters
    write_json(path / layout.SYSTEM, _describe(closing))
    convert.convert_tables(path)
    write_power_rules(path, _sources(path, meters))
    write_json(path / layout.COUNTERS, derive_counters(Bundle(path)))
    write_json(path / layout.SUMMARY, derive(Bundle(path)).to_dict())
    (path / contract.REQUEST_NAME).unlink()
    result = _write_final_record(path, closing.record, meters, "finished", 0, None)
    manifest.seal(path)
    return result


def _describe(closing: _Closing) -> system.SystemDescription:
    request, version = closing.request, Bundle(closing.path).log().value("framework_version")
    libraries = dict(list(closing.environment.packages.items())[:RECORDED_LIBRARIES])
    software = system.Software(request.framework.name, version if isinstance(version, str) else None, libraries)
    return system.describe(
        request.device.name, software, Path(request.training.data.directory), power_before=closing.power, with_identity=request.with_identity
    )


def _sources(path: Path, meters: tuple[MeterRecord, ...]) -> set[str]:
    """The meters that read anything, on any node."""
    remote = {str(meter["name"]) for node in read_nodes(Bundle(path)) for meter in node.meters if meter.get("readings")}
    return {meter.name for meter in meters if meter.readings} | remote


def _write_final_record(
    path: Path, record: RunRecord, meters: tuple[MeterRecord, ...], status: str, exit_code: int | None, message: str | None
) -> RunResult:
    final = replace(record, status=status, exit_code=exit_code, message=message, meters=tuple(_plain(meter) for meter in meters))
    write_json(path / layout.RUN, final)
    return RunResult(path, status, message)


def _plain(meter: MeterRecord) -> Mapping[str, Any]:
    return asdict(meter)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn a failed write into a SuiteError that says what is kept."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            free = shutil.disk_usage(path).free
            what = f"The disk that holds {path} is full ({free} bytes free); everything written so far is kept. Free some space and run again."
        else:
            named = f" ({error.filename})" if error.filename else ""
            what = f"The run directory {path} cannot be written: {error.strerror or error}{named}."
        raise SuiteError(what) from error
