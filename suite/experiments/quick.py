"""A quick look: a few epochs of a workload under its own schedule, and the projected time to its target (suite.metrics.projection)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.execution.request import RunRequest
from suite.metrics.projection import Projection, project


@dataclass(frozen=True)
class QuickLook:
    """What a short run says. ``reached_s`` is the time to the target of a run that reached it; the reference's epochs project that of any other.

    ``reason`` says why there is no projection.
    """

    workload: str
    run: Path
    epochs: int
    epoch_s: float | None
    reached_s: float | None
    projection: Projection | None
    reason: str | None


def shortened(request: RunRequest, epochs: int) -> RunRequest:
    """The request, ended after ``epochs`` epochs of its schedule."""
    training = request.training
    steps = epochs * -(-training.data.train_samples // training.global_batch_size)
    return replace(request, training=training._replace(steps=steps))


def look(request: RunRequest, epochs: int, run: Callable[[RunRequest], Path]) -> QuickLook:
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
    return QuickLook(request.workload.name, path, len(summary["epochs"]), epoch_s, reached_s, projection, reason)
