"""`suite cachegrind`: instructions, data accesses, cache misses and branches of a training step,
without hardware counters."""

import statistics
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from suite.catalog.divisions import Division
from suite.cli.json_output import JsonFormat, print_json
from suite.cli.options import FRAMEWORK, Json
from suite.errors import SuiteError
from suite.execution.request import Accelerator, RunOptions
from suite.execution.resolve import resolve_options
from suite.extensions.counted_steps.measuring.counting import Asked, count
from suite.extensions.counted_steps.record import CountedSteps, figures, rates
from suite.files.shell_command import shell_command

FORMAT = JsonFormat(
    "cachegrind",
    "suite cachegrind",
    {
        "path": "folder of the record",
        "schema": "version of the record",
        "title": "what was counted",
        "source": "program that counted the events and simulated the caches",
        "valgrind": "version of valgrind",
        "caches": (
            "processor; for each of l1i, l1d and last: size in bytes, number of ways, line size in"
            " bytes"
        ),
        "cpu_model": "processor of this machine, or null",
        "workload": "its name",
        "data": "name of the data set",
        "train_samples": "samples of an epoch",
        "batch_size": "mini-batch size",
        "threads": "threads that computed; valgrind runs one at a time",
        "seed": "seed of weights and sample order",
        "processes": ("list: framework, framework_version, steps, counts (totals of the process)"),
        "timed": (
            "list of timed windows of training without valgrind: framework, steps, cpu_s, and"
            " clock_hz or null"
        ),
        "architecture": "instruction set of the processor, such as x86_64",
        "figures": (
            "figures by framework, named like those of hardware counters; counts are per epoch"
        ),
    },
)


def cachegrind(
    workload: Annotated[str, typer.Option(help="Workload that trains (`suite list workloads`).")],
    data: Annotated[str | None, typer.Option(help="Data set, as in `suite run`.")] = None,
    framework: Annotated[
        str, typer.Option(metavar="NAME,…", help="Frameworks (`suite list frameworks`).")
    ] = FRAMEWORK,
    batch_size: Annotated[
        int | None, typer.Option(help="Mini-batch size (default: the workload's).")
    ] = None,
    steps: Annotated[
        int, typer.Option(min=1, help="Counted steps, after five warm-up steps.")
    ] = 20,
    processor: Annotated[
        str, typer.Option(help="Processor whose caches are simulated: cortex-a72 or cortex-a53.")
    ] = "cortex-a72",
    threads: Annotated[
        int, typer.Option(min=1, help="Threads; valgrind runs one of them at a time.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of weights and sample order.")] = 1,
    output: Annotated[Path, typer.Option(help="Folder of the record.")] = Path(
        "runs/counted-steps"
    ),
    json: Json = False,
) -> None:
    """Count the instructions, data accesses and branches of a training step with valgrind,
    and time the step without valgrind."""
    names = tuple(dict.fromkeys(name.strip() for name in framework.split(",") if name.strip()))
    if not names:
        raise SuiteError("--framework names no framework", "give one, such as pytorch")
    requests = tuple(
        resolve_options(
            RunOptions(
                Division.OPEN,
                "auto",
                workload,
                name,
                data=data,
                seed=seed,
                batch_size=batch_size,
                threads=threads,
                workers=0,
                accelerator=Accelerator.CPU,
            )
        ).training
        for name in names
    )
    record = count(
        Asked(requests, steps, processor, output),
        lambda line: None if json else print(line, flush=True),
    )
    if json:
        print_json(FORMAT, {"path": str(output), **asdict(record), "figures": figures(record)})
        return
    print("\n".join(_lines(record)))
    print(
        f"The record is in {output}\nDraw it:   {shell_command('suite paper make pi-2a', output)}"
    )


def _lines(record: CountedSteps) -> Iterator[str]:
    yield f"per step of {record.batch_size} samples; simulated caches: {record.caches.processor}"
    yield (
        f"{'framework':12}{'instructions':>16}{'data accesses':>16}{'misses':>9}"
        f"{'branches':>16}{'mispredicted':>14}"
    )
    for name, step in record.of_step.items():
        ratios = figures(record)[name]
        yield (
            f"{name:12}{step.instructions:>16,.0f}{step.l1d_access:>16,.0f}"
            f"{ratios['l1d_miss_ratio']:>9.2%}{step.branches:>16,.0f}"
            f"{ratios['branch_mispredict_ratio']:>14.2%}"
        )
    yield "without valgrind:"
    for name, of in rates(record).items():
        known = {figure: statistics.fmean(values) for figure, values in of.items() if values}
        cycles = (
            f"{known['ipc']:.2f} per cycle"
            if "ipc" in known
            else "instructions per cycle unknown (the cores' clock was not measured)"
        )
        yield (
            f"{name:12}{known['instructions_per_cpu_s'] / 1e9:.2f} billion instructions per CPU "
            f"second, {cycles}"
        )
