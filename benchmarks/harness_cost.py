"""Measures the harness's overhead per epoch: the same implementation with and without it, alternating in one run.

usage: python benchmarks/harness_cost.py [--framework pytorch] [--data digits] [--epochs 20] [--pairs 5]

Without: the implementation alone, its output thrown away. With: `suite run`, every meter on. Both are given the same request but for
the target, which is out of reach so that every run has the same epochs. The figure is the mean of epochs 2 to last of each run, from
the step records; printed are the ratio of each pair, their median and their range. The order alternates from pair to pair.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from reference_impls import contract
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find
from suite.metrics.summary import derive_epochs

SUITE = str(Path(sys.executable).with_name("suite"))


def main() -> None:
    """Measure and print."""
    arguments = parse()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(arguments.pairs):
            order = (alone, harnessed) if pair % 2 == 0 else (harnessed, alone)
            epoch_s = {kind: kind(arguments, Path(folder) / f"{pair}-{kind.__name__}") for kind in order}
            ratios.append(epoch_s[harnessed] / epoch_s[alone])
            print(f"pair {pair + 1}: alone {epoch_s[alone]:.4f} s, with the harness {epoch_s[harnessed]:.4f} s, ratio {ratios[-1]:.4f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.4f} (range {min(ratios):.4f} to {max(ratios):.4f}, {len(ratios)} pairs)")


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="pytorch")
    parser.add_argument("--data", default="digits")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    return parser.parse_args()


def options(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Options of `suite run` that both variants share."""
    chosen = {"framework": arguments.framework, "data": arguments.data, "epochs": arguments.epochs, "output": folder, "threads": 1}
    flags = [word for name, value in chosen.items() for word in (f"--{name}", str(value))]
    return ["run", "--division", "open", "--workload", "lenet", "--learning-rate", "0.0001", *flags]


def alone(arguments: argparse.Namespace, folder: Path) -> float:
    """Seconds per epoch of the implementation without the harness."""
    framework = load_framework(arguments.framework)
    shown = subprocess.run([SUITE, *options(arguments, folder), "--dry-run"], capture_output=True, text=True, check=True, cwd=repository_root())
    folder.mkdir()
    (folder / contract.REQUEST_NAME).write_text(json.dumps(json.loads(shown.stdout)[0]["request"]))
    command = [str(find(framework).interpreter), "-m", framework.module, "--request", str(folder / contract.REQUEST_NAME)]
    subprocess.run(command, cwd=repository_root(), env=child_environment(1), capture_output=True, check=True)
    return epoch_time_s(folder)


def harnessed(arguments: argparse.Namespace, folder: Path) -> float:
    """Seconds per epoch of the same under `suite run`."""
    subprocess.run([SUITE, *options(arguments, folder)], capture_output=True, check=True, cwd=repository_root())
    return epoch_time_s(folder)


def epoch_time_s(folder: Path) -> float:
    """Mean end-to-end time of epochs 2 to last."""
    bundle = Bundle(folder)
    return statistics.mean(epoch.end_to_end_s for epoch in derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), None) if epoch.epoch > 1)


if __name__ == "__main__":
    main()
