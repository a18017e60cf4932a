"""Options of `suite run` alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from suite import api
from suite.api import Division, Timing
from suite.bundle.layout import NO_ORGANIZATION
from suite.cli.completion import workload_names
from suite.cli.options import DIVISION_HELP
from suite.launch.isolation import Isolation

TIMING_HELP = (
    "`synchronised`: wait for the device after every step, which measures fetch, copy, compute and"
    " communication. `asynchronous`: wait only at the end of an epoch (the default for one rank on"
    " an accelerator; not possible on a CPU)."
)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Options of `suite run` alone."""

    division: Annotated[Division, Option(help=f"Division: {DIVISION_HELP}")]
    workload: Annotated[
        str | None,
        Option(
            autocompletion=workload_names,
            help="Workload (default: three runs of each of the device's workloads; before them, the"
            " plan and its duration are shown).",
        ),
    ] = None
    learning_rate: Annotated[float | None, Option(help="Base learning rate of the schedule.")] = (
        None
    )
    trains: Annotated[
        str | None,
        Option(
            help=(
                "Part of the model to train: a name under `other_trains` in"
                " rules/workloads/WORKLOAD.toml (open division; default: `trains` in this file,"
                " or the whole model)."
            )
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option(
            help=(
                "Data-loading processes (default: up to 4 on a GPU, else 0: the training process"
                " loads the data)."
            )
        ),
    ] = None
    prefetch: Annotated[
        int | None, Option(help="Mini-batches that each worker prepares ahead (default: 2).")
    ] = None
    nodes: Annotated[
        int | None,
        Option(help="Train on the first N hosts of --hostfile (default: all of them)."),
    ] = None
    nonce: Annotated[
        str | None,
        Option(
            help=(
                "Compute the seed from this nonce, in place of --seed (closed entries: the round's"
                " nonce)."
            )
        ),
    ] = None
    run_number: Annotated[
        int | None,
        Option(help="Number of the run with --nonce: 0, 1, 2, … without gaps (default: 0)."),
    ] = None
    org: Annotated[str, Option(help="Submitting organization.")] = NO_ORGANIZATION
    baseload: Annotated[
        float,
        Option(
            min=0,
            help=(
                "Seconds to measure the idle machine's power before the run, where a power meter is"
                " available."
            ),
        ),
    ] = api.DEFAULT_BASELOAD_S
    power_pulse: Annotated[
        bool,
        Option(
            "--power-pulse",
            help=(
                "Before and after the run, load all cores in a pattern that `suite power attach`"
                " finds in a logger's file."
            ),
        ),
    ] = False
    witness: Annotated[
        str | None,
        Option(
            help=(
                "Witness that signs when the run begins and ends: URL of a `suite witness serve`,"
                " or rfc3161:URL of a time stamp authority."
            )
        ),
    ] = None
    isolation: Annotated[
        Isolation | None,
        Option(
            help=(
                "Isolate the implementation in new Linux namespaces (namespace) or a container"
                " (podman); the run records the choice."
            )
        ),
    ] = None
    keep_states: Annotated[
        bool,
        Option(
            "--keep-states",
            help=(
                "Keep every epoch's training state beside the run directory, for `suite audit"
                " --state`."
            ),
        ),
    ] = False
    short: Annotated[
        int | None,
        Option(
            metavar="EPOCHS",
            help=(
                "Stop after this many epochs of the schedule, and keep the training states: for a"
                " board that needs days for the whole schedule."
            ),
        ),
    ] = None
    resume: Annotated[
        Path | None,
        Option(
            metavar="RUN",
            help=(
                "Continue an interrupted run from its last kept training state (--keep-states), on"
                " the hosts given now."
            ),
        ),
    ] = None
    meters: Annotated[
        str | None,
        Option(
            metavar="NAME,…",
            help=(
                "Meters to read, such as cpu,load, or to leave out, such as -jtop,-tegrastats"
                " (default: read all; `suite doctor` lists them)."
            ),
        ),
    ] = None
    timing: Annotated[Timing | None, Option(help=TIMING_HELP)] = None
    memory_budget: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help=(
                "Memory that the training process may use, such as 2GB (default: no limit);"
                " activations that do not fit are recomputed (docs/memory.md)."
            ),
        ),
    ] = None
    spill: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help=(
                "With --memory-budget: activations that do not fit go to this folder on storage "
                "instead of being recomputed."
            ),
        ),
    ] = None
    boards: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help=(
                "File of boards, one per line as in a hostfile; each board makes this run, to "
                "show how far they differ (docs/tuning.md)."
            ),
        ),
    ] = None
    output: Annotated[Path | None, Option(help="Run directory (default: runs/<run id>).")] = None
    force: Annotated[bool, Option("--force", help="Replace an existing run directory.")] = False
    allow_invalid: Annotated[
        bool, Option("--allow-invalid", help="Run although the result can never comply.")
    ] = False
    verbose: Annotated[bool, Option("--verbose", help="Show all figures of the run.")] = False
    stall_analysis: Annotated[
        bool,
        Option(
            "--stall-analysis",
            help=(
                "Make three runs (cold cache, warm cache, data in memory) that separate the time"
                " of reading from the time of preprocessing."
            ),
        ),
    ] = False
