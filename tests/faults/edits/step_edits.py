"""Edits of losses and step times, as somebody makes them who prefers other figures."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit
from tests.faults.edits.table_edits import PARTS

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


@edit
def round_losses(bundle: EditableBundle, decimals: int) -> None:
    """Round every loss."""
    bundle.steps["loss"] = bundle.steps["loss"].round(decimals)


@edit
def change_losses(
    bundle: EditableBundle, formula: "Callable[[NDArray[float64]], NDArray[float64]]"
) -> None:
    """Compute every loss from its step's number."""
    bundle.steps["loss"] = formula(bundle.steps["step"].to_numpy(dtype="float64"))


@edit
def copy_rank(bundle: EditableBundle, columns: Sequence[str]) -> None:
    """Write these columns of rank 0's steps into rank 1's."""
    for column in columns:
        bundle.steps.loc[bundle.steps["rank"] == 1, column] = bundle.steps.loc[
            bundle.steps["rank"] == 0, column
        ].to_numpy()


@edit
def sort_losses(bundle: EditableBundle) -> None:
    """Let the losses fall without a rise."""
    bundle.steps["loss"] = bundle.steps["loss"].sort_values(ascending=False).to_numpy()


@edit
def smooth_losses(bundle: EditableBundle, steps: int) -> None:
    """Replace every loss by the mean of the last ``steps``."""
    bundle.steps["loss"] = bundle.steps["loss"].rolling(steps, min_periods=1).mean()


@edit
def stretch_losses(bundle: EditableBundle, every: int) -> None:
    """Keep one loss of ``every``; the others are interpolated."""
    import numpy as np  # start-up

    kept = bundle.steps["loss"].to_numpy()[::every]
    bundle.steps["loss"] = np.interp(
        np.arange(len(bundle.steps)) / every, np.arange(len(kept)), kept
    )


@edit
def repeat_losses(bundle: EditableBundle, source: int, target: int, kept: int = 0) -> None:
    """Write the losses of epoch ``source`` into epoch ``target``, but for its first ``kept``
    steps."""
    rows = bundle.steps.index[bundle.steps["epoch"] == target][kept:]
    bundle.steps.loc[rows, "loss"] = bundle.steps.loc[
        bundle.steps["epoch"] == source, "loss"
    ].to_numpy()[kept:]


@edit
def never_learn(bundle: EditableBundle) -> None:
    """Losses that scatter around that of guessing to the end."""
    import numpy as np  # start-up

    bundle.steps["loss"] = 2.3026 + np.random.default_rng(1).normal(0, 0.02, len(bundle.steps))


@edit
def average_steps(bundle: EditableBundle) -> None:
    """Give every step of an epoch the mean times."""
    for part in PARTS:
        bundle.steps[part] = bundle.steps.groupby(["rank", "epoch"])[part].transform("mean")


@edit
def round_steps(bundle: EditableBundle, digits: int) -> None:
    """Round the parts of every step."""
    bundle.steps[list(PARTS)] = bundle.steps[list(PARTS)].round(digits)


@edit
def cut_slowest(bundle: EditableBundle, share: float) -> None:
    """Give the slowest steps the median compute time."""
    compute_s = bundle.steps["compute_s"]
    bundle.steps["compute_s"] = compute_s.where(
        compute_s < compute_s.quantile(1 - share), compute_s.median()
    )


@edit
def repeat_step_times(
    bundle: EditableBundle, source: int, target: int, factor: float = 1.0
) -> None:
    """Write the times of epoch ``source`` into epoch ``target``, scaled."""
    times_s = bundle.steps.loc[bundle.steps["epoch"] == source, list(PARTS)].to_numpy()
    bundle.steps.loc[bundle.steps["epoch"] == target, list(PARTS)] = times_s * factor


@edit
def close_gaps(bundle: EditableBundle) -> None:
    """Let every step but an epoch's first begin in the nanosecond in which the one before ends; its
    fetch takes that much longer."""
    lengths_ns = (bundle.steps[list(PARTS)] * 1e9).round().sum(axis=1).astype("int64")
    gaps_ns = (
        bundle.steps["start_ns"]
        - (bundle.steps["start_ns"] + lengths_ns)
        .groupby([bundle.steps["rank"], bundle.steps["epoch"]])
        .shift()
    ).fillna(0)
    bundle.steps["start_ns"] -= gaps_ns.astype("int64")
    bundle.steps["fetch_stall_s"] += gaps_ns * 1e-9


@edit
def evaluate_in(bundle: EditableBundle, seconds: float) -> None:
    """Let every evaluation start only so long before its end."""
    for start, accuracy in zip(
        _events(bundle, "eval_start"), _events(bundle, "eval_accuracy"), strict=True
    ):
        start["metadata"]["mono_ns"] = accuracy["metadata"]["mono_ns"] - round(seconds * 1e9)


def _events(bundle: EditableBundle, key: str) -> list[dict[str, dict[str, int]]]:
    return [event for event in bundle.events if event["key"] == key]


@edit
def without_split(bundle: EditableBundle) -> None:
    """Take the times of copies, computing and communication from every step, as asynchronous timing
    has them."""
    bundle.steps[list(PARTS[1:])] = float("nan")
