"""`suite sweep --study linpack`: prints the points of the study."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from suite.catalog.linpack import load_linpack
from suite.cli.json_output import print_json
from suite.errors import SuiteError
from suite.experiments.linpack_study import LinpackSweep, planned_nodes, run_linpack_study
from suite.launch.placement import Placement, place
from suite.metrics.figure import Figure
from suite.metrics.linpack_study_record import STUDY, LinpackStudy


@dataclass(frozen=True)
class LinpackOptions:
    """What the command line says of the study."""

    nodes: tuple[int, ...] | None
    repetitions: int | None
    hostfile: Path | None
    launch_agent: str | None
    ranks_per_node: int | None
    size: int | None
    allow_busy: bool
    output: Path | None
    json: bool


def linpack_study(options: LinpackOptions) -> None:
    """Run the study and print it."""
    ranks = (
        options.ranks_per_node
        if options.ranks_per_node is not None
        else psutil.cpu_count(logical=False) or 1
    )
    placement: Placement = place(None, options.hostfile, ranks, options.launch_agent)
    definition = planned_nodes(load_linpack(), placement, options.nodes)
    if options.repetitions is not None:
        definition = replace(definition, repetitions=options.repetitions)
    directory = (options.output or Path("runs/linpack-study")).absolute()
    study = run_linpack_study(
        LinpackSweep(definition, placement, options.size, options.allow_busy),
        directory,
        lambda line: print(line, file=sys.stderr),
    )
    if options.json:
        print_json("linpack-study", {"path": str(directory / STUDY), **asdict(study)})
        return
    print("\n".join(table(study)))
    print(
        f"\n{study.sentence}\nThe study is {directory / STUDY}; its records are in the same folder."
    )


def table(study: LinpackStudy) -> Iterator[str]:
    """Lines for a person: the points, and the study's notes."""
    rates = f"{'GFLOPS':>16} {'efficiency':>14} {'of peak':>9}"
    yield (
        f"{'nodes':>5} {'ranks':>5} {'order':>7} {'block':>5} {'grid':>7} {rates} {'J':>9}"
        f" {'GFLOPS/W':>9} {'GB/s a node':>12}"
    )
    for point in study.points:
        problem, grid = point.problem, f"{point.problem.rows} x {point.problem.columns}"
        shown = (
            _cell(point.peak_share, 100, " %"),
            _cell(point.energy_j),
            _cell(point.gflops_per_watt),
            _cell(point.triad_gb_s),
        )
        peak, energy, rate, bandwidth = shown
        rates = f"{_cell(point.gflops):>16} {_cell(point.efficiency, 100, ' %'):>14}"
        yield (
            f"{point.nodes:5} {point.ranks:5} {problem.size:7} {problem.block:5} {grid:>7} {rates}"
            f" {peak:>9} {energy:>9} {rate:>9} {bandwidth:>12}"
        )
    yield from study.notes


def _cell(figure: Figure, factor: float = 1.0, unit: str = "") -> str:
    if figure.value is None:
        return "unknown"
    spread = "" if figure.spread is None else f" ± {factor * figure.spread:.2g}"
    return f"{factor * figure.value:.4g}{spread}{unit}"


def whole_numbers(text: str | None) -> tuple[int, ...] | None:
    """Numbers as 1,2,4; raises SuiteError for anything else."""
    try:
        return (
            None if text is None else tuple(int(word) for word in text.split(",") if word.strip())
        )
    except ValueError as error:
        raise SuiteError(f"--nodes {text!r} is not a list of numbers; write 1,2,4.") from error
