"""How widely the epochs to a target scatter over seeds, by target and by how often a run evaluates.

    python -m benchmarks.target_scatter train DATA CURVES.json SEED… [--workload lenet --parts 4
        --epochs 10 --batch-size 16 --learning-rate 0.005]
    python -m benchmarks.target_scatter table CURVES.json… [--targets 0.98,0.99 --every 4,2,1
        --mean-of 1]

``train`` trains every seed through all epochs in PyTorch, with the workload's settings unless
others are named, and keeps the accuracy after each of ``parts`` parts of every epoch. ``table``
prints when the seeds first reached each target, by the number of parts between evaluations; with
``--mean-of`` when the mean of that many evaluations, the last ones, did. No time is measured.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.runner.child import output_of
from reference_impls import contract
from suite import api
from suite.api import Division, RunOptions
from suite.catalog.frameworks import REFERENCE, load_framework
from suite.errors import SuiteError
from suite.files.json_file import read_json, write_json
from suite.launch.child_environment import child_environment
from suite.launch.environments import find_environment


@dataclass(frozen=True)
class Curves:
    """Accuracies of every seed after each of ``parts`` parts of its epochs, with the settings of
    the training; None: the workload's."""

    workload: str
    parts: int
    by_seed: Mapping[str, Sequence[float]]
    data: str | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None

    @property
    def settings(self) -> "Curves":
        """All but the accuracies."""
        return replace(self, by_seed={})


def train(options: RunOptions, output: Path, seeds: Sequence[int], parts: int) -> None:
    """One training after another; each is kept when it has ended, and seeds that are kept are not
    trained again. Raises SuiteError for an output that has curves of other settings."""
    asked = Curves(
        options.workload,
        parts,
        {},
        options.data,
        options.epochs,
        options.batch_size,
        options.learning_rate,
    )
    curves = Curves(**read_json(output)) if output.exists() else asked
    if curves.settings != asked:
        raise SuiteError(f"{output} has curves of other settings; name another file.")
    for seed in (seed for seed in seeds if str(seed) not in curves.by_seed):
        request = api.resolve(replace(options, seed=seed), to_show=True).training
        with tempfile.TemporaryDirectory(prefix="curves-") as folder:
            path = Path(folder) / contract.REQUEST_NAME
            path.write_text(
                json.dumps(contract.request_to_dict(request._replace(output_directory=folder)))
            )
            command = [
                find_environment(load_framework(REFERENCE)).interpreter,
                "-m",
                "benchmarks.workers.accuracy_curve",
                "--request",
                path,
                "--parts",
                parts,
            ]
            correct = json.loads(
                output_of(command, child_environment(request.threads)).splitlines()[-1]
            )
        accuracies = [count / request.data.eval_samples for count in correct]
        curves = replace(curves, by_seed={**curves.by_seed, str(seed): accuracies})
        write_json(output, asdict(curves))
        print(f"seed {seed}: {accuracies[parts - 1 :: parts]}", flush=True)


def crossed(curves: Curves, target: float, every: int, mean_of: int = 1) -> list[float | None]:
    """The epochs after which the mean of each seed's last ``mean_of`` evaluations first reached the
    target; None where it did not.

    Evaluations come after every ``every`` parts.
    """
    found: list[float | None] = []
    for accuracies in curves.by_seed.values():
        seen = accuracies[every - 1 :: every]
        means = (
            (number, statistics.fmean(seen[number - mean_of : number]))
            for number in range(mean_of, len(seen) + 1)
        )
        found.append(
            next((number * every / curves.parts for number, mean in means if mean >= target), None)
        )
    return found


def table(
    several: Sequence[Curves], targets: Sequence[float], every: Sequence[int], mean_of: int = 1
) -> None:
    """A row for each target and distance of evaluations. Raises SuiteError for curves of different
    settings."""
    if any(curves.settings != several[0].settings for curves in several):
        raise SuiteError("The files have curves of different settings; type a command for each.")
    print(
        "| target | evaluations an epoch | seeds that reached it | epochs: mean | least | most |"
        " coefficient of variation |"
    )
    print("|---|---|---|---|---|---|---|")
    for target in targets:
        for parts in every:
            found = [one for curves in several for one in crossed(curves, target, parts, mean_of)]
            epochs = [one for one in found if one is not None]
            spread = (
                f"{statistics.stdev(epochs) / statistics.fmean(epochs):.0%}"
                if len(epochs) == len(found) > 1
                else "—"
            )
            ends = (
                f"{statistics.fmean(epochs):.2f} | {min(epochs):g} | {max(epochs):g}"
                if epochs
                else "— | — | —"
            )
            print(
                f"| {target:.2%} | {several[0].parts / parts:g} | {len(epochs)} of {len(found)} |"
                f" {ends} | {spread} |"
            )


def main() -> None:
    """Train, or print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, dest="command")
    training, printing = commands.add_parser("train"), commands.add_parser("table")
    training.add_argument("data")
    training.add_argument("output", type=Path)
    training.add_argument("seeds", type=int, nargs="+")
    training.add_argument("--workload", default="lenet")
    training.add_argument("--parts", type=int, default=4)
    training.add_argument("--epochs", type=int)
    training.add_argument("--batch-size", type=int)
    training.add_argument("--learning-rate", type=float)
    printing.add_argument("curves", type=Path, nargs="+")
    printing.add_argument("--targets", default="0.98,0.985,0.99")
    printing.add_argument("--every", default="4,2,1")
    printing.add_argument("--mean-of", type=int, default=1)
    one = parser.parse_args()
    if one.command == "train":
        settings = {
            "epochs": one.epochs,
            "batch_size": one.batch_size,
            "learning_rate": one.learning_rate,
        }
        train(
            RunOptions(Division.OPEN, "auto", one.workload, REFERENCE, data=one.data, **settings),
            one.output,
            one.seeds,
            one.parts,
        )
    else:
        targets, every = (
            [float(word) for word in one.targets.split(",")],
            [int(word) for word in one.every.split(",")],
        )
        table([Curves(**read_json(path)) for path in one.curves], targets, every, one.mean_of)


if __name__ == "__main__":
    try:
        main()
    except SuiteError as error:
        sys.exit(f"error: {error}")
