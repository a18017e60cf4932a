"""Makes the runs of a sweep that are missing or broken, keeps the finished ones, and computes the
study."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.study_mark import StudyMark
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from suite.execution.events import Notice, Progress, SweepRunKept, SweepRunStarted, silent
from suite.execution.finish import finish
from suite.execution.records import recorded_request
from suite.execution.request import RunRequest
from suite.execution.resolve import resolve_options
from suite.execution.run_directory import is_held
from suite.experiments.before_runs import checks_of_runs, held, refuse_at_once, refuse_folder
from suite.experiments.one_run import FINISHED, run_one
from suite.experiments.sweep import Sweep
from suite.metrics.study import STUDY, SWEEP, Study, analyse

POLL_S = 0.2
NOT_COMPARED = ("output_directory", "cache_cleared")
"""Keys of a request in which two equal runs may differ."""

INTACT = frozenset(
    (
        "run-complete",
        "bundle-readable",
        "request-readable",
        "manifest",
        "log-readable",
        "log-chain",
        "summary-recomputes",
        "counters-recompute",
    )
)
"""Rules that every undamaged bundle keeps."""


def run_sweep(
    sweep: Sweep,
    directory: Path,
    *,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
) -> Study:
    """Make every run of the sweep below ``directory`` and write the study there. Resumable: call it
    again to continue.

    Everything that would end it later is said before the first run starts. A broken or unfinished
    run is made again. Raises as ``run_one``, and SuiteError where a whole run of another request
    occupies a run's folder.
    """
    requests = resolve_sweep(sweep, directory)
    refuse_at_once(
        [
            lambda: refuse_folder(directory, STUDY, (sweep.plan.varied,)),
            *checks_of_runs(requests, directory),
        ]
    )
    with held(directory):
        run_all(requests, sweep.labels, are_done(requests), command, progress)
        study = analyse(directory, sweep.plan)
        SWEEP.write(directory, study)
    return study


def resolve_sweep(
    sweep: Sweep, directory: Path, *, to_show: bool = False
) -> tuple[RunRequest, ...]:
    """The request of every run, in the order in which they are made.

    Raises SuiteError where data are missing; ``to_show`` needs none.
    """
    return tuple(
        replace(
            resolve_options(run.options, directory / run.folder, as_published=to_show),
            study=_mark(sweep, run.value),
        )
        for run in sweep.runs
    )


def _mark(sweep: Sweep, value: str) -> StudyMark:
    return StudyMark(
        sweep.plan.heading,
        ((sweep.plan.varied.replace(" ", "_"), value),),
        sweep.plan.warm_up_steps,
    )


def run_all(
    requests: Sequence[RunRequest],
    labels: Sequence[str],
    are_kept: Sequence[bool],
    command: tuple[str, ...] | None,
    progress: Progress,
    prepare: Callable[[int], None] = lambda index: None,
) -> None:
    """Make the runs that are not kept; the time left is estimated from the mean of those made so
    far.

    ``prepare`` is called before each run, with its index.
    A run of an earlier call that was killed may still train: it is waited for, and made again.
    """
    left, took_s, total = list(are_kept).count(False), list[float](), len(requests)
    for number, (request, label, kept) in enumerate(
        zip(requests, labels, are_kept, strict=True), start=1
    ):
        if kept:
            progress(SweepRunKept(number, total, label))
            continue
        progress(
            SweepRunStarted(
                number, total, label, left * sum(took_s) / len(took_s) if took_s else None
            )
        )
        began_s = time.monotonic()
        _await_end(request.directory, progress)
        prepare(number - 1)
        run_one(request, force=True, command=command, progress=progress)
        took_s.append(time.monotonic() - began_s)
        left -= 1


def _await_end(path: Path, progress: Progress) -> None:
    """Return when no process of an earlier run in this directory is left."""
    if is_held(path):
        progress(
            Notice(
                f"{path} still trains, from a call that was killed; waiting for its end, then it is"
                " made again (Ctrl-C ends the waiting)"
            )
        )
    while is_held(path):
        time.sleep(POLL_S)


def are_done(requests: Sequence[RunRequest]) -> list[bool]:
    """Which requests an earlier call has finished; raises as :func:`is_done`. A run that had ended
    when its call was killed is closed first."""
    paths = [request.directory for request in requests]
    for path in paths:
        _close_what_ended(path)
    return [is_done(path, request) for path, request in zip(paths, requests, strict=True)]


def _close_what_ended(path: Path) -> None:
    """Close a run whose end the harness recorded, with its meters, before it was killed; one that
    was killed in training is made again."""
    with suppress(SuiteError):
        if (path / RUN).is_file() and not is_held(path) and Bundle(path).run().status == FINISHED:
            finish(path)


def is_done(path: Path, request: RunRequest, not_compared: Collection[str] = NOT_COMPARED) -> bool:
    """True if ``path`` holds a whole, sealed bundle of this request; a broken or unfinished one is
    to be made again.

    ``not_compared`` are the keys of the request in which the bundle's may differ.
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
    different = sorted(
        key for key in {*wanted, *found} - {*not_compared} if wanted.get(key) != found.get(key)
    )
    if different:
        raise SuiteError(
            f"{path} holds another run (it differs in {', '.join(different)}); choose another"
            " --output, or move that folder away."
        )
    return True
