"""`suite reference-points make|show|compare|target`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite import api
from suite.catalog.reference_points import ReferencePoint, load_points, write_points
from suite.catalog.workloads import Workload, load_workload
from suite.cli.json_output import print_json, print_rows
from suite.cli.options import Json, WorkloadName
from suite.files.counted import counted
from suite.metrics.convergence import (
    INTERVAL_LEVEL,
    LEVEL,
    WANTED_POWER,
    detectable_speedup,
    expected_interval,
    show_epochs,
)
from suite.metrics.targets import FollowingTarget

TOO_HIGH = 1
app = typer.Typer(no_args_is_help=True)


@app.command()
def make(
    runs: Annotated[
        list[Path],
        Argument(
            help=(
                "Runs of the closed division and runs with --no-target, from any machine and"
                " organization, or folders with them."
            )
        ),
    ],
    json: Json = False,
) -> None:
    """Check the runs and write their epochs to target into rules/reference_points. The next round
    freezes them."""
    points = api.make_reference_points(runs)
    written = write_points(points)
    if json:
        print_rows("reference-points-make", [{"path": path} for path in written])
        return
    for point in points:
        print(
            f"{point.workload}, batch size {point.batch_size}, learning rate"
            f" {point.base_learning_rate:g}: {_expectation(point)}"
        )
    print(
        f"Written to {', '.join(map(str, written))}; `python -m tools.pin_round ROUND` freezes"
        " these points for a round."
    )


@app.command()
def show(
    workload: WorkloadName,
    runs: Annotated[int, Option(min=1, help="Number of runs in an entry.")] = 3,
    json: Json = False,
) -> None:
    """Show a workload's reference points, and the smallest reduction in epochs that N runs can
    detect."""
    points = load_points(load_workload(workload).name)
    rows = [
        {
            "batch_size": point.batch_size,
            "base_learning_rate": point.base_learning_rate,
            "epochs_to_target": [plain_epochs(epochs) for epochs in point.epochs],
            "expected_epochs": point.expected_epochs,
            "expected_interval": _interval(point),
            "runs": runs,
            "level": LEVEL,
            "power": WANTED_POWER,
            "detectable_factor": detectable_speedup(point.epochs, runs, point.eval_every_epochs),
        }
        for point in points
    ]
    if json:
        print_rows("reference-points-show", rows)
        return
    if not rows:
        print(f"{workload} has no reference point; reviewers judge the convergence of its entries.")
    for row, point in zip(rows, points, strict=True):
        factor = row["detectable_factor"]
        detected = (
            "no speed-up is detected"
            if factor is None
            else f"an entry that needs {factor:g} times the reference's epochs is detected"
        )
        epochs = ", ".join(map(show_epochs, point.epochs))
        print(
            f"batch size {row['batch_size']}, learning rate {row['base_learning_rate']:g}: {epochs}"
            " epochs to the target"
        )
        print(f"  expected: {_expectation(point)}")
        print(f"  {runs} runs, level {LEVEL:g}: {detected} with {WANTED_POWER:.0%} power")


@app.command()
def compare(
    runs: Annotated[
        list[Path],
        Argument(help="Runs of one workload, batch size and learning rate, or folders with them."),
    ],
    json: Json = False,
) -> None:
    """Compare the runs' epochs to target with the reference's by a permutation test."""
    compared = api.compare_with_reference(runs)
    point, epochs, found = compared.point, compared.epochs, compared.test
    if json:
        values = {
            "epochs_to_target": list(map(plain_epochs, epochs)),
            "reference": list(map(plain_epochs, point.epochs)),
        }
        print_json("reference-points-compare", {**values, "level": LEVEL, **vars(found)})
        return
    print(
        f"epochs to the target: {', '.join(map(show_epochs, epochs))}; the reference's:"
        f" {', '.join(map(show_epochs, point.epochs))}"
    )
    print(
        f"one-sided (faster than the reference): p = {found.p_faster:.3g}; two-sided: p ="
        f" {found.p_different:.3g}"
    )
    print(
        f"level {LEVEL:g}; the smallest p that this number of runs can give is"
        f" {found.smallest_p:.2g}"
    )


@app.command()
def target(
    workload: WorkloadName,
    runs: Annotated[
        list[Path] | None,
        Argument(
            help=(
                "Runs made with --no-target, or folders with them: their accuracies are first"
                " stored in rules/accuracies."
            )
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the target that follows from the accuracies of a workload's reference runs. Exit code: 0
    the workload's target is not above it, 1 it is."""
    if runs:
        api.add_reference_accuracies(workload, runs)
    found, definition = api.following_targets(workload), load_workload(workload)
    allowed = min((each.highest_target or 0.0 for each in found if not each.missing), default=1.0)
    is_above = (definition.target_accuracy or 0.0) > allowed + 1e-9
    if json:
        target = {"target_accuracy": definition.target_accuracy}
        print_rows("reference-points-target", [{**vars(each), **target} for each in found])
    else:
        _print_targets(definition, found)
        if is_above:
            print(
                f"the target of {workload} is above what these runs allow: lower target_accuracy to"
                f" {allowed:.3f} or less in rules/workloads/{workload}.toml"
            )
    if is_above:
        raise typer.Exit(TOO_HIGH)


def _print_targets(workload: Workload, found: Sequence[FollowingTarget]) -> None:
    named = workload.target_accuracy
    print(f"target of {workload.name}: {'none' if named is None else f'{named:.1%}'}")
    if not found:
        print(
            "no accuracies are stored: make runs with `suite run --division open --no-target`, then"
            f" type: suite reference-points target {workload.name} RUNS"
        )
    for each in found:
        print(
            f"batch size {each.batch_size}, learning rate {each.base_learning_rate:g}: highest"
            f" accuracy of each run in its first {each.until_epoch} epochs:"
            f" {', '.join(f'{best:.2%}' for best in each.best)}"
        )
        if each.bound is not None:
            print(
                f"  mean minus {each.deviations:.2f} standard deviations: {each.bound:.2%}; the"
                f" target is at most {each.highest_target:.1%}"
            )
        if each.missing:
            print(f"  provisional: the procedure needs {each.missing}")


def _expectation(point: ReferencePoint) -> str:
    """In words."""
    interval = _interval(point)
    if point.expected_epochs is None or interval is None:
        return "unknown (no run reached the target), so entries get no score"
    low, high = interval
    ends = f"at least {low:.3g}" if high is None else f"{low:.3g} to {high:.3g}"
    return (
        f"{point.expected_epochs:.3g} epochs, {1 - INTERVAL_LEVEL:.0%} interval {ends} (bootstrap"
        f" over {counted(len(point.runs), 'run')})"
    )


def _interval(point: ReferencePoint) -> tuple[float, float | None] | None:
    """Of the expected epochs; an upper end of None is infinite. None where no run reached the
    target."""
    if point.expected_epochs is None:
        return None
    low, high = expected_interval(
        [run.epochs_trained for run in point.runs], [run.reached for run in point.runs]
    )
    return low, plain_epochs(high)


def plain_epochs(epochs: float) -> float | None:
    """Epochs to target for JSON, which has no infinity: None for a run that missed its target."""
    return epochs if math.isfinite(epochs) else None
