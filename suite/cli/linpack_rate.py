"""`suite linpack`: the LINPACK rate of a machine or cluster, to compare the training rate with; and
the study of it, `suite sweep --study linpack`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import psutil
from typer import Option

from suite.bundle.layout import LINPACK_STUDY_RECORD
from suite.catalog.linpack_definition import load_linpack
from suite.cli.json_output import print_json
from suite.cli.options import AGENT_HELP, TrainingOptions, say
from suite.cli.results import figure_text
from suite.errors import SuiteError
from suite.experiments.linpack_run import MAX_FOREIGN_SHARE, LinpackRequest, measure_linpack
from suite.experiments.linpack_sweep import LinpackSweep, planned_nodes, run_linpack_study
from suite.files.counted import counted
from suite.launch.placement import Placement, place_ranks
from suite.metrics.linpack_record import THRESHOLD, Linpack
from suite.metrics.linpack_study_record import LinpackStudy


def linpack(
    output: Annotated[Path, Option(help="New folder for the record.")] = Path("runs/linpack"),
    ranks: Annotated[
        int | None,
        Option(
            min=1,
            help="Ranks on each node (default: the hostfile's slots, else one per core of this"
            " machine).",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        Option(min=1, help="Run on the first N hosts of --hostfile (default: all of them)."),
    ] = None,
    hostfile: Annotated[
        Path | None, Option(help="File of hosts to run on, one per line, this machine first.")
    ] = None,
    launch_agent: Annotated[str | None, Option(help=AGENT_HELP)] = None,
    xhpl: Annotated[
        Path | None, Option(help="Use this xhpl, which you built, instead of hpcc.")
    ] = None,
    scipy: Annotated[
        bool,
        Option(
            "--scipy",
            help="Use SciPy's LU instead of HPL, on this machine; the record is labelled LU"
            " (default on one node without hpcc and --xhpl).",
        ),
    ] = False,
    size: Annotated[
        int | None,
        Option(min=1, help="Order of the matrix (default: as large as the memory holds)."),
    ] = None,
    allow_busy: Annotated[
        bool,
        Option(
            "--allow-busy",
            help="Run although other programs use the machine; the record says how many cores they"
            " use.",
        ),
    ] = (False),
    json: Annotated[bool, Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Run LINPACK and seal its rate, residual, BLAS and power in a record."""
    if scipy and (xhpl is not None or hostfile is not None or ranks is not None):
        raise SuiteError(
            "--scipy runs one process on this machine; leave --xhpl, --hostfile and --ranks out."
        )
    placement = _placement(nodes, hostfile, ranks, launch_agent)
    record = measure_linpack(
        output, LinpackRequest(placement, xhpl, size, scipy or None, allow_busy=allow_busy)
    )
    if json:
        print_json("linpack", {"path": output, **vars(record)})
        return
    print("\n".join(_lines(record)))
    print(f"The record is {output}.")


def _placement(
    nodes: int | None, hostfile: Path | None, ranks: int | None, launch_agent: str | None
) -> Placement:
    """The hosts, with a rank per core unless another number is asked for, or stated as slots."""
    return place_ranks(nodes, hostfile, ranks, launch_agent, psutil.cpu_count(logical=False) or 1)


def _lines(record: Linpack) -> Iterator[str]:
    found, power = record.solution, record.power
    what = "HPL" if record.kind == "HPL" else "SciPy's LU, which is not HPL"
    yield (
        f"{found.gflops:.4g} GFLOPS ({what}, N={found.problem.size},"
        f" {counted(record.ranks, 'rank')} on {counted(record.nodes, 'node')},"
        f" {found.time_s:.3g} s)"
    )
    if record.nodes > 1:
        yield f"per node: {record.gflops_per_node:.4g} GFLOPS"
    if record.triad is not None:
        yield (
            f"memory bandwidth (STREAM triad): {record.triad.alone_gb_s:.4g} GB/s with one rank,"
            f" {record.triad.together_gb_s:.4g} GB/s per rank with all ranks"
        )
    if record.load is not None and record.load.during > MAX_FOREIGN_SHARE * record.load.cores:
        yield (
            f"busy: other programs used {record.load.during:.2f} of {record.load.cores} cores"
            " during the run, so the rate of the undisturbed machine is unknown"
        )
    yield (
        f"residual {found.residual:.3g}, passes below {THRESHOLD:g}; BLAS"
        f" {record.blas or 'unknown: no known library was loaded; it may be linked statically'}"
    )
    if power.gflops_per_watt is None:
        yield f"GFLOPS per watt: unknown ({power.reason})"
    else:
        interval = (
            "" if power.low_j is None else f", 95 %: {power.low_j:.4g} to {power.high_j:.4g} J"
        )
        yield (
            f"GFLOPS per watt: {power.gflops_per_watt:.4g}; energy while solving:"
            f" {power.energy_j:.4g} J{interval} ({power.method})"
        )


def linpack_study(
    training: TrainingOptions,
    nodes: str | None,
    repetitions: int | None,
    size: int | None,
    allow_busy: bool,
    output: Path | None,
) -> None:
    """Run the study (`suite sweep --study linpack`) and print its points."""
    chosen = whole_numbers(nodes)
    placement = _placement(None, training.hostfile, training.ranks_per_node, training.launch_agent)
    definition = planned_nodes(load_linpack(), placement, chosen)
    if repetitions is not None:
        definition = replace(definition, repetitions=repetitions)
    directory = (output or Path("runs/linpack-study")).absolute()
    study = run_linpack_study(
        LinpackSweep(definition, placement, size, allow_busy),
        directory,
        say,
    )
    if training.json:
        print_json("linpack-study", {"path": directory / LINPACK_STUDY_RECORD, **vars(study)})
        return
    print("\n".join(table(study)))
    print(
        f"\n{study.sentence}\nThe study is {directory / LINPACK_STUDY_RECORD}; its records are in"
        " the same folder."
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
            figure_text(point.peak_share, 100, " %"),
            figure_text(point.energy_j),
            figure_text(point.gflops_per_watt),
            figure_text(point.triad_gb_s),
        )
        peak, energy, rate, bandwidth = shown
        rates = f"{figure_text(point.gflops):>16} {figure_text(point.efficiency, 100, ' %'):>14}"
        yield (
            f"{point.nodes:5} {point.ranks:5} {problem.size:7} {problem.block:5} {grid:>7} {rates}"
            f" {peak:>9} {energy:>9} {rate:>9} {bandwidth:>12}"
        )
    yield from study.notes


def whole_numbers(text: str | None) -> tuple[int, ...] | None:
    """Numbers as 1,2,4; raises SuiteError for anything else."""
    try:
        return (
            None if text is None else tuple(int(word) for word in text.split(",") if word.strip())
        )
    except ValueError as error:
        raise SuiteError(f"--nodes {text!r} is not a list of numbers; write 1,2,4.") from error
