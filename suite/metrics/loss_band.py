"""Whether a run's losses are those of the reference: a projected time is one to the target only
where the run learns as the reference does.

The band of an epoch is a prediction interval for one more run (Student's t on the logarithms of the
reference runs' mean losses). All epochs of an honest run are inside their bands together with a
probability of 99 %. Epochs that fewer than MIN_RUNS reference runs trained have no band.
"""

import functools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suite.catalog.reference_losses import ReferenceLosses, load_reference_losses
from suite.catalog.reference_points import setting_of
from suite.catalog.rounds import current_round
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.metrics.comparisons import student_t_quantile

LEVEL = 0.01
MIN_RUNS = 4
_UNKNOWN = "no losses of reference runs are known"


@dataclass(frozen=True)
class Band:
    """The mean losses of an epoch that one more run of the reference would have; of ``runs``
    reference runs."""

    epoch: int
    low: float
    high: float
    runs: int


def loss_bands(reference: ReferenceLosses, epochs: int) -> tuple[Band, ...]:
    """The bands of the first ``epochs`` epochs, as far as there are any."""
    found = []
    for epoch in range(1, epochs + 1):
        logs = [
            math.log(run.losses[epoch - 1]) for run in reference.runs if len(run.losses) >= epoch
        ]
        if len(logs) >= MIN_RUNS:
            found.append((epoch, logs))
    return tuple(_band(epoch, logs, LEVEL / len(found)) for epoch, logs in found)


def _band(epoch: int, logs: Sequence[float], level: float) -> Band:
    margin = (
        student_t_quantile(len(logs) - 1, 1 - level)
        * statistics.stdev(logs)
        * math.sqrt(1 + 1 / len(logs))
    )
    mean = statistics.fmean(logs)
    return Band(epoch, math.exp(mean - margin), math.exp(mean + margin), len(logs))


def _bands_at(
    setting: tuple[int, float, int], workload: str, rate_tolerance: float, epochs: int
) -> tuple[Band, ...] | None:
    """The bands of the first ``epochs`` epochs at a setting of a reference point (batch size,
    learning rate, local batch size or 0); None where no losses are known."""
    for each in _losses(workload):
        is_same = (each.batch_size, each.local_batch_size or 0) == (setting[0], setting[2])
        if is_same and abs(setting[1] / each.base_learning_rate - 1) <= rate_tolerance:
            return loss_bands(each, epochs)
    return None


def why_other(
    losses: Mapping[int, float],
    workload: str,
    setting: tuple[int, float, int],
    rate_tolerance: float,
) -> str | None:
    """Why a run's losses do not show that it learns as the reference does; None where all are
    inside their bands. ``losses`` are the mean losses of its whole epochs, by their numbers."""
    try:
        bands = _bands_at(setting, workload, rate_tolerance, max(losses, default=0))
    except SuiteError as error:
        return str(error)
    if bands is None:
        return f"{_UNKNOWN} at batch size {setting[0]}, learning rate {setting[1]:g}"
    held = [band for band in bands if band.epoch in losses]
    return (
        next(_losses_outside(losses, held), None)
        if held
        else "no epoch has a mean loss that can be compared with the reference's"
    )


def refuse_without_bands(request: Mapping[str, Any], epochs: int) -> None:
    """Raise SuiteError for a short entry whose losses nothing can be compared with."""
    workload, setting = str(request["workload"]), setting_of(request, current_round())
    if not _bands_at(setting, workload, load_scoring().rate_tolerance, epochs):
        raise SuiteError(
            f"A short entry of {workload!r} can have no rank, because {_UNKNOWN} at batch size"
            f" {setting[0]}, learning rate {setting[1]:g}",
            "leave --short out, or train in the open division",
        )


_losses = functools.cache(load_reference_losses)  # asked for every run of a report


def _losses_outside(losses: Mapping[int, float], of_epochs: Sequence[Band]) -> Iterator[str]:
    for band in of_epochs:
        loss = losses[band.epoch]
        if not band.low <= loss <= band.high:
            yield (
                f"the mean loss of epoch {band.epoch} is {loss:.3g}, outside the band of"
                f" {band.runs} reference runs, {band.low:.3g} to {band.high:.3g}"
            )
