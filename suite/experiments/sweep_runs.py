"""Makes the runs of a sweep that are missing or broken, and keeps the finished ones."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.run_lock import is_held
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from suite.execution.events import Notice, Progress, SweepRunKept, SweepRunStarted
from suite.execution.finish import finish
from suite.execution.request import RunRequest
from suite.execution.run_records import records_of
from suite.experiments.one_run import FINISHED, run_one

POLL_S = 0.2
NOT_COMPARED = ("output_directory", "cache_cleared", "old_task")
"""Keys of a request in which two equal runs may differ; the old task is evaluated where its data
set is prepared."""

INTACT = frozenset(
    (
        "run-complete",
        "bundle-readable",
        "manifest",
        "log-chain",
        "figures-recompute",
    )
)
"""Rules that every undamaged bundle keeps."""


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
                f"{path} still trains, although its command was killed; this run is made again when"
                " that training has ended (Ctrl-C stops waiting)"
            )
        )
    while is_held(path):
        time.sleep(POLL_S)


def are_done(requests: Sequence[RunRequest]) -> list[bool]:
    """Which requests an earlier call has finished; raises as :func:`is_done`. A run that had ended
    when its call was killed is closed first; one that was killed in training is made again."""
    paths = [request.directory for request in requests]
    for path in paths:
        with suppress(SuiteError):
            is_run = (path / RUN).is_file() and not is_held(path)
            if is_run and Bundle(path).run().status == FINISHED:
                finish(path)
    return [is_done(path, request) for path, request in zip(paths, requests, strict=True)]


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
    wanted = records_of(request).request_values(request.training)
    different = sorted(
        key for key in {*wanted, *found} - {*not_compared} if wanted.get(key) != found.get(key)
    )
    if different:
        raise SuiteError(
            f"{path} holds another run (it differs in {', '.join(different)}); choose another"
            " --output, or move that folder away."
        )
    return True
