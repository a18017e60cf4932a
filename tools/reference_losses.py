"""Writes rules/reference_losses: ``python -m tools.reference_losses FOLDER…``, with folders of
reference runs that are published.

For instance ``submissions/v0.1/reference submissions/v0.2/reference``. What was there of a workload
is replaced; resumed runs are left out.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.reference_losses import ReferenceLosses, RunLosses, write_reference_losses
from suite.catalog.reference_points import setting_of
from suite.catalog.rounds import judging_round
from suite.compliance.checker import find_bundles
from suite.metrics.summary import resumption_of


def reference_losses(folders: Iterable[Path]) -> dict[str, tuple[ReferenceLosses, ...]]:
    """The settings of every workload, from the bundles' summaries."""
    found: dict[str, dict[tuple[int, float, int], list[RunLosses]]] = {}
    for path in sorted(bundle for folder in folders for bundle in find_bundles(folder)):
        bundle = Bundle(path)
        if resumption_of(bundle) is not None:
            continue  # its first epoch is not epoch 1
        run, epochs = bundle.run(), bundle.json(SUMMARY)["epochs"]
        losses = RunLosses(run.run_id, tuple(float(epoch["mean_loss"]) for epoch in epochs))
        found.setdefault(run.request["workload"], {}).setdefault(
            setting_of(run.request, judging_round(run.round)), []
        ).append(losses)
    return {
        workload: tuple(
            ReferenceLosses(batch, rate, local or None, tuple(runs))
            for (batch, rate, local), runs in sorted(settings.items())
        )
        for workload, settings in found.items()
    }


if __name__ == "__main__":
    for of_workload, settings in reference_losses(map(Path, sys.argv[1:])).items():
        sys.stdout.write(f"{write_reference_losses(of_workload, settings)}\n")
