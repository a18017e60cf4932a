"""Losses: those of mini-batches that were trained on, from initial weights, and as low as the
accuracies need."""

import math
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from suite.bundle.arrays import Mask, Values
from suite.bundle.layout import STEPS
from suite.bundle.log import LogEvent
from suite.bundle.steps import StepRecords
from suite.catalog.divisions import Division
from suite.catalog.frameworks import is_own, known_frameworks
from suite.compliance.evidence import repeated_block, too_few_turning_points
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted

ORDER = 72  # after the results

FIRST_STEPS, FIRST_LOSS = 10, (0.5, 3.0)  # of ln(classes), the loss of guessing
MAX_REPEATED_SHARE, MIN_STEPS, MAX_EPOCHS = 0.02, 100, 100
MIN_SCATTERED = (
    500  # with fewer, six standard deviations are more than a smoothed course differs by
)
WINDOW, UNTRAINED, TRAINED = 10, 0.6, 0.1
"""Steps of a mean; shares of the loss of guessing above which a model is untrained, and below which
it is trained."""
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
RATIO_TOLERANCE = 1e-6  # of float32, which has 1.2e-7
# 0.02 at most in 18 real runs of three frameworks, and where losses are those of guessing
MIN_IN_RATIO = 0.5
MIN_DISTINCT = 0.5  # losses of few bits are equal by chance


def _of_read(find: Callable[[BundleContext], Violations]) -> Callable[[BundleContext], Violations]:
    """The check, of a run whose mini-batches differ: in a stall analysis one run repeats one
    (`data-read` refuses it elsewhere), and learns it by heart."""

    def check(context: BundleContext) -> Violations:
        if context.request.batches == "read":
            yield from find(context)

    return check


def _check_loss_values(context: BundleContext) -> Violations:
    """Check that losses are finite, not negative and not all alike, and that the first ones are
    near the loss of guessing."""

    losses = context.steps.loss
    bad = ~((losses >= 0) & (losses < math.inf))
    if bad.any():
        steps, row = context.steps, int(bad.nonzero()[0][0])
        yield Violation(
            STEPS,
            "finite losses of zero or more",
            f"{losses[row]} in step {steps.step[row]} of epoch {steps.epoch[row]} on rank"
            f" {steps.rank[row]}; {counted(int(bad.sum()), 'such step')}",
        )
        return
    different = 1 + np.count_nonzero(np.diff(np.sort(losses)))
    is_read = context.request.batches == "read"
    if is_read and len(losses) > FIRST_STEPS and different < len(losses) / 10:
        yield Violation(
            STEPS,
            f"at least {math.ceil(len(losses) / 10)} different losses in {len(losses)} steps",
            f"{different} different loss{'es' * int(different != 1)}",
        )
    if (
        context.request.division == Division.CLOSED.value
        and context.request.data.classes > 1
        and len(losses)
    ):
        guess = math.log(context.request.data.classes)
        first = float(losses[:FIRST_STEPS].mean())
        if not FIRST_LOSS[0] * guess <= first <= FIRST_LOSS[1] * guess:
            yield Violation(
                STEPS,
                f"a mean loss of {FIRST_LOSS[0] * guess:.2f} to {FIRST_LOSS[1] * guess:.2f} in the"
                f" first {FIRST_STEPS} steps: {FIRST_LOSS[0]:g} to {FIRST_LOSS[1]:g} times"
                f" ln({context.request.data.classes}), the loss of guessing",
                f"a mean loss of {first:.3f}",
            )


def _equal(context: BundleContext) -> Violations:
    """Check that hardly any loss equals that of the step before, in each rank's steps."""

    for rank, steps in context.steps.by_rank():
        equal = np.flatnonzero(np.diff(steps.loss) == 0)
        if len(steps) >= MIN_STEPS and len(equal) > MAX_REPEATED_SHARE * len(steps):
            yield Violation(
                STEPS,
                f"at most {MAX_REPEATED_SHARE:.0%} of the losses of rank {rank} to equal the loss"
                " of the step before",
                f"{len(equal)} of {len(steps)} losses equal it, the first in step"
                f" {int(steps.step[equal[0] + 1])}",
            )


