"""Compares the epoch after a training state with honest replays of it, each with roundings of its
own.

After a few steps rounding has moved every loss by as much as a lie would. What the epoch comes to
has a scatter that the replays show: the mean of its losses, how far they are from the other
replays' step by step, and the correct samples after it. A run that is honest is one more of them,
inside Student's prediction interval for each of the three.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from suite.bundle.arrays import Values
from suite.bundle.steps import StepRecords
from suite.files.schema import Count, Positive
from suite.metrics.comparisons import student_t_quantile
from suite.metrics.replayed_losses import AuditVerdict

LEVEL = 1e-3
"""Share of honest epochs that are contradicted, at most."""
MIN_REPLAYS, MAX_REPLAYS = 5, 50
LEAST_LOSS = 1e-4
"""Smallest margin of a loss: that of a step (tools/audit_tolerances.py)."""
LEAST_CORRECT = 2e-4
"""Smallest margin of the correct samples, as a share of those evaluated."""
Losses = Sequence[float]
Loss = Annotated[float, Meta(ge=-1e100, le=1e100)]
"""Of a record: no training has a larger one, and the sums of larger ones overflow."""


@dataclass(frozen=True)
class ReplayedFigures:
    """What an epoch came to. ``mean_loss`` of its steps; ``apart_loss``: root mean square of the
    differences of its losses from the mean of the other replays'; ``correct`` samples in the
    evaluation after it, None where that was not repeated."""

    mean_loss: Loss
    apart_loss: Loss
    correct: Count | None


FIGURES = {
    "samples": "samples counted",
    "mean_loss": "mean loss",
    "apart_loss": "distance of the losses",
    "correct": "correct samples after them",
}
"""The figures of an epoch, in words."""


@dataclass(frozen=True)
class JudgedFigure:
    """A figure of the run, and between what those of honest replays are."""

    name: str
    observed: float
    low: float
    high: float

    @property
    def is_within(self) -> bool:
        """Whether an honest replay may have it."""
        return self.low <= self.observed <= self.high


@dataclass(frozen=True)
class EpochReplays:
    """The run's epoch and its replays: the first ``steps`` steps after the state, which counted
    ``samples`` samples where there are ``expected_samples``; ``eval_samples`` are evaluated."""

    steps: Positive
    samples: Count
    expected_samples: Positive
    eval_samples: Positive
    recorded: ReplayedFigures
    replayed: Annotated[
        tuple[ReplayedFigures, ...], Meta(min_length=MIN_REPLAYS, max_length=MAX_REPLAYS)
    ]

    @property
    def verdict(self) -> AuditVerdict:
        """Contradicts, if a figure is none that an honest replay may have."""
        is_honest = all(figure.is_within for figure in self.judged())
        return AuditVerdict.AGREES if is_honest else AuditVerdict.CONTRADICTS

    def judged(self) -> Iterator[JudgedFigure]:
        """The figures that both sides have. Losses may be nearer to the replays' than they are to
        each other."""
        yield JudgedFigure("samples", self.samples, self.expected_samples, self.expected_samples)
        for name, observed in vars(self.recorded).items():
            values = [getattr(each, name) for each in self.replayed]
            if observed is not None and None not in values:
                low, high = interval(values, least_margin(name, self.eval_samples))
                yield JudgedFigure(name, observed, 0.0 if name == "apart_loss" else low, high)


def interval(values: Sequence[float], least: float) -> tuple[float, float]:
    """In which one more of the values is, but for LEVEL of them; ``least`` on both sides of their
    mean."""
    allowed, mean = (
        scatter_margin(len(values), statistics.stdev(values), least),
        statistics.fmean(values),
    )
    return mean - allowed, mean + allowed


def scatter_margin(count: int, scatter: float, least: float) -> float:
    """How far one more value may be from the mean of ``count`` values of this standard
    deviation."""
    level = LEVEL / len(ReplayedFigures.__annotations__)
    return max(least, student_t_quantile(count - 1, 1 - level) * math.sqrt(1 + 1 / count) * scatter)


def least_margin(name: str, eval_samples: int) -> float:
    """The smallest margin of a figure."""
    return max(1.0, LEAST_CORRECT * eval_samples) if name == "correct" else LEAST_LOSS


def samples_of(steps: StepRecords, count: int, after: int) -> int:
    """Samples of the ``count`` steps after step ``after``, on all ranks."""
    return int(steps.samples[(steps.step > after) & (steps.step <= after + count)].sum())


def replay_figures(
    recorded: tuple[Losses, int | None], replayed: Sequence[tuple[Losses, int | None]]
) -> tuple[ReplayedFigures, tuple[ReplayedFigures, ...]]:
    """The figures of the run and of its replays: losses of the same steps, and correct samples."""
    losses = np.array([each for each, _ in replayed])
    others = (losses.sum(axis=0) - losses) / (len(losses) - 1)
    found = [
        _figures(own, mean, correct)
        for own, mean, (_, correct) in zip(losses, others, replayed, strict=True)
    ]
    correct = None if found[0].correct is None else recorded[1]
    return _figures(np.array(recorded[0]), losses.mean(axis=0), correct), tuple(found)


def _figures(losses: Values, others: Values, correct: int | None) -> ReplayedFigures:
    apart = math.sqrt(float(((losses - others) ** 2).mean()))
    return ReplayedFigures(float(losses.mean()), apart, correct)
