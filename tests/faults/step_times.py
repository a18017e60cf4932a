"""Faults that the rules of suite.compliance.rules.step_times find, by check."""

from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, both, edit
from tests.faults.edits.step_edits import (
    average_steps,
    copy_rank,
    cut_slowest,
    repeat_step_times,
    round_steps,
)
from tests.faults.edits.table_edits import scale_column

PAIR = ("fetch_stall_s", "compute_s")


def _shuffle_epoch(bundle: EditableBundle) -> None:
    """Write the parts of epoch 2's steps, in the opposite order, into epoch 1."""
    first, second = (bundle.steps["epoch"] == epoch for epoch in (1, 2))
    bundle.steps.loc[first, list(PAIR)] = bundle.steps.loc[second, list(PAIR)].to_numpy()[::-1]


@edit
def _shuffled_times(bundle: EditableBundle, source: int, target: int) -> None:
    """Give epoch ``target`` the compute times of epoch ``source``, in another order; its other
    times stay."""
    import numpy as np  # start-up

    times_s = bundle.steps.loc[bundle.steps["epoch"] == source, "compute_s"].to_numpy()
    bundle.steps.loc[bundle.steps["epoch"] == target, "compute_s"] = np.random.default_rng(
        3
    ).permutation(times_s)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "step-times-scatter": (
        *both("every step the mean of its epoch", average_steps()),
        *both("the slowest twentieth of the steps cut to the median", cut_slowest(0.05)),
        *both("times rounded to a tenth of a millisecond", round_steps(4)),
    ),
    "step-times-whole": both("compute times 1.3 % shorter", scale_column("compute_s", 0.987)),
    "step-times-own": (
        *both("epoch 1 with the times of epoch 2", repeat_step_times(2, 1)),
        *both(
            "epoch 3 with the times of epoch 2, a hundredth shorter",
            repeat_step_times(2, 3, 0.99),
        ),
    ),
    "step-times-pairs": (
        *both("epoch 1 with the times of epoch 2 in another order", _shuffle_epoch),
        *both("rank 1 with the times of rank 0", copy_rank(PAIR), ranks=2),
    ),
    "epoch-times-own": both(
        "epoch 1 with the compute times of epoch 2 in another order", _shuffled_times(2, 1)
    ),
}
