"""`suite run --stall-analysis`: three runs and the table that they make."""

import json as json_format
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suite.execution.request import RunRequest
    from suite.metrics.figure import Figure
    from suite.metrics.stall_analysis import StallAnalysis

PARTS = (("fetch", "read_stall_s", "read_epoch_s"), ("preprocessing", "preprocessing_stall_s", "preprocessing_epoch_s"))


def analyse_stalls(request: "RunRequest", epochs: int | None, force: bool, json: bool) -> None:
    """Run cold, warm and synthetic below the request's output directory, compare them, and print what reading and preprocessing take.

    ``epochs`` are those that the person asked for. Each run records the rules that it breaks as an analysis: it is no entry.
    """
    from suite.cli.run import run_one
    from suite.compliance.checker import check_request
    from suite.compliance.finding import Severity
    from suite.experiments.stall_runs import DEFAULT_EPOCHS, variants
    from suite.metrics.stall_analysis import analyse, write

    directory = Path(request.training.output_directory)
    for source, variant in variants(request, directory, epochs or DEFAULT_EPOCHS).items():
        print(f"{source.value} run", file=sys.stderr)
        broken = tuple(finding.rule for finding in check_request(variant.training, variant.workload) if finding.severity is Severity.INVALID)
        run_one(variant, broken, force)
    analysis = analyse(directory)
    path = write(analysis, directory)
    if json:
        print(json_format.dumps({"path": str(path), **analysis.to_dict()}, indent=1))
        return
    print("\n".join(table(analysis)))
    print(f"\nThe record is {path}, with the three runs beside it.")


def table(analysis: "StallAnalysis") -> Iterator[str]:
    """Lines for a person: the three runs, the differences, and what to mind."""
    yield f"{'seconds per epoch':18} {'epoch':>20} {'stall':>20} {'copy':>20} {'compute':>20}  in memory at start"
    for name, run in analysis.runs.items():
        resident = "unknown" if run.resident_start_ratio is None else f"{run.resident_start_ratio:.0%}"
        cells = (_show(figure) for figure in (run.time_to_epoch_s, run.fetch_stall_s, run.copy_s, run.compute_s))
        yield f"{name:18} " + " ".join(f"{cell:>20}" for cell in cells) + f"  {resident}"
    for name, of_stall, of_epoch in PARTS:
        stall, epoch = analysis.figures[of_stall], analysis.figures[of_epoch]
        yield f"{name:18} {_show(epoch):>20} {_show(stall):>20}  {stall.method or stall.reason}"
    yield from (f"note: {note}" for note in analysis.notes)


def _show(figure: "Figure") -> str:
    if figure.value is None:
        return "unknown"
    return f"{figure.value:.4g}" if figure.spread is None else f"{figure.value:.4g} ± {figure.spread:.2g}"
