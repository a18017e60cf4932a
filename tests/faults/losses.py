"""Faults that the rules of suite.compliance.rules.losses find, by rule."""

from tests.faults.edits.fault import Fault, both
from tests.faults.edits.log_edits import EPOCHS, guess, reach_target_after
from tests.faults.edits.step_edits import (
    change_losses,
    copy_rank,
    never_learn,
    repeat_losses,
    round_losses,
    smooth_losses,
    sort_losses,
    stretch_losses,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "losses-scatter": (
        *both("the losses sorted", sort_losses()),
        *both("the losses smoothed over 50 steps", smooth_losses(50)),
        *both("every fourth loss, the others on straight lines", stretch_losses(4)),
        *both("the losses of a formula", change_losses(lambda step: 2.3 / (1 + 0.01 * step))),
    ),
    "losses-own": (
        *both("the losses of epoch 2 in epoch 1, but for its first 20", repeat_losses(2, 1, 20)),
        *both("the losses of epoch 2 in epoch 3", repeat_losses(2, 3)),
    ),
    "losses-float32": (
        *both("the losses rounded to four decimals", round_losses(4)),
        *both(
            "the losses of a formula in float64",
            change_losses(lambda step: 2.3 / (1 + 0.01 * step)),
        ),
    ),
    "losses-of-ranks": both("rank 1 with the losses of rank 0", copy_rank(("loss",)), ranks=2),
    "accuracy-below-loss": (
        *both("the loss never falls", never_learn()),
        *(
            fault
            for number in EPOCHS[:2]
            for fault in both(
                f"the target said to be reached in epoch {number + 1}",
                reach_target_after(number),
            )
        ),
    ),
    "accuracy-above-guessing": both("the accuracy of guessing in epoch 2", guess(1)),
}
