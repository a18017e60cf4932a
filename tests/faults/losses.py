"""Faults that the rules of suite.compliance.rules.losses find, by check."""

from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, both, edit
from tests.faults.edits.log_edits import EPOCHS, guess, set_accuracy
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
from tests.faults.edits.table_edits import drop_losses, group_losses, scale_column, set_cell


@edit
def _scaled_losses(bundle: EditableBundle, source: int, target: int, factor: float) -> None:
    """Give epoch ``target`` the losses of epoch ``source``, in the opposite order and scaled, as
    float32."""
    losses = bundle.steps.loc[bundle.steps["epoch"] == source, "loss"].to_numpy()[::-1]
    bundle.steps.loc[bundle.steps["epoch"] == target, "loss"] = (
        (losses * factor).astype("float32").astype(float)
    )


FAULTS: dict[str, tuple[Fault, ...]] = {
    "losses-possible": (
        *(
            fault
            for value in (float("nan"), float("inf"), -1.0)
            for fault in both(f"a loss of {value}", set_cell("loss", 20, value))
        ),
        *both("one loss for all steps", scale_column("loss", 0, 2.3)),
        *both("losses of a trained model", scale_column("loss", 0.1)),
        *both("losses ten times as large", scale_column("loss", 10)),
    ),
    "losses-measured": (
        *both("every four steps with one loss", group_losses(4)),
        *both("every fourth loss that of the step before", group_losses(4, only_first=True)),
    ),
    "losses-fall": both("a tenth of the losses from step 31 on", drop_losses(30, 0.05)),
    "losses-float32": (
        *both("the losses rounded to four decimals", round_losses(4)),
        *both(
            "the losses of a formula in float64",
            change_losses(lambda step: 2.3 / (1 + 0.01 * step)),
        ),
    ),
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
    "losses-of-ranks": both("rank 1 with the losses of rank 0", copy_rank(("loss",)), ranks=2),
    "epoch-losses-own": (
        *both("epoch 2 with the losses of epoch 1 backwards, halved", _scaled_losses(1, 2, 0.5)),
        *both("epoch 3 with the losses of epoch 2 backwards", _scaled_losses(2, 3, 1.0)),
    ),
    "accuracy-below-loss": (
        *both("the loss never falls", never_learn()),
        *(
            fault
            for number in EPOCHS[:2]
            for fault in both(
                f"99.95 % said to be right in epoch {number + 1}",
                set_accuracy(number, 0.9995),
            )
        ),
    ),
    "accuracy-above-guessing": both("the accuracy of guessing in epoch 2", guess(1)),
}
