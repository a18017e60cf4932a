"""Epochs: the losses and the times of none were made of another's."""

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import STEPS
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.arrays import Values
    from suite.bundle.steps import StepRecords

ORDER = 97  # after the step times' and the losses' own rules

MIN_STEPS, MAX_EPOCHS = 100, 100
RATIO_TOLERANCE = 1e-6  # of float32, which has 1.2e-7
# 0.02 at most in 18 real runs of three frameworks, and where losses are those of guessing
MIN_IN_RATIO = 0.5
MIN_DISTINCT = 0.5  # losses of few bits are equal by chance

# halves of epochs that are compared, and their steps: more show no more
MAX_BLOCKS, BLOCK_STEPS = 40, 1000
MIN_SHARED, TIMES_LIKELY = 30, 6.0  # 5 at most, and 1.8 times, in the same runs
FIX = "run again; never edit losses"


def _losses(context: BundleContext) -> Iterator[Violation]:
    """Check that the losses of two epochs, sorted, are not in one ratio."""
    import numpy as np  # start-up

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
                    "losses of their own in every epoch",
                    f"{share:.0%} of those of epoch {second} of rank {rank} are"
                    f" {np.median(ratios):.4g} times those of epoch {first}, if sorted",
                )
                return


def _sorted_losses(steps: "StepRecords") -> "dict[int, Values]":
    """The sorted losses of the epochs whose losses are positive and mostly different."""
    import numpy as np  # start-up

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


def _times(context: BundleContext) -> Iterator[Violation]:
    """Check that no half of an epoch shares more compute times with another half, to the
    nanosecond, than both have twice themselves."""
    import numpy as np  # start-up

    for rank, of_rank in context.steps.by_rank():
        blocks = _halves(of_rank)
        if len(blocks) < 2:
            continue
        shared, likely = _coincidences([times for _, times in blocks])
        suspicious = np.argwhere(np.triu(shared > MIN_SHARED + TIMES_LIKELY * likely, 1))
        if len(suspicious):
            first, second = suspicious[np.argmax([shared[one, other] for one, other in suspicious])]
            names = " and ".join(
                f"the {half} half of epoch {epoch}"
                for epoch, half in (blocks[first][0], blocks[second][0])
            )
            yield Violation(
                STEPS,
                "times of their own in every part of a run",
                f"{shared[first, second]:.0f} times of computing, to the nanosecond, in {names} of"
                f" rank {rank}; by chance {likely[first, second]:.0f}",
            )


def _halves(steps: "StepRecords") -> "list[tuple[tuple[int, str], Values]]":
    """Name and compute times, in whole ns, of both halves of the first epochs."""
    import numpy as np  # start-up

    found: list[tuple[tuple[int, str], Values]] = []
    for epoch, of_epoch in steps.by_epoch():
        times_ns = np.round(of_epoch.compute_s / SECONDS_PER_NS)
        middle = len(times_ns) // 2
        if middle < MIN_STEPS or len(found) + 2 > MAX_BLOCKS:
            continue
        found += [
            ((epoch, "first"), times_ns[:middle][:BLOCK_STEPS]),
            ((epoch, "second"), times_ns[middle:][:BLOCK_STEPS]),
        ]
    return found


def _coincidences(blocks: "list[Values]") -> "tuple[Values, Values]":
    """Pairs of equal times between every two blocks, and as many as the pairs within the blocks
    make likely (Cauchy and Schwarz)."""
    import numpy as np  # start-up

    sizes = np.array([len(block) for block in blocks], dtype=float)
    owners = np.repeat(np.arange(len(blocks)), sizes.astype(int))
    _, places, counts = np.unique(np.concatenate(blocks), return_inverse=True, return_counts=True)
    rows = (np.cumsum(counts > 1) - 1)[places]
    is_repeated = (counts > 1)[places]
    table = np.zeros((int((counts > 1).sum()), len(blocks)))
    np.add.at(table, (rows[is_repeated], owners[is_repeated]), 1.0)
    shared = table.T @ table
    within = np.clip((np.diag(shared) - table.sum(axis=0)) / (sizes * (sizes - 1)), 0.0, None)
    likely = np.outer(sizes, sizes) * np.sqrt(np.outer(within, within))
    return shared, likely


RULES = (
    Rule(
        "epoch-losses-own",
        "The losses of no two epochs of a rank are in one ratio, in whatever order.",
        "The weights change with every step. Losses of another epoch, shuffled and scaled,"
        " belong to no training.",
        FIX,
        (OfBundle("epoch-losses-own", _losses),),
    ),
    Rule(
        "epoch-times-own",
        "No half of an epoch shares 30 compute times with another half, to the nanosecond,"
        " beyond six times what their own repetitions make likely.",
        "Times that occur in two places were measured in one of them: the other place was"
        " disturbed, or slow, or not trained.",
        TRAINING_LOOP,
        (OfBundle("epoch-times-own", _times, needs_split=True),),
    ),
)
