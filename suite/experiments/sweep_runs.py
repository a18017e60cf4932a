"""Makes the runs of a sweep that are missing or broken, keeps the finished ones, and computes the study."""

import time
from collections.abc import Sequence
from pathlib import Path

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from suite.execution.redacting import recorded_request
from suite.execution.request import RunRequest
from suite.execution.resolve import resolve_options
from suite.experiments.events import Progress, SweepRunKept, SweepRunStarted, silent
from suite.experiments.one_run import run_one
from suite.experiments.sweep import Sweep
from suite.launch.environments import find
from suite.metrics.study import Study, analyse, write

NOT_COMPARED = ("output_directory", "cache_cleared")
"""Keys of a request in which two equal runs may differ."""

INTACT = frozenset(
    ("run-complete", "bundle-readable", "request-readable", "manifest", "log-readable", "log-chain", "summary-recomputes", "counters-recompute")
)
"""Rules that every undamaged bundle keeps."""


def run_sweep(sweep: Sweep, directory: Path, *, command: tuple[str, ...] | None = None, progress: Progress = silent) -> Study:
    """Make every run of the sweep below ``directory`` and write the study there. Resumable: call it again to continue.

    All requests are resolved, and all environments found, before the first run starts. A broken or unfinished run is made again.
    Raises as ``run_one``, and SuiteError where a whole run of another request occupies a run's folder.
    """
    _run_all(resolve_sweep(sweep, directory), sweep.labels, command, progress)
    study = analyse(directory, sweep.plan)
    write(study, directory)
    return study


def resolve_sweep(sweep: Sweep, directory: Path, *, to_show: bool = False) -> tuple[RunRequest, ...]:
    """The request of every run, in the order in which they are made.

    Raises SuiteError where data or an environment is missing; ``to_show`` needs neither.
    """
    requests = tuple(resolve_options(run.options, directory / run.folder, as_published=to_show) for run in sweep.runs)
    for request in () if to_show else requests:
        find(request.framework)
    return requests


def _run_all(requests: Sequence[RunRequest], labels: Sequence[str], command: tuple[str, ...] | None, progress: Progress) -> None:
    """Make the missing runs; the time left is estimated from the mean of those made so far."""
    is_kept = [is_done(Path(request.training.output_directory), request) for request in requests]
    left, took_s, total = is_kept.count(False), list[float](), len(requests)
    for number, (request, label, kept) in enumerate(zip(requests, labels, is_kept, strict=True), start=1):
        if kept:
            progress(SweepRunKept(number, total, label))
            continue
        progress(SweepRunStarted(number, total, label, left * sum(took_s) / len(took_s) if took_s else None))
        began_s = time.monotonic()
        run_one(request, force=True, command=command, progress=progress)
        took_s.append(time.monotonic() - began_s)
        left -= 1


def is_done(path: Path, request: RunRequest) -> bool:
    """True if ``path`` holds a whole, sealed bundle of this request; a broken or unfinished one is to be made again.

    Raises SuiteError where a whole bundle of another request lies there: it is somebody's result.
    """
    if not (path / RUN).is_file():
        return False
    try:
        verdict, found = check_bundle(path), Bundle(path).run().request
    except SuiteError:
        return False
    if any(finding.rule in INTACT for finding in verdict.findings):
        return False
    wanted = recorded_request(request.training)
    different = sorted(key for key in {*wanted, *found} - {*NOT_COMPARED} if wanted.get(key) != found.get(key))
    if different:
        raise SuiteError(f"{path} holds another run (it differs in {', '.join(different)}); choose another --output, or move that folder away.")
    return True