def _course(context: BundleContext) -> Violations:
    """Check that the loss does not fall from that of an untrained model to that of a trained one
    within a few steps."""

    losses, classes = context.steps.first_rank.loss, context.request.data.classes
    if len(losses) < 2 * WINDOW or context.request.division != Division.CLOSED.value or classes < 2:
        return
    guess = math.log(classes)
    high, low = UNTRAINED * guess, TRAINED * guess
    windows = np.lib.stride_tricks.sliding_window_view(losses, WINDOW)
    # a median beyond a limit has half of its window beyond it: few places need medians
    above, below = _is_mostly_true(losses > high), _is_mostly_true(losses < low)
    places = np.flatnonzero(above[:-WINDOW] & below[WINDOW:])
    before, after = (np.median(windows[each], axis=1) for each in (places, places + WINDOW))
    falls = np.flatnonzero((before > high) & (after < low))
    if len(falls):
        first, of_first = int(places[falls[0]]), int(falls[0])
        step = int(context.steps.first_rank.step[first + WINDOW])
        yield Violation(
            STEPS,
            f"a loss that takes more than {WINDOW} steps to fall from above {high:.2f} to below"
            f" {low:.2f}",
            f"a median of {before[of_first]:.3f} in the {WINDOW} steps before step {step}, and of"
            f" {after[of_first]:.3f} in the {WINDOW} steps from that step on",
        )


def _is_mostly_true(mask: Mask) -> Mask:
    """Whether half of the WINDOW values from each place on are true."""
    counts = np.lib.stride_tricks.sliding_window_view(mask, WINDOW).sum(axis=1)
    found: Mask = counts >= WINDOW / 2
    return found


def _single(context: BundleContext) -> Violations:
    """Check that the losses of a framework's float32 arithmetic are float32 numbers; of several
    ranks they may be means."""

    request = context.request
    framework = known_frameworks().get(request.framework)
    if framework is None or not framework.needs_environment or request.parallel.ranks > 1:
        return
    losses = context.steps.loss
    others = (losses != losses.astype(np.float32)).nonzero()[0]
    if len(others):
        yield Violation(
            STEPS,
            "losses that are float32 numbers, because the framework computes in float32",
            f"{float(losses[others[0]])!r} in step {context.steps.step[others[0]]}; {len(others)}"
            f" of {len(losses)} losses are not float32 numbers",
        )


def _scatter(context: BundleContext) -> Violations:
    """Check, rank by rank, that losses rise and fall from one mini-batch to the next as independent
    samples do."""

    for rank, steps in context.steps.by_rank():
        if len(steps) < MIN_SCATTERED:
            continue
        found = too_few_turning_points(steps.loss, TURNING_SHARE)
        if found is not None:
            turning, places, smallest = found
            yield Violation(
                STEPS,
                f"at least {smallest} losses that are larger or smaller than both neighbours,"
                " because mini-batches differ by chance",
                f"{turning} such losses among {places} of rank {rank}",
            )


def _repeated(context: BundleContext) -> Violations:
    """Check that no losses of several mini-batches in a row occur a second time."""

    for rank, steps in context.steps.by_rank():
        places = repeated_block(steps.loss, BLOCK, DISTINCT)
        if places is not None:
            first, second = (int(steps.step[place]) for place in places)
            yield Violation(
                STEPS,
                f"no sequence of {BLOCK} consecutive losses that occurs a second time",
                f"the losses of the steps {second} to {second + BLOCK - 1} of rank {rank} repeat "
                f"those of the steps {first} to {first + BLOCK - 1}",
            )


def _of_ranks(context: BundleContext) -> Violations:
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
                f"at most {max(MIN_EQUAL - 1, int(MAX_EQUAL_SHARE * count))} losses of rank {rank}"
                " to equal the loss of rank 0 in the same step, because ranks train on different"
                " samples",
                f"{equal} of {count} losses of rank {rank} equal the loss of rank 0",
            )


def _in_ratio(context: BundleContext) -> Violations:
    """Check that the losses of two epochs, sorted, are not in one ratio."""

    for rank, of_rank in context.steps.by_rank():
        courses = _sorted_losses(of_rank)
        for (first, one), (second, other) in combinations(courses.items(), 2):
            if len(one) != len(other):
                continue
            ratios = other / one
            share = float((abs(ratios / np.median(ratios) - 1) < RATIO_TOLERANCE).mean())
            if share >= MIN_IN_RATIO:
                yield Violation(
                    STEPS,
                    f"on rank {rank}, if the losses of epoch {first} and of epoch {second} are"
                    " sorted by size and compared in pairs, less than"
                    f" {MIN_IN_RATIO:.0%} of the pairs to have the same ratio",
                    f"{share:.0%} of the losses in epoch {second} are {np.median(ratios):.4g} times"
                    f" those in epoch {first}",
                )
                return


def _sorted_losses(steps: "StepRecords") -> "dict[int, Values]":
    """The sorted losses of the epochs whose losses are positive and mostly different."""

    found: dict[int, Values] = {}
    for epoch, of_epoch in steps.by_epoch():
        losses = np.sort(of_epoch.loss)
        if (
            len(losses) >= MIN_STEPS
            and losses[0] > 0
            and np.isfinite(losses[-1])
            and len(np.unique(losses)) >= MIN_DISTINCT * len(losses)
        ):
            found[epoch] = losses
        if len(found) == MAX_EPOCHS:
            break
    return found


