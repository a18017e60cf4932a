"""The mini-batches of a run that end an update of the parameters: after the others, ranks exchange
nothing."""

from typing import TYPE_CHECKING

from reference_impls.contract import Request
from reference_impls.updates import steps_per_epoch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from suite.bundle.steps import StepRecords


def ends_update(request: Request, steps: "StepRecords") -> "npt.NDArray[np.bool_]":
    """Of every step record, whether the update follows its mini-batch, as
    reference_impls.updates.places says: shape (steps,)."""
    per_epoch = steps_per_epoch(request)
    place = (steps.step - 1) % per_epoch
    ends: npt.NDArray[np.bool_] = (
        ((place + 1) % request.accumulation == 0)
        | (place == per_epoch - 1)
        | (steps.step == (request.steps or 0))
    )
    return ends
