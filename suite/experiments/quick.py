"""A quick look: a few epochs of a workload under its own schedule, and the projected time to its
target (suite.metrics.projection).

In a given time it may be a part of an epoch only: a few steps then say what an epoch would take
(suite.metrics.epoch_from_steps).
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.scoring import load_scoring
from suite.catalog.timings import EVALUATION_OF_STEP, Timing
from suite.errors import SuiteError
from suite.execution.request import RunRequest
from suite.files.counted import counted
from suite.metrics.epoch_from_steps import MIN_STEPS, EpochFromSteps, epoch_from_steps, intervals_s
from suite.metrics.projection import MIN_LATER_EPOCHS, TimeProjection, project_run

MIN_EPOCHS = MIN_LATER_EPOCHS + 1
TRIAL = ".trial"
TRIAL_SHARE = 0.1
"""Of the time that is left after the first trial: what a second one may take."""

Run = Callable[[RunRequest], Path]


@dataclass(frozen=True)
class QuickLook:
    """What a short run says. ``reached_s`` is the time to the target of a run that reached it; the
    reference's epochs project that of any other.

    ``reason`` says why there is no projection. ``estimate`` is of a run that had no time for
    MIN_EPOCHS; ``most_epochs`` is the number that the workload trains at most.
    """

    workload: str
    run: Path
    epochs: int
    epoch_s: float | None
    reached_s: float | None
    projection: TimeProjection | None
    reason: str | None
    most_epochs: int
    estimate: EpochFromSteps | None = None


def trial_of(run: Path) -> Path:
    """The directory of a run's first steps, which :func:`look_within` removes; a killed one leaves
    it."""
    return run.with_name(f"{run.name}{TRIAL}")


def steps_of_epoch(request: RunRequest) -> int:
    """Mini-batches of an epoch, the last and smaller one among them."""
    training = request.training
    return -(-training.data.train_samples // training.global_batch_size)


def shorten_request(request: RunRequest, epochs: int) -> RunRequest:
    """The request, ended after ``epochs`` epochs of its schedule."""
    return _ended(request, epochs * steps_of_epoch(request))


def quick_look(request: RunRequest, epochs: int, run: Run) -> QuickLook:
    """Make the short run with ``run``, which returns its directory, and project from it."""
    path = run(shorten_request(request, epochs))
    bundle = Bundle(path)
    summary = bundle.json(SUMMARY)
    figures = summary["figures"]
    projection, reason = None, None
    try:
        projection = project_run(bundle, load_scoring())
    except SuiteError as error:
        reason = str(error)
    epoch_s, reached_s = (
        figures[name]["value"] for name in ("time_to_epoch_s", "time_to_target_s")
    )
    return QuickLook(
        request.workload.name,
        path,
        len(summary["epochs"]),
        epoch_s,
        reached_s,
        projection,
        reason,
        request.workload.epochs,
    )


def look_within(
    request: RunRequest,
    epochs: int,
    within_s: float,
    run: Run,
    clock: Callable[[], float] = time.monotonic,
) -> QuickLook:
    """As ``look``, in about ``within_s``: up to ``epochs`` epochs if three are possible, else as
    many steps as are, MIN_STEPS at least.

    A first run of MIN_STEPS steps, which is not kept, says how long a run takes to start and a step
    to train; where that is a small part of the time, so does a second one of more steps, because
    the first steps are slower.
    """
    ends_s = clock() + within_s
    step_s, around_s = _trial(request, MIN_STEPS, run, clock)
    left_s = ends_s - clock()
    more = min(steps_of_epoch(request), int((TRIAL_SHARE * left_s - around_s) / step_s))
    if more >= 10 * MIN_STEPS and _epochs_in(left_s - around_s, request, step_s)[0] < epochs:
        step_s, around_s = _trial(request, more, run, clock)
    fitting, more = _epochs_in(ends_s - clock() - around_s, request, step_s)
    if fitting >= MIN_EPOCHS:
        return quick_look(request, min(epochs, fitting), run)
    return _part(
        request,
        run(_waiting(_ended(request, max(MIN_STEPS, fitting * steps_of_epoch(request) + more)))),
    )


def _epochs_in(time_s: float, request: RunRequest, step_s: float) -> tuple[int, int]:
    """How many whole epochs can be trained and evaluated in a time, and how many steps of a further
    one."""
    whole, training = steps_of_epoch(request), request.training
    epoch_s = step_s * (
        whole + EVALUATION_OF_STEP * -(-training.data.eval_samples // training.global_batch_size)
    )
    epochs, left_s = divmod(max(0.0, time_s), epoch_s)
    return int(epochs), min(whole, int(left_s / step_s))


def _trial(
    request: RunRequest, steps: int, run: Run, clock: Callable[[], float]
) -> tuple[float, float]:
    """The mean time of a step and the time that a run takes to start and to end, both in s, from a
    run that is removed again."""
    trial, place = (
        _waiting(_ended(request, steps)),
        trial_of(request.directory),
    )
    began_s = clock()
    path = run(replace(trial, training=trial.training._replace(output_directory=str(place))))
    try:
        step_s = float(intervals_s(Bundle(path).steps()).mean())
        return step_s, max(0.0, clock() - began_s - steps * step_s)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _part(request: RunRequest, path: Path) -> QuickLook:
    """What a run of less than MIN_EPOCHS epochs says."""
    bundle, whole = Bundle(path), steps_of_epoch(request)
    estimate = epoch_from_steps(bundle.steps(), whole, load_scoring())
    epochs = sum(bool(epoch.get("is_whole", True)) for epoch in bundle.json(SUMMARY)["epochs"])
    reason = (
        f"the run had time for {counted(estimate.steps, 'step')} and"
        f" {counted(epochs, 'whole epoch')}, but a projection needs {MIN_EPOCHS} whole epochs:"
        " give more time with --within"
    )
    return QuickLook(
        request.workload.name,
        path,
        epochs,
        None,
        None,
        None,
        reason,
        request.workload.epochs,
        estimate,
    )


def _ended(request: RunRequest, steps: int) -> RunRequest:
    return replace(request, training=request.training._replace(steps=steps))


def _waiting(request: RunRequest) -> RunRequest:
    """In synchronised timing: asynchronous steps begin when they are submitted, and a few of them
    are all submitted before the first one is done."""
    return replace(
        request, training=request.training._replace(timing=str(Timing.SYNCHRONISED.value))
    )
