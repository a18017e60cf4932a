"""Projected time to the target: a few epochs of one run, continued to the expected epochs of the
round's reference point.

``first + (N - 1) later + N evaluation``, as the rulebook scores a run. The interval, of 95 %, has
three parts: how epochs scatter, those that were measured and those of another training (Student's
t); what runs of one machine share (the noise floor of rules/scoring.toml); and the error of N, from
the scatter of the reference's runs. How many epochs one seed needs is not in it: it is an interval
of the mean.

Only a run that learns as the reference does needs the reference's epochs: its losses are held
against the reference's (suite.metrics.loss_band).
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.reference_points import frozen_points, setting_of
from suite.catalog.rounds import judging_round
from suite.catalog.scoring import Scoring
from suite.errors import SuiteError
from suite.metrics.comparisons import Interval, interval_around, student_t_quantile
from suite.metrics.costs import TrainingCost
from suite.metrics.counted_time import trained_s
from suite.metrics.expected_epochs import ExpectedEpochs, expected_epochs
from suite.metrics.loss_band import why_other
from suite.metrics.uncertainty import NORMAL

MIN_LATER_EPOCHS = 2
STEADY_WITHIN = 0.05


@dataclass(frozen=True)
class TimeProjection:
    """A projected time to the target, s, from ``trained`` epochs; the reference's ``runs`` needed
    ``epochs`` on average.

    ``is_steady``: the last epoch took as long as the second, within STEADY_WITHIN; a board that
    throttles does not.
    """

    workload: str
    time_s: Interval
    trained: int
    epochs: float
    runs: int
    is_steady: bool


@dataclass(frozen=True)
class EpochTimes:
    """Times of a run's whole epochs in their order, and of an evaluation: what the run spends in no
    epoch, over its epochs; s."""

    epochs_s: tuple[float, ...]
    evaluation_s: float


def project_run(bundle: Bundle, scoring: Scoring) -> TimeProjection:
    """The projection from a finished run.

    Raises SuiteError where its setting has no reference point, where it has too few whole epochs,
    or where its losses are not the reference's.
    """
    times = epoch_times(bundle)
    if len(times.epochs_s) < MIN_LATER_EPOCHS + 1:
        raise SuiteError(
            f"{bundle.path} has {len(times.epochs_s)} whole epochs; a projection needs at least"
            f" {MIN_LATER_EPOCHS + 1}: train longer."
        )
    run, expected = bundle.run(), expected_at(bundle, scoring)
    workload = str(run.request["workload"])
    losses = {int(epoch["epoch"]): float(epoch["mean_loss"]) for epoch in _whole_epochs(bundle)}
    setting = setting_of(run.request, judging_round(run.round))
    other = why_other(losses, workload, setting, scoring.rate_tolerance)
    if other is not None:
        raise SuiteError(
            f"The run may need a different number of epochs than the reference: {other}."
        )
    return project_times(workload, times, expected, scoring)


def epoch_times(bundle: Bundle) -> EpochTimes:
    """The times of a finished run; raises SuiteError for one without an evaluation."""
    epochs_s = tuple(float(epoch["end_to_end_s"]) for epoch in _whole_epochs(bundle))
    if not epochs_s:
        raise SuiteError(f"{bundle.path} has no whole epoch; train longer.")
    time_s = trained_s(bundle.log())
    if time_s is None:
        raise SuiteError("The run has no evaluation; train at least one whole epoch.")
    return EpochTimes(epochs_s, (time_s - math.fsum(epochs_s)) / len(epochs_s))


def expected_at(bundle: Bundle, scoring: Scoring) -> ExpectedEpochs:
    """The reference's epochs at the run's setting, in its round; raises SuiteError where there are
    none."""
    request, of_round = bundle.run().request, judging_round(bundle.run().round)
    if request.get("accumulation", 1) != 1:
        raise SuiteError(
            "Reference points apply only to runs that update the weights after every mini-batch;"
            f" this run updated them after every {request['accumulation']} mini-batches."
        )
    workload, (batch, rate, local) = str(request["workload"]), setting_of(request, of_round)
    points = frozen_points(of_round, workload)
    expected = expected_epochs(points, batch, rate, local or None, scoring.rate_tolerance)
    if expected is None:
        known = (
            ", ".join(
                f"batch size {point.batch_size}, learning rate {point.base_learning_rate:g}"
                for point in points
            )
            or "none"
        )
        raise SuiteError(
            f"No reference point of {workload} is at batch size {batch} and learning rate {rate:g};"
            f" round {of_round.name} has: {known}."
        )
    return expected


def _whole_epochs(bundle: Bundle) -> list[Mapping[str, Any]]:
    return [epoch for epoch in bundle.json(SUMMARY)["epochs"] if epoch.get("is_whole", True)]


def project_times(
    workload: str, times: EpochTimes, expected: ExpectedEpochs, scoring: Scoring
) -> TimeProjection:
    """The projection from the times of three epochs or more."""
    first_s, later_s = times.epochs_s[0], times.epochs_s[1:]
    mean_s, epochs, evaluation_s = statistics.fmean(later_s), expected.epochs, times.evaluation_s
    time_s = TrainingCost(first_s, mean_s, evaluation_s).total(epochs)
    # of the mean that was measured, and of a training's own epochs, the first ones of both included
    scatter_s = statistics.stdev(later_s) * math.sqrt((epochs - 1) ** 2 / len(later_s) + epochs + 1)
    error_s = epochs * (mean_s + evaluation_s) * expected.log_sd / math.sqrt(len(expected.runs))
    by_scatter = float(student_t_quantile(len(later_s) - 1, 1 - scoring.level)) * scatter_s / time_s
    margin = math.hypot(by_scatter, NORMAL * error_s / time_s, NORMAL * scoring.noise_floor)
    is_steady = abs(later_s[-1] / later_s[0] - 1) <= STEADY_WITHIN
    interval = interval_around(time_s, margin)
    return TimeProjection(
        workload, interval, len(times.epochs_s), epochs, len(expected.runs), is_steady
    )
