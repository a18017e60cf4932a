"""A quick look: a few epochs of a workload under its own schedule, and the projected time to its target (suite.metrics.projection).

In a given time it may be a part of an epoch only: a few steps then say what an epoch would take (suite.metrics.epoch_from_steps).
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.scoring import load_scoring
from suite.catalog.timings import Timing
from suite.errors import SuiteError
from suite.execution.request import RunRequest
from suite.metrics.epoch_from_steps import MIN_STEPS, EpochFromSteps, epoch_from_steps, intervals_s
from suite.metrics.projection import MIN_LATER_EPOCHS, Projection, project

MIN_EPOCHS = MIN_LATER_EPOCHS + 1
EVALUATION_OF_STEP = 1 / 3
"""Of the time of a step on as many samples: a forward pass costs about a third."""

Run = Callable[[RunRequest], Path]


@dataclass(frozen=True)
class QuickLook:
    """What a short run says. ``reached_s`` is the time to the target of a run that reached it; the reference's epochs project that of any other.

    ``reason`` says why there is no projection. ``estimate`` is of a run that had no time for MIN_EPOCHS; ``most_epochs`` is the number that
    the workload trains at most.
    """

    workload: str
    run: Path
    epochs: int
    epoch_s: float | None
    reached_s: float | None
    projection: Projection | None
    reason: str | None
    most_epochs: int
    estimate: EpochFromSteps | None = None


def trial_of(run: Path) -> Path:
    """The directory of a run's first steps, which :func:`look_within` removes; a killed one leaves it."""
    return run.with_name(f"{run.name}.trial")


def steps_of_epoch(request: RunRequest) -> int:
    """Mini-batches of an epoch, the last and smaller one among them."""
    training = request.training
    return -(-training.data.train_samples // training.global_batch_size)


def shortened(request: RunRequest, epochs: int) -> RunRequest:
    """The request, ended after ``epochs`` epochs of its schedule."""
    return _ended(request, epochs * steps_of_epoch(request))


def look(request: RunRequest, epochs: int, run: Run) -> QuickLook:
    """Make the short run with ``run``, which returns its directory, and project from it."""
    path = run(shortened(request, epochs))
    bundle = Bundle(path)
    summary = bundle.json(SUMMARY)
    figures = summary["figures"]
    projection, reason = None, None
    try:
        projection = project(bundle, load_scoring())
    except SuiteError as error:
        reason = str(error)
    epoch_s, reached_s = (figures[name]["value"] for name in ("time_to_epoch_s", "time_to_target_s"))
    return QuickLook(request.workload.name, path, len(summary["epochs"]), epoch_s, reached_s, projection, reason, request.workload.epochs)


def look_within(request: RunRequest, epochs: int, within_s: float, run: Run, clock: Callable[[], float] = time.monotonic) -> QuickLook:
    """As ``look``, in about ``within_s``: up to ``epochs`` epochs if three are possible, else as many steps as are, MIN_STEPS at least.

    A first run of MIN_STEPS steps, which is not kept, says how long a run takes to start and a step to train.
    """
    started_s = clock()
    step_s = _trial_step_s(request, run)
    trial_s = clock() - started_s
    left_s = within_s - 2 * trial_s + MIN_STEPS * step_s  # the run takes as long to start and to end as the trial did
    whole, training = steps_of_epoch(request), request.training
    epoch_s = step_s * (whole + EVALUATION_OF_STEP * -(-training.data.eval_samples // training.global_batch_size))
    fitting = int(max(0.0, left_s) / epoch_s)
    if fitting >= MIN_EPOCHS:
        return look(request, min(epochs, fitting), run)
    steps = fitting * whole + min(whole, int((left_s - fitting * epoch_s) / step_s))
    return _part(request, run(_waiting(_ended(request, max(MIN_STEPS, steps)))))


def _trial_step_s(request: RunRequest, run: Run) -> float:
    """The mean time of a step, s, from a run that is removed again."""
    trial, place = _waiting(_ended(request, MIN_STEPS)), trial_of(Path(request.training.output_directory))
    path = run(replace(trial, training=trial.training._replace(output_directory=str(place))))
    try:
        return float(intervals_s(Bundle(path).steps()).mean())
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _part(request: RunRequest, path: Path) -> QuickLook:
    """What a run of less than MIN_EPOCHS epochs says."""
    bundle, whole = Bundle(path), steps_of_epoch(request)
    estimate = epoch_from_steps(bundle.steps(), whole, load_scoring())
    epochs = sum(bool(epoch.get("is_whole", True)) for epoch in bundle.json(SUMMARY)["epochs"])
    reason = f"it had time for {estimate.steps} steps, {epochs} whole epochs; a projection needs {MIN_EPOCHS}, whose losses are compared"
    return QuickLook(request.workload.name, path, epochs, None, None, None, reason, request.workload.epochs, estimate)


def _ended(request: RunRequest, steps: int) -> RunRequest:
    return replace(request, training=request.training._replace(steps=steps))


def _waiting(request: RunRequest) -> RunRequest:
    """In synchronised timing: asynchronous steps begin when they are submitted, and a few of them are all submitted before the first one is done."""
    return replace(request, training=request.training._replace(timing=str(Timing.SYNCHRONISED.value)))
