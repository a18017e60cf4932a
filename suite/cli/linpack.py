"""`suite linpack`: what this machine reaches in LINPACK, to set the training rate against."""

from pathlib import Path
from typing import Annotated

import typer


def linpack(
    output: Annotated[Path, typer.Option(help="Directory of the record; it must not exist.")] = Path("runs/linpack"),
    ranks: Annotated[int | None, typer.Option(min=1, help="Processes (default: one per core).")] = None,
    size: Annotated[int | None, typer.Option(min=1, help="Order of the matrix for a quick run (default: sized from the memory).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Run HPL through hpcc on this machine and keep its rate, residual and BLAS in a sealed record."""
    import json as json_format
    from dataclasses import asdict

    import psutil

    from suite.experiments.linpack import THRESHOLD, measure

    record = measure(output, ranks or psutil.cpu_count(logical=False) or 1, size)
    if json:
        print(json_format.dumps({"path": str(output), **asdict(record)}, indent=1))
        return
    found = record.solution
    print(f"{found.gflops:.4g} GFLOPS (HPL, N={found.problem.size}, {record.ranks} ranks, {found.time_s:.3g} s)")
    print(f"residual {found.residual:.3g}, passes below {THRESHOLD:g}; BLAS {record.blas}")
    print(f"per watt: unknown ({record.gflops_per_watt_reason})")
    print(f"The record is {output}.")
