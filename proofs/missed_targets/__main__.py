"""Twelve mistakes that touch the accuracy, each trained on LeNet-5 through all epochs in a copy of
the sources: which of them miss the target. ``make prove missed-targets``.

A mistake that reaches the target is found by `suite verify-model` and by an audit, not by the
accuracy: the proof shows how far the target alone can be trusted.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from proofs.figures import hand_over
from proofs.mistakes.__main__ import copy_sources
from proofs.mistakes.mistake import Mistake
from proofs.mistakes.mistakes import MISTAKES
from proofs.proof import find_proof
from suite.bundle.reader import Bundle
from suite.catalog.workloads import load_workload

RUNS = find_proof("missed-targets").kept
CHOSEN = (
    "pytorch: a gradient from 8 samples of the mini-batch",
    "pytorch: gradients clipped in float32",
    "pytorch: Nesterov's momentum in float32",
    "pytorch: dampened momentum",
    "pytorch: smoothed labels in float32",
    "pytorch: gradients of two mini-batches accumulate",
    "pytorch: its own initial weights",
    "pytorch: the rate of the first step for all",
    "pytorch: images through bfloat16 in float32",
    "order: the same in every epoch",
    "order: drawn with replacement",
    "labels: of the sample before from epoch 4 on",
)
OPTIONS = "--workload lenet --division open --no-target --allow-invalid --threads 1 --seed 1"


def main() -> int:
    """Train every mistake that was not trained before, and say which miss the target."""
    named = {each.name: each for each in MISTAKES}
    workload = load_workload("lenet")
    assert workload.target_accuracy is not None
    found = dict[str, float]()
    for number, name in enumerate(CHOSEN, 1):
        found[name] = _best_accuracy(named[name], RUNS / f"{number:02}")
        verdict = "misses" if found[name] < workload.target_accuracy else "reaches"
        print(f"{name}: {found[name]:.2%} at best, {verdict} the target", flush=True)
    missed = sum(accuracy < workload.target_accuracy for accuracy in found.values())
    print(f"{missed} of {len(found)} mistakes miss the target of {workload.target_accuracy:.1%}")
    hand_over(trained=len(found), missed=missed, target=workload.target_accuracy, **found)
    return 0


def _best_accuracy(mistake: Mistake, run: Path) -> float:
    """Of the run in ``run``, which is made unless it is whole."""
    if not Bundle(run).is_sealed:
        shutil.rmtree(run, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            copy_sources(root)
            mistake.apply(root)
            options = ["run", *OPTIONS.split(), "--output", str(run)]
            subprocess.run(
                [sys.executable, "-c", "from suite.cli.start import main; main()", *options],
                cwd=root,
                check=True,
                stdout=subprocess.DEVNULL,
            )
    return max(float(each.value) for each in Bundle(run).log().all("eval_accuracy"))


if __name__ == "__main__":
    sys.exit(main())
