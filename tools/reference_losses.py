"""Writes rules/reference_losses: ``python -m tools.reference_losses FOLDER…``, with folders of reference runs that are published.

For instance ``submissions/v0.1/reference submissions/v0.2/reference``. What was there of a workload is replaced.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from reference_impls.contract import LOCAL
from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.reference_losses import ReferenceLosses, RunLosses, write_reference_losses
from suite.catalog.reference_points import local_batch_size
from suite.compliance.checker import find_bundles


def reference_losses(folders: Iterable[Path]) -> dict[str, tuple[ReferenceLosses, ...]]:
    """The settings of every workload, from the bundles' summaries."""
    found: dict[str, dict[tuple[int, float, int], list[RunLosses]]] = {}
    for path in sorted(bundle for folder in folders for bundle in find_bundles(folder)):
        bundle = Bundle(path)
        run, epochs = bundle.run(), bundle.json(SUMMARY)["epochs"]
        request = run.request
        workload, batch, parallel = request["workload"], request["global_batch_size"], request["parallel"]
        local = local_batch_size(workload, batch, parallel["ranks"], parallel.get("normalisation", LOCAL))
        setting = (batch, request["optimizer"]["base_learning_rate"], local or 0)
        losses = RunLosses(run.run_id, tuple(float(epoch["mean_loss"]) for epoch in epochs))
        found.setdefault(workload, {}).setdefault(setting, []).append(losses)
    return {
        workload: tuple(ReferenceLosses(batch, rate, local or None, tuple(runs)) for (batch, rate, local), runs in sorted(settings.items()))
        for workload, settings in found.items()
    }


if __name__ == "__main__":
    for of_workload, settings in reference_losses(map(Path, sys.argv[1:])).items():
        sys.stdout.write(f"{write_reference_losses(of_workload, settings)}\n")
