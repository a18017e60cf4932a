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
from suite.bundle.log import LogEvent
from suite.bundle.nodes import read_nodes, write_nodes
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import SuiteError
from suite.execution.heartbeat import HeartbeatMonitor
from suite.execution.implementation import start_implementation
from suite.execution.progress import LogFollower
from suite.execution.recorder import MeterRecord, Recorder
from suite.execution.remote_recorders import RemoteRecorders
from suite.execution.request import RunRequest
from suite.files.json_file import write_json
from suite.launch.environments import Environment
from suite.launch.mpirun import is_rank_error
from suite.launch.process import ExitReport, terminate, wait
from suite.machine import system
from suite.machine.page_cache import CacheState, prepare_page_cache
from suite.meters.meter import MeteredProcess
from suite.meters.sources.page_cache import PageCacheMeter
from suite.metrics.power import write_power_rules

POLL_S = 0.2
RECORDED_LIBRARIES = 200
EPOCH_ENDS = ("epoch_start", "epoch_stop")


class Watcher(Protocol):
    """Who is told of a run's progress; called between polls, never by the implementation."""

    def event(self, event: LogEvent) -> None:
        """A line of the implementation's log."""

    def tick(self) -> None:
        """Nothing new; time passes."""


@dataclass(frozen=True)
class RunResult:
    """A closed bundle: where it is and how the run ended; ``status`` as in run.json."""

    path: Path
    status: str
    message: str | None


def new_run_id(workload: str, framework: str, clock_s: float) -> str:
    """A name for a run that sorts by time and does not repeat."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock_s))
    return f"{workload}-{framework}-{stamp}-{secrets.token_hex(3)}"


def run(
    request: RunRequest, environment: Environment, command: tuple[str, ...], allowed: tuple[str, ...], recorder: Recorder, watcher: Watcher
) -> RunResult:
    """Run the implementation into ``request.training.output_directory`` and close the bundle there.

    The directory must exist and be empty. ``command`` is what the person typed, ``allowed`` are the findings that were waved through.
    An implementation that fails or an interruption leaves an unsealed bundle that reads back with every finished epoch.
    Raises SuiteError when the bundle itself cannot be written; KeyboardInterrupt goes through once the bundle is at rest.
    """
    path = Path(request.training.output_directory)
    with _disk_errors(path), RemoteRecorders(request, environment.interpreter, path) as others:
        request, cache = _with_page_cache(request, others)
        record = _open_bundle(request, command, allowed, path)
        with _watching(request) as ranks:
            process = start_implementation(request, environment, path / layout.OUTPUT, ranks.variables if ranks else {})
            try:
                if ranks:
                    ranks.start()
                recorder.start(MeteredProcess(process.pid, Path(request.training.data.directory)))
                problem = _follow(process, path, watcher, recorder, partial(_look_after, ranks, others))
            except KeyboardInterrupt:
                terminate(process)
                _write_final_record(
                    path, record, _stop_meters(recorder, others, cache, path), "interrupted", None, "interrupted by the person at the keyboard"
                )
                raise
            if problem is not None:
                terminate(process)
            ending = wait(process, path / layout.OUTPUT)
            meters = _stop_meters(recorder, others, cache, path)
            if problem is not None or ending.exit_code != 0:
                message = _failure(ending, problem, ranks, path) if ranks else f"the implementation {ending.reason}"
                return _write_final_record(path, record, meters, "failed", ending.exit_code, message)
            return _close(request, environment, path, record, meters)


def _stop_meters(recorder: Recorder, others: RemoteRecorders, cache: CacheState, path: Path) -> tuple[MeterRecord, ...]:
    """End the readings here and on every other node; what became of those goes into nodes.json."""
    meters = recorder.stop()
    others.stop()
    records = others.records(cache)
    if records:
        write_nodes(path, records)
    return meters


@contextmanager
def _watching(request: RunRequest) -> Iterator[HeartbeatMonitor | None]:
    """Where there are several ranks, hear of each."""
    if request.training.parallel.ranks == 1:
        yield None
        return
    watch = HeartbeatMonitor(request.training.parallel.ranks, request.placement.hosts)
    try:
        yield watch
    finally:
        watch.close()


def _failure(ending: ExitReport, problem: str | None, ranks: HeartbeatMonitor, path: Path) -> str:
    """Which rank is to blame, and how far the run came."""
    problem = problem or _who_ended(ending, ranks)
    finished = Bundle(path).log().finished_epochs() if (path / contract.log_name(0)).exists() else ()
    return f"{problem}; " + (f"the last finished epoch is epoch {max(finished)}" if finished else "no epoch was finished")


def _who_ended(ending: ExitReport, ranks: HeartbeatMonitor) -> str:
    """In the words of the rank that gave up and took all others along; else the rank that never began, or the first that was gone."""
    if is_rank_error(ending.last_line):
        return ending.last_line.removeprefix("error: ")
    silent, gone = ranks.never_heard(), ranks.first_gone(ending.failed)
    if silent is not None:
        return f"{silent} never began ({ending.last_line}); `suite cluster doctor` says what its node lacks"
    return f"the job {ending.reason}" if gone is None else f"rank {gone.rank} on node {gone.node} ended before the others: {ending.last_line}"


def _with_page_cache(request: RunRequest, others: RemoteRecorders) -> tuple[RunRequest, CacheState]:
    """Make the page cache of every node that trains ready; the log says whether all of them then were cold. The state is this machine's."""
    are_cold = others.prepare()
    own = prepare_page_cache(Path(request.training.data.directory), request.page_cache.value)
    are_cold.append(own.is_cold)
    is_cold = False if False in are_cold else None if None in are_cold else True
    return replace(request, training=request.training._replace(cache_cleared=is_cold)), own


