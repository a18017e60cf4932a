"""Made-up runs with the losses of a reference run: only such runs have a projected time."""

from pathlib import Path

from suite.catalog.reference_losses import load_reference_losses
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.log_edits import set_everywhere


def learn_as_the_reference(path: Path, factor: float = 1.0) -> Path:
    """Scale a run of LeNet-5 at batch size 128 to the mean losses, times ``factor``, and the rate
    of a reference run."""
    bundle, reference = EditableBundle(path), load_reference_losses("lenet")[-1]
    set_everywhere("optimizer.base_learning_rate", reference.base_learning_rate)(bundle)
    longest = max((run.losses for run in reference.runs), key=len)
    for epoch, loss in zip(sorted(bundle.steps["epoch"].unique()), longest, strict=False):
        rows = bundle.steps["epoch"] == epoch
        bundle.steps.loc[rows, "loss"] *= factor * loss / bundle.steps.loc[rows, "loss"].mean()
    bundle.save(recomputed=True)
    return path
