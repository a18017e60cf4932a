"""`suite linpack`: the LINPACK rate of a machine or cluster, to compare the training rate with."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import psutil
import typer

from suite.cli.json_output import print_json
from suite.cli.options import AGENT_HELP
from suite.errors import SuiteError
from suite.experiments.linpack import MAX_FOREIGN_SHARE, LinpackRequest, measure
from suite.launch.placement import place
from suite.metrics.linpack_record import THRESHOLD, Linpack


def linpack(
    output: Annotated[
        Path, typer.Option(help="Directory of the record; it must not exist.")
    ] = Path("runs/linpack"),
    ranks: Annotated[
        int | None,
        typer.Option(min=1, help="Ranks on each node (default: one per core of this machine)."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(min=1, help="Run on the first N hosts of --hostfile (default: all of them)."),
    ] = None,
    hostfile: Annotated[
        Path | None, typer.Option(help="Hosts to run on, this machine first, one per line.")
    ] = None,
    launch_agent: Annotated[str | None, typer.Option(help=AGENT_HELP)] = None,
    xhpl: Annotated[
        Path | None, typer.Option(help="An xhpl that you built, instead of hpcc.")
    ] = None,
    scipy: Annotated[
        bool,
        typer.Option(
            "--scipy",
            help="Use SciPy's LU on this machine, labelled LU (the fallback without hpcc).",
        ),
    ] = False,
    size: Annotated[
        int | None,
        typer.Option(min=1, help="Order of the matrix (default: as large as the memory holds)."),
    ] = None,
    allow_busy: Annotated[
        bool,
        typer.Option(
            "--allow-busy",
            help="Record it although other programs use the machine; the record says how much.",
        ),
    ] = (False),
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Run LINPACK and seal its rate, residual, BLAS and power in a record."""
    if scipy and (xhpl is not None or hostfile is not None or ranks is not None):
        raise SuiteError(
            "--scipy runs one process on this machine; leave --xhpl, --hostfile and --ranks out."
        )
    placement = place(nodes, hostfile, ranks or psutil.cpu_count(logical=False) or 1, launch_agent)
    record = measure(output, LinpackRequest(placement, xhpl, size, scipy, allow_busy=allow_busy))
    if json:
        print_json("linpack", {"path": str(output), **asdict(record)})
        return
    print("\n".join(_lines(record)))
    print(f"The record is {output}.")


def _lines(record: Linpack) -> Iterator[str]:
    found, power = record.solution, record.power
    what = "HPL" if record.kind == "HPL" else "SciPy's LU, which is not HPL"
    yield (
        f"{found.gflops:.4g} GFLOPS ({what}, N={found.problem.size}, {record.ranks} ranks on"
        f" {record.nodes} nodes, {found.time_s:.3g} s)"
    )
    if record.nodes > 1:
        yield f"per node: {record.gflops_per_node:.4g} GFLOPS"
    if record.triad is not None:
        yield (
            f"memory bandwidth (STREAM triad): {record.triad.alone_gb_s:.4g} GB/s one rank,"
            f" {record.triad.together_gb_s:.4g} GB/s each of all ranks"
        )
    if record.load is not None and record.load.during > MAX_FOREIGN_SHARE * record.load.cores:
        yield (
            f"busy: other programs used {record.load.during:.2f} of {record.load.cores} cores"
            " meanwhile, so this is not the machine's rate"
        )
    yield (
        f"residual {found.residual:.3g}, passes below {THRESHOLD:g}; BLAS"
        f" {record.blas or 'unknown: linked into the program'}"
    )
    if power.gflops_per_watt is None:
        yield f"per watt: unknown ({power.reason})"
    else:
        interval = (
            "" if power.low_j is None else f", 95 %: {power.low_j:.4g} to {power.high_j:.4g} J"
        )
        yield (
            f"per watt: {power.gflops_per_watt:.4g} GFLOPS, {power.energy_j:.4g} J{interval} while"
            f" solving ({power.method})"
        )
