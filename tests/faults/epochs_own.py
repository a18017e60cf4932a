"""Faults that the rules of suite.compliance.rules.epochs_own find, by rule."""

from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, both, edit


@edit
def _scaled_losses(bundle: EditableBundle, source: int, target: int, factor: float) -> None:
    """Give epoch ``target`` the losses of epoch ``source``, in the opposite order and scaled, as
    float32."""
    losses = bundle.steps.loc[bundle.steps["epoch"] == source, "loss"].to_numpy()[::-1]
    bundle.steps.loc[bundle.steps["epoch"] == target, "loss"] = (
        (losses * factor).astype("float32").astype(float)
    )


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
    "epoch-losses-own": (
        *both("epoch 2 with the losses of epoch 1 backwards, halved", _scaled_losses(1, 2, 0.5)),
        *both("epoch 3 with the losses of epoch 2 backwards", _scaled_losses(2, 3, 1.0)),
    ),
    "epoch-times-own": both(
        "epoch 1 with the compute times of epoch 2 in another order", _shuffled_times(2, 1)
    ),
}
