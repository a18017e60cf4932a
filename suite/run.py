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
from suite import __version__, bundle, launch, mpi, system
from suite.bundle import Bundle, RunRecord, write_json
from suite.config import RunRequest
from suite.environments import Environment
from suite.errors import SuiteError
from suite.log import Event
from suite.measure.meter import Subject
from suite.measure.page_cache import CacheState, prepare_page_cache
from suite.measure.recorder import MeterRecord, Recorder
from suite.measure.sources.page_cache import PageCacheMeter
from suite.node_records import write_nodes
from suite.other_nodes import OtherNodes
from suite.progress import LogFollower
from suite.rank_watch import RankWatch

POLL_S = 0.2
RECORDED_LIBRARIES = 200
EPOCH_ENDS = ("epoch_start", "epoch_stop")


class Watcher(Protocol):
    """Who is told of a run's progress; called between polls, never by the implementation."""

    def event(self, event: Event) -> None:
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
    with _disk_errors(path), OtherNodes(request, environment.interpreter, path) as others:
        request, cache = _with_page_cache(request, others)
        record = _open_bundle(request, command, allowed, path)
        with _watching(request) as ranks:
            process = launch.start(request, environment, path / bundle.OUTPUT, ranks.variables if ranks else {})
            try:
                if ranks:
                    ranks.start()
                recorder.start(Subject(process.pid, Path(request.training.data.directory)))
                problem = _follow(process, path, watcher, recorder, partial(_look_after, ranks, others))
            except KeyboardInterrupt:
                launch.end(process)
                _rest(path, record, _stop_meters(recorder, others, cache, path), "interrupted", None, "interrupted by the person at the keyboard")
                raise
            if problem is not None:
                launch.end(process)
            ending = launch.ending(process, path / bundle.OUTPUT)
            meters = _stop_meters(recorder, others, cache, path)
            if problem is not None or ending.exit_code != 0:
                message = _failure(ending, problem, ranks, path) if ranks else f"the implementation {_ended(ending)}"
                return _rest(path, record, meters, "failed", ending.exit_code, message)
            return _close(request, environment, path, record, meters)


def _stop_meters(recorder: Recorder, others: OtherNodes, cache: CacheState, path: Path) -> tuple[MeterRecord, ...]:
    """End the readings here and on every other node; what became of those goes into nodes.json."""
    meters = recorder.stop()
    others.stop()
    records = others.records(cache)
    if records:
        write_nodes(path, records)
    return meters


@contextmanager
def _watching(request: RunRequest) -> Iterator[RankWatch | None]:
    """Where there are several ranks, hear of each."""
    if request.training.parallel.ranks == 1:
        yield None
        return
    watch = RankWatch(request.training.parallel.ranks, request.placement.hosts)
    try:
        yield watch
    finally:
        watch.close()


def _failure(ending: launch.Ending, problem: str | None, ranks: RankWatch, path: Path) -> str:
    """Which rank is to blame, and how far the run came."""
    problem = problem or _who_ended(ending, ranks)
    finished = Bundle(path).log().finished_epochs() if (path / contract.log_name(0)).exists() else ()
    return f"{problem}; " + (f"the last finished epoch is epoch {max(finished)}" if finished else "no epoch was finished")


def _who_ended(ending: launch.Ending, ranks: RankWatch) -> str:
    """In the words of the rank that gave up and took all others along; else the rank that never began, or the first that was gone."""
    if mpi.is_ranks_complaint(ending.last_line):
        return ending.last_line.removeprefix("error: ")
    silent, gone = ranks.never_heard(), ranks.first_gone(ending.blamed)
    if silent is not None:
        return f"{silent} never began ({ending.last_line}); `suite cluster doctor` says what its node lacks"
    return f"the job {_ended(ending)}" if gone is None else f"rank {gone.rank} on node {gone.node} ended before the others: {ending.last_line}"


def _ended(ending: launch.Ending) -> str:
    return f"ended with {_how(ending.exit_code)}: {ending.last_line}"


def _with_page_cache(request: RunRequest, others: OtherNodes) -> tuple[RunRequest, CacheState]:
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
        if not (path / bundle.RUN).is_file():
            raise SuiteError(f"{path} is no run directory (it has no {bundle.RUN}), so --force will not empty it; choose another --output.")
        shutil.rmtree(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(f"The run directory {path} cannot be made: {error.strerror}; choose another --output.") from error


def _open_bundle(request: RunRequest, command: tuple[str, ...], allowed: tuple[str, ...], path: Path) -> RunRecord:
    now_s = time.time()
    record = RunRecord(
        schema=bundle.SCHEMA,
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
        write_json(path / bundle.RUN, record)
        write_json(path / contract.REQUEST_NAME, contract.request_to_dict(request.training))
    return record


def _look_after(ranks: RankWatch | None, others: OtherNodes) -> str | None:
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
    from suite.counters import derive_counters
    from suite.summary import derive

    logged = Bundle(path).log()
    version = logged.value("framework_version")
    description = system.describe(
        request.device.name,
        request.framework.name,
        version if isinstance(version, str) else None,
        dict(list(environment.packages.items())[:RECORDED_LIBRARIES]),
        Path(request.training.data.directory),
    )
    write_json(path / bundle.SYSTEM, description)
    bundle.convert_tables(path)
    write_json(path / bundle.COUNTERS, derive_counters(Bundle(path)))
    write_json(path / bundle.SUMMARY, derive(Bundle(path)).to_dict())
    (path / contract.REQUEST_NAME).unlink()
    result = _rest(path, record, meters, "finished", 0, None)
    bundle.seal(path)
    return result


def _rest(path: Path, record: RunRecord, meters: tuple[MeterRecord, ...], status: str, exit_code: int | None, message: str | None) -> RunResult:
    final = replace(record, status=status, exit_code=exit_code, message=message, meters=tuple(_plain(meter) for meter in meters))
    write_json(path / bundle.RUN, final)
    return RunResult(path, status, message)


def _plain(meter: MeterRecord) -> Mapping[str, Any]:
    return asdict(meter)


def _how(exit_code: int) -> str:
    return f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"


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