def _low_enough(context: BundleContext) -> Violations:
    """Check each accuracy against the mean loss of the last quarter of its epoch."""
    samples = context.request.data.eval_samples
    for event, accuracy, loss, _ in _evaluated(context):
        errors, expected = (1 - accuracy) * samples, MIN_ERROR_PER_LOSS * loss * samples
        if expected >= MIN_EXPECTED_ERRORS and errors < expected:
            yield Violation(
                "log.txt",
                f"at least {expected:.0f} of {samples} evaluation samples classified wrongly,"
                f" because the mean training loss was {loss:.3g} in the last quarter of epoch"
                f" {event.epoch}",
                f"{errors:.0f} samples classified wrongly",
                event.line,
            )


def _high_enough(context: BundleContext) -> Violations:
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
                f"an accuracy of at least {GUESSED_ACCURACY / classes:.3g}, twice that of"
                f" guessing, because the mean training loss was {loss:.3g} in the last quarter of"
                f" epoch {event.epoch}",
                f"an accuracy of {accuracy:.4g}",
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


RULES = (
    Rule(
        "losses-computed",
        "Losses are finite and not negative. In a run of more than ten steps that reads its data,"
        " the number of different losses is at least a tenth of the number of steps. Closed runs"
        " have more limits. The mean of the first ten losses is 0.5 to 3 times the loss of"
        " guessing, ln(classes). If ten consecutive losses of rank 0 have a median above 60 % of"
        " the loss of guessing, the next ten have a median of at least 10 % of it. On each rank"
        " with 100 or more steps, at most 2 % of the losses equal the loss of the step before. In a"
        " closed run of one rank whose framework computes in float32, losses are float32 numbers.",
        "A model with its initial weights guesses, and needs more than ten steps to learn. Losses"
        " that break this rule were made up, come from other initial weights, or were rounded"
        " afterwards. If a larger mini-batch is recorded as several steps, these steps have the"
        " same loss.",
        "begin with the initial weights of the workload, and record the loss of every mini-batch as"
        " it was computed",
        (
            OfBundle("losses-possible", _check_loss_values),
            OfBundle("losses-measured", _equal, CLOSED),
            OfBundle("losses-fall", _course, CLOSED),
            OfBundle("losses-float32", _single, CLOSED),
        ),
    ),
    Rule(
        "losses-own",
        "This rule covers runs that read their data. No losses are smoothed or copied from other"
        " steps. On each rank with 500 or more steps, at least about 62 % of the losses are larger"
        " or smaller than both neighbours (six standard deviations fewer are tolerated). No eight"
        " consecutive losses of a rank occur a second time. No epoch repeats another epoch's"
        " losses, whether reordered, multiplied by a constant, or both. If the suite's own loop"
        " trained, at most a tenth of a rank's losses (or 19, if that is more) equal the loss of"
        " rank 0 in the same step.",
        "The mini-batches of an epoch share no sample, so their losses vary like independent"
        " values: about two thirds are larger or smaller than both neighbours. Sorted or smoothed"
        " losses have fewer such extremes. Losses have seven digits and the weights change with"
        " every step, so losses rarely repeat. Copied losses repeat. If one epoch's losses are"
        " another's, shuffled and scaled, the losses of the two epochs, sorted by size, differ by a"
        " constant factor.",
        "run again; never edit losses",
        (
            OfBundle("losses-scatter", _of_read(_scatter)),
            OfBundle("losses-own", _of_read(_repeated)),
            OfBundle("losses-of-ranks", _of_read(_of_ranks)),
            OfBundle("epoch-losses-own", _of_read(_in_ratio)),
        ),
    ),
    Rule(
        "accuracy-fits-loss",
        "This rule compares each evaluation with the mean training loss in the last quarter of the"
        " same epoch. In a closed run, the error rate (1 - accuracy) is at least 0.05 times this"
        " loss; this is checked only if that amounts to at least 20 wrong samples. In any run that"
        " reads its data, if this loss is below a quarter of the loss of guessing, ln(classes), the"
        " accuracy is at least twice that of guessing; this is checked from step 500 on, and only"
        " with more than two classes.",
        "A model with a mean cross-entropy of 0.3 on its training samples is wrong on about one in"
        " ten other samples, not on one in a hundred. In real runs, the error rate is 0.15 to 4.3"
        " times the loss. If a model with such a low training loss has the accuracy of guessing,"
        " the evaluation did not use this model.",
        "run again; never edit losses or accuracies",
        (
            OfBundle("accuracy-below-loss", _low_enough, CLOSED),
            OfBundle("accuracy-above-guessing", _of_read(_high_enough)),
        ),
    ),
)
