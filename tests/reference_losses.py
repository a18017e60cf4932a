"""Made-up runs with the losses of a reference run: only such runs have a projected time."""

from pathlib import Path

from suite.catalog.reference_losses import load_reference_losses
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle


def learning_as_the_reference(path: Path, factor: float = 1.0) -> Path:
    """Write a run of LeNet-5 at the workload's own setting, with the mean losses of the longest
    reference run times ``factor``."""
    reference = load_reference_losses("lenet")[0]
    scenario = Scenario(
        batch_size=reference.batch_size,
        learning_rate=reference.base_learning_rate,
        step_s=0.00025,
    )
    bundle = EditableBundle(make_bundle(path, scenario))
    longest = max((run.losses for run in reference.runs), key=len)
    for epoch, loss in zip(sorted(bundle.steps["epoch"].unique()), longest, strict=False):
        rows = bundle.steps["epoch"] == epoch
        bundle.steps.loc[rows, "loss"] *= factor * loss / bundle.steps.loc[rows, "loss"].mean()
    bundle.save(recomputed=True)
    return path
