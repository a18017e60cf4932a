"""The time of an epoch from some of its steps, for machines on which an epoch takes hours.

From the start of one step to the start of the next, so that what lies between them counts. The
first interval is left out: caches and compilers warm up in it. Neighbouring steps are alike, so
that the interval stands on the means of up to BATCHES batches of steps (batch means: Law,
Simulation Modeling and Analysis, 5th edition, section 9.5.3), and on the noise floor, as that of a
projection does.
"""

import math
from dataclasses import dataclass

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Values
from suite.bundle.steps import StepRecords
from suite.catalog.scoring import Scoring
from suite.errors import SuiteError
from suite.metrics.comparisons import Interval, interval_around, student_t_quantile
from suite.metrics.uncertainty import NORMAL

BATCHES = 10
WARM_UP = 1
MIN_STEPS = WARM_UP + 4
"""Three intervals after the first one: the fewest that show how they scatter."""


@dataclass(frozen=True)
class EpochFromSteps:
    """What an epoch would take, s, from ``steps`` steps of rank 0; evaluations are not in it."""

    epoch_s: Interval
    steps: int


def intervals_s(steps: StepRecords) -> Values:
    """From step to step within epochs, s, without the first WARM_UP."""
    own = steps.first_rank
    between: Values = np.diff(own.start_ns)[np.diff(own.epoch) == 0] * SECONDS_PER_NS
    return between[WARM_UP:]


def epoch_from_steps(steps: StepRecords, steps_of_epoch: int, scoring: Scoring) -> EpochFromSteps:
    """The time of ``steps_of_epoch`` steps like these; raises SuiteError for fewer than
    MIN_STEPS."""
    measured = intervals_s(steps)
    if len(measured) < MIN_STEPS - 1 - WARM_UP:
        raise SuiteError(
            f"{len(steps.first_rank)} steps are too few to estimate the time of an epoch; "
            f"{MIN_STEPS} are needed: train longer."
        )
    batches = [batch.mean() for batch in np.array_split(measured, min(BATCHES, len(measured)))]
    epoch_s = steps_of_epoch * float(measured.mean())
    scatter = float(np.std(batches, ddof=1)) / math.sqrt(len(batches)) / float(measured.mean())
    margin = math.hypot(
        float(student_t_quantile(len(batches) - 1, 1 - scoring.level)) * scatter,
        NORMAL * scoring.noise_floor,
    )
    return EpochFromSteps(interval_around(epoch_s, margin), len(steps.first_rank))
