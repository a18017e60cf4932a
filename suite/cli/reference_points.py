"""`suite reference-points make|show`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="How fast the reference implementations converge, which submissions are held against.")
JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command()
def make(
    runs: Annotated[list[Path], typer.Argument(help="Closed runs of the reference implementations, or folders that hold some; all that were made.")],
    json: bool = JSON,
) -> None:
    """Write the epochs that runs took to their target into rules/reference_points."""
    from suite.catalog.reference_points import write_points
    from suite.compliance.checker import find_bundles
    from suite.metrics.reference_points import make_points

    written = write_points(make_points([bundle for path in runs for bundle in find_bundles(path)]))
    print(json_format.dumps([str(path) for path in written]) if json else "\n".join(map(str, written)))


@app.command()
def show(
    workload: Annotated[str, typer.Argument(help="A workload.")],
    runs: Annotated[int, typer.Option(min=1, help="Of how many runs an entry would be.")] = 3,
    json: bool = JSON,
) -> None:
    """Show a workload's reference points, and how much faster an entry would have to be to be noticed."""
    from suite.catalog.reference_points import load_points
    from suite.catalog.workloads import load_workload
    from suite.metrics.convergence import LEVEL, WANTED_POWER, detectable

    rows = [
        {
            "batch_size": point.batch_size,
            "base_learning_rate": point.base_learning_rate,
            "epochs_to_target": list(point.epochs),
            "runs": runs,
            "level": LEVEL,
            "power": WANTED_POWER,
            "detectable_factor": detectable(point.epochs, runs, point.eval_every_epochs),
        }
        for point in load_points(load_workload(workload).name)
    ]
    if json:
        print(json_format.dumps(rows))
        return
    if not rows:
        print(f"{workload} has no reference point; an entry's convergence is judged by people.")
    for row in rows:
        told = "nothing" if row["detectable_factor"] is None else f"an entry that needs {row['detectable_factor']:g} of the epochs"
        print(f"batch size {row['batch_size']}, learning rate {row['base_learning_rate']:g}: {row['epochs_to_target']} epochs to the target")
        print(f"  of {runs} runs, at level {LEVEL:g}: {told} is noticed {WANTED_POWER:.0%} of the time")


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Runs of one workload, batch size and learning rate, or folders that hold some.")],
    json: bool = JSON,
) -> None:
    """Compare runs' epochs to target with the reference's: faster, or different either way, beyond chance."""
    from dataclasses import asdict

    from suite.compliance.checker import find_bundles
    from suite.metrics.convergence import LEVEL
    from suite.metrics.reference_points import compare_runs

    point, epochs, found = compare_runs([bundle for path in runs for bundle in find_bundles(path)])
    if json:
        print(json_format.dumps({"epochs_to_target": epochs, "reference": point.epochs, "level": LEVEL, **asdict(found)}))
        return
    print(f"epochs to the target: {', '.join(map(str, epochs))}; the reference's: {', '.join(map(str, point.epochs))}")
    print(f"faster than the reference by chance alone: p = {found.p_faster:.3g}; different either way: p = {found.p_different:.3g}")
    print(f"judged at {LEVEL:g}; the smallest p that this many runs can give is {found.smallest_p:.2g}")
