"""Losses: those of mini-batches that were trained on, and as low as the accuracies need."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from suite.bundle.layout import STEPS
from suite.catalog.frameworks import is_own, known_frameworks
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.log import LogEvent
    from suite.bundle.steps import StepRecords

ORDER = 91  # after losses-possible: they are numbers by now

MIN_STEPS = 500  # with fewer, six standard deviations are more than a smoothed course differs by
# 2/3 for independent losses; 0.641 to 0.676 in 20 real runs of three frameworks, batches of 16 to
# 128, one and two ranks
TURNING_SHARE = 0.62
# equal losses in a row, of them different: float32 has 10^7 values near one, bfloat16 a hundred
BLOCK, DISTINCT = 8, 4
# 0.15 to 4.3 in the same runs; a calibrated model that is 99 % sure of everything has 0.13
MIN_ERROR_PER_LOSS = 0.05
# a third of the fewest errors seen at that loss; with fewer samples, chance decides
MIN_EXPECTED_ERRORS = 20.0
GUESSED_ACCURACY, LEARNED_LOSS = 2.0, 0.25  # of 1 / classes and of ln(classes)
# of the losses of two ranks at the same steps: late losses may be zero in both
MIN_EQUAL, MAX_EQUAL_SHARE = 20, 0.1
# running statistics with the momentum 0.99 have forgotten their initial values by then
SETTLED_STEPS = 500
FIX = "run again; never edit losses or accuracies"


def _scatter(context: BundleContext) -> Iterator[Violation]:
    """Check, rank by rank, that losses rise and fall from one mini-batch to the next as independent
    samples do."""
    from suite.compliance.evidence import too_few_turning_points  # start-up: loads numpy

    for rank, steps in context.steps.by_rank():
        if len(steps) < MIN_STEPS:
            continue
        found = too_few_turning_points(steps.loss, TURNING_SHARE)
        if found is not None:
            turning, places, smallest = found
            yield Violation(
                STEPS,
                f"{smallest} or more, as of mini-batches that differ by chance",
                f"{turning} of {places} losses of rank {rank} are larger or smaller than both"
                " neighbours",
            )


def _repeated(context: BundleContext) -> Iterator[Violation]:
    """Check that no losses of several mini-batches in a row occur a second time."""
    from suite.compliance.evidence import repeated_block  # start-up: loads numpy

    for rank, steps in context.steps.by_rank():
        places = repeated_block(steps.loss, BLOCK, DISTINCT)
        if places is not None:
            first, second = (int(steps.step[place]) for place in places)
            yield Violation(
                STEPS,
                "losses of their own for every mini-batch",
                f"the losses of the steps {second} to {second + BLOCK - 1} of rank {rank} are those"
                f" of the steps {first} to {first + BLOCK - 1}",
            )


def _low_enough(context: BundleContext) -> Iterator[Violation]:
    """Check each accuracy against the mean loss of the last quarter of its epoch."""
    samples = context.request.data.eval_samples
    for event, accuracy, loss, _ in _evaluated(context):
        errors, expected = (1 - accuracy) * samples, MIN_ERROR_PER_LOSS * loss * samples
        if expected >= MIN_EXPECTED_ERRORS and errors < expected:
            yield Violation(
                "log.txt",
                f"{expected:.0f} or more of {samples} samples wrong at a mean loss of {loss:.3g} in"
                f" the last quarter of epoch {event.epoch}",
                f"{errors:.0f}",
                event.line,
            )


def _high_enough(context: BundleContext) -> Iterator[Violation]:
    classes = context.request.data.classes
    for event, accuracy, loss, done in _evaluated(context):
        has_learned = (
            done >= SETTLED_STEPS
            and classes > GUESSED_ACCURACY
            and loss < LEARNED_LOSS * math.log(classes)
        )
        if has_learned and accuracy < GUESSED_ACCURACY / classes:
            yield Violation(
                "log.txt",
                f"an accuracy over {GUESSED_ACCURACY / classes:.3g} at a mean loss of {loss:.3g} in"
                f" the last quarter of epoch {event.epoch}",
                f"{accuracy:.4g}",
                event.line,
            )


def _evaluated(context: BundleContext) -> "Iterator[tuple[LogEvent, float, float, int]]":
    """Every evaluation with its accuracy, the mean loss of the last quarter of its epoch, and the
    steps done by then."""
    epochs: dict[int, StepRecords] = dict(context.steps.by_epoch())
    for event in context.log.all("eval_accuracy"):
        steps = epochs.get(-1 if event.epoch is None else event.epoch)
        if steps is None or not isinstance(event.value, int | float) or not 0 <= event.value <= 1:
            continue
        first, last = int(steps.step.min()), int(steps.step.max())
        late = steps.loss[steps.step > last - max(1, (last - first + 1) // 4)]
        loss = float(late.mean())
        if math.isfinite(loss):
            yield event, float(event.value), loss, last


def _single(context: BundleContext) -> Iterator[Violation]:
    """Check that the losses of a framework's float32 arithmetic are float32 numbers; of several
    ranks they may be means."""
    import numpy as np  # start-up

    request = context.request
    framework = known_frameworks().get(request.framework)
    if framework is None or not framework.needs_environment or request.parallel.ranks > 1:
        return
    losses = context.steps.loss
    others = (losses != losses.astype(np.float32)).nonzero()[0]
    if len(others):
        yield Violation(
            STEPS,
            "losses that are float32 numbers, which the framework computes in",
            f"{float(losses[others[0]])!r} in step {context.steps.step[others[0]]}, {len(others)}"
            f" of {len(losses)} steps",
        )


def _of_ranks(context: BundleContext) -> Iterator[Violation]:
    """Check that the ranks' losses differ: every rank of the suite's own loop logs that of its own
    samples."""
    first = None
    for rank, steps in context.steps.by_rank() if is_own(context.request.framework) else ():
        first = steps.loss if first is None else first
        count = min(len(first), len(steps))
        equal = int((first[:count] == steps.loss[:count]).sum())
        if rank and equal >= MIN_EQUAL and equal > MAX_EQUAL_SHARE * count:
            yield Violation(
                STEPS,
                "losses of their own for every rank, which trains on other samples",
                f"{equal} of rank {rank} are rank 0's",
            )


RULES = (
    Rule(
        "losses-scatter",
        "Losses rise and fall from step to step as those of different mini-batches do.",
        "The mini-batches of an epoch share no sample, so their losses scatter independently"
        " around the course of the training: two of three are larger or smaller than both"
        " neighbours, whatever the scatter's size. Sorted, smoothed or interpolated losses are"
        " not.",
        FIX,
        (OfBundle("losses-scatter", _scatter),),
    ),
    Rule(
        "losses-own",
        "No eight losses in a row occur twice in a run.",
        "A loss has seven digits and belongs to one mini-batch and one state of the weights.",
        FIX,
        (OfBundle("losses-own", _repeated),),
    ),
    Rule(
        "losses-float32",
        "The losses of a closed run of one rank in a framework of the suite are float32 numbers.",
        "The closed division computes in float32. Losses that were rounded, or to which noise"
        " was added, are no such numbers.",
        FIX,
        (OfBundle("losses-float32", _single, divisions=CLOSED),),
    ),
    Rule(
        "losses-of-ranks",
        "The ranks of the suite's own loop have losses of their own: at most a tenth are equal"
        " at the same steps.",
        "Each rank trains on its share of a mini-batch, and logs the loss of that share.",
        FIX,
        (OfBundle("losses-of-ranks", _of_ranks),),
    ),
    Rule(
        "accuracy-below-loss",
        "In a closed run an evaluation has as many errors as the loss of its epoch implies,"
        " generously.",
        "A model with a mean cross-entropy of 0.3 on the samples that it was trained on is"
        " wrong on about one in ten of others, not on one in a hundred. The limit is a"
        " twentieth of an error a sample for each unit of loss; real runs have 0.15 to 4.3. In"
        " the open division the loss may be another function.",
        FIX,
        (OfBundle("accuracy-below-loss", _low_enough, divisions=CLOSED),),
    ),
    Rule(
        "accuracy-above-guessing",
        "A model whose loss is a quarter of that of guessing is not evaluated as one that guesses.",
        "Evaluations that were not made have the accuracy of chance.",
        FIX,
        (OfBundle("accuracy-above-guessing", _high_enough),),
    ),
)