def make_output(path: Path, force: bool) -> None:
    """Make the run's directory; an existing one that holds anything is an error unless ``force``, which empties a bundle."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        if not force:
            raise SuiteError(f"{path} exists and is not empty; choose another --output, or type --force to replace it.")
        if not (path / layout.RUN).is_file():
            raise SuiteError(f"{path} is no run directory (it has no {layout.RUN}), so --force will not empty it; choose another --output.")
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(f"The run directory {path} cannot be made: {error.strerror}; choose another --output.") from error


def _open_bundle(request: RunRequest, command: tuple[str, ...], allowed: tuple[str, ...], path: Path) -> RunRecord:
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
        findings_allowed=allowed,
    )
    with _disk_errors(path):
        write_json(path / layout.RUN, record)
        write_json(path / contract.REQUEST_NAME, contract.request_to_dict(request.training))
    return record


def _look_after(ranks: HeartbeatMonitor | None, others: RemoteRecorders) -> str | None:
    """Keep up the conversation with every node; returns what is wrong when a rank no longer lives as it should."""
    others.tick(ranks.pids() if ranks else {})
    return ranks.problem() if ranks else None


def _follow(process: "subprocess.Popen[bytes]", path: Path, watcher: Watcher, recorder: Recorder, look_after: Callable[[], str | None]) -> str | None:
    """Pass the log's events on until the implementation has ended; at an epoch's ends the page cache is looked at besides its turns.

    Returns early, with what is wrong, when ``look_after``, called between polls, says so.
    """
    follower = LogFollower(path / contract.log_name(0))
    ended = False
    while not ended:
        ended = process.poll() is not None
        for event in follower.new_events():
            watcher.event(event)
            if event.key in EPOCH_ENDS:
                recorder.ask(PageCacheMeter.name)
        problem = None if ended else look_after()
        if problem is not None:
            return problem
        if not ended:
            watcher.tick()
            time.sleep(POLL_S)
    return None


def _close(request: RunRequest, environment: Environment, path: Path, record: RunRecord, meters: tuple[MeterRecord, ...]) -> RunResult:
    """Derive the figures, write what is left, seal."""
    from suite.metrics.counters import derive_counters
    from suite.metrics.summary import derive

    logged = Bundle(path).log()
    version = logged.value("framework_version")
    description = system.describe(
        request.device.name,
        request.framework.name,
        version if isinstance(version, str) else None,
        dict(list(environment.packages.items())[:RECORDED_LIBRARIES]),
        Path(request.training.data.directory),
    )
    write_json(path / layout.SYSTEM, description)
    convert.convert_tables(path)
    write_power_rules(path, _sources(path, meters))
    write_json(path / layout.COUNTERS, derive_counters(Bundle(path)))
    write_json(path / layout.SUMMARY, derive(Bundle(path)).to_dict())
    (path / contract.REQUEST_NAME).unlink()
    result = _write_final_record(path, record, meters, "finished", 0, None)
    manifest.seal(path)
    return result


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
    """Say in one sentence what a failing write means for the bundle."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            free = shutil.disk_usage(path).free
            what = f"The disk that holds {path} is full ({free} bytes free); what was written so far is kept. Free some space and run again."
        else:
            named = f" ({error.filename})" if error.filename else ""
            what = f"The run directory {path} cannot be written: {error.strerror or error}{named}."
        raise SuiteError(what) from error
