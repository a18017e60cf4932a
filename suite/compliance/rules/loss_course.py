"""Losses: their course, as training from initial weights gives it."""

import math
from collections.abc import Iterator

from suite.bundle.layout import STEPS
from suite.catalog.divisions import Division
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation

ORDER = 72  # after the steps, before the machine

MAX_EQUAL_SHARE, MIN_STEPS = 0.02, 100
WINDOW, UNTRAINED, TRAINED = 10, 0.6, 0.1
"""Steps of a mean; shares of the loss of guessing above which a model is untrained, and below which
it is trained."""


def _repeated(context: BundleContext) -> Iterator[Violation]:
    """Check that hardly any loss equals that of the step before, in each rank's steps."""
    import numpy as np  # start-up

    for rank, steps in context.steps.by_rank():
        equal = np.flatnonzero(np.diff(steps.loss) == 0)
        if len(steps) >= MIN_STEPS and len(equal) > MAX_EQUAL_SHARE * len(steps):
            yield Violation(
                STEPS,
                f"losses that differ from one step to the next, on rank {rank}",
                f"{len(equal)} of {len(steps)} equal to that of the step before, the first in step"
                f" {int(steps.step[equal[0] + 1])}",
            )


def _course(context: BundleContext) -> Iterator[Violation]:
    """Check that the loss does not fall from that of an untrained model to that of a trained one
    within a few steps."""
    import numpy as np  # start-up

    losses, classes = context.steps.first_rank.loss, context.request.data.classes
    if len(losses) < 2 * WINDOW or context.request.division != Division.CLOSED.value or classes < 2:
        return
    guess = math.log(classes)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(losses, WINDOW), axis=1)
    falls = np.flatnonzero(
        (medians[:-WINDOW] > UNTRAINED * guess) & (medians[WINDOW:] < TRAINED * guess)
    )
    if len(falls):
        first = int(falls[0])
        step = int(context.steps.first_rank.step[first + WINDOW])
        yield Violation(
            STEPS,
            f"a loss that takes more than {WINDOW} steps from above {UNTRAINED * guess:.2f} to"
            f" below {TRAINED * guess:.2f}",
            f"{medians[first]:.3f} in the {WINDOW} steps before step {step},"
            f" {medians[first + WINDOW]:.3f} from it on",
        )


RULES = (
    Rule(
        "losses-measured",
        "In a closed run at most one loss in fifty equals that of the step before.",
        "Steps of a larger mini-batch that were cut in pieces have the same loss; in the open"
        " division losses may have few bits.",
        "record the loss of every mini-batch as it was computed",
        (OfBundle("losses-measured", _repeated, divisions=CLOSED),),
    ),
    Rule(
        "losses-fall",
        "In a closed run the loss takes more than ten steps from that of an untrained model to"
        " that of a trained one.",
        "A loss that falls at once is one of a model that was trained before.",
        "begin with the initial weights of the workload",
        (OfBundle("losses-fall", _course, divisions=CLOSED),),
    ),
)
