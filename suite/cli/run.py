"""`suite run`: one run, or every closed workload of a device, from command to bundle."""

import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import typer

from reference_impls.contract import request_to_dict
from suite import api
from suite.api import Division, Placement, RunOptions, RunRequest, Timing
from suite.cli.completion import workload_names
from suite.cli.findings import show_findings
from suite.cli.json_output import print_rows
from suite.cli.options import DIVISION_HELP, TrainingOptions, with_options
from suite.cli.results import show_result, show_stall_analysis
from suite.cli.watching import watcher
from suite.errors import SuiteError
from suite.experiments.matrix_plan import MatrixDefinition, Vary
from suite.experiments.one_run import CannotComply, broken_rules
from suite.experiments.planned import Values
from suite.launch.isolation import Isolation
from suite.launch.placement import read_hosts
from suite.machine.identify import resolve_device

NOT_COMPLIANT = 1
TIMING_HELP = (
    "Wait for the device after every step, which splits it into fetch, copy, compute and"
    " communication (synchronised), or at the end of an epoch (asynchronous, and the default on an"
    " accelerator that one rank trains on). On a CPU both are the same: synchronised."
)


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Options of `suite run` alone."""

    division: Annotated[Division, typer.Option(help=f"Division: {DIVISION_HELP}")]
    workload: Annotated[
        str | None,
        typer.Option(
            autocompletion=workload_names,
            help="Workload (default: every closed workload of the device).",
        ),
    ] = None
    learning_rate: Annotated[
        float | None, typer.Option(help="Base learning rate of the schedule.")
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            help=(
                "Data-loading processes (default: 4 on a GPU, else 0: the training process loads"
                " the data)."
            )
        ),
    ] = None
    prefetch: Annotated[
        int | None, typer.Option(help="Mini-batches that each worker prepares ahead (default: 2).")
    ] = None
    nodes: Annotated[
        int | None,
        typer.Option(help="Train on the first N hosts of --hostfile (default: all of them)."),
    ] = None
    nonce: Annotated[
        str | None,
        typer.Option(
            help=(
                "Compute the seed from this nonce, in place of --seed (closed entries: the round's"
                " nonce)."
            )
        ),
    ] = None
    run_number: Annotated[
        int | None,
        typer.Option(help="Number of the run with --nonce: 0, 1, 2, … without gaps (default: 0)."),
    ] = None
    org: Annotated[str, typer.Option(help="Submitting organization.")] = "none"
    baseload: Annotated[
        float,
        typer.Option(
            min=0,
            help=(
                "Seconds to measure the idle machine's power before the run, where a power meter is"
                " available."
            ),
        ),
    ] = api.DEFAULT_BASELOAD_S
    power_pulse: Annotated[
        bool,
        typer.Option(
            "--power-pulse",
            help=(
                "Load all cores in a pattern before and after the run, which `suite power attach`"
                " finds in a trace."
            ),
        ),
    ] = False
    witness: Annotated[
        str | None,
        typer.Option(
            help=(
                "Witness of when the run begins and ends: URL of a `suite witness serve`, or"
                " rfc3161:URL of a time stamp authority."
            )
        ),
    ] = None
    isolation: Annotated[
        Isolation | None,
        typer.Option(
            help=(
                "Start the implementation in Linux namespaces of its own (namespace) or a container"
                " (podman), and record it."
            )
        ),
    ] = None
    keep_states: Annotated[
        bool,
        typer.Option(
            "--keep-states",
            help=(
                "Keep every epoch's training state beside the run directory, for `suite audit"
                " --state`."
            ),
        ),
    ] = False
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help=(
                "Continue an interrupted run from the last state that it kept (--keep-states), on"
                " the hosts given now."
            ),
        ),
    ] = None
    meters: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help=(
                "Meters to read (cpu,load), or to leave out (-jtop,-tegrastats); default: every one"
                " (`suite doctor` lists them)."
            ),
        ),
    ] = None
    timing: Annotated[Timing | None, typer.Option(help=TIMING_HELP)] = None
    memory_budget: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help=(
                "Memory that the training process may take (2GB): what does not fit is recomputed"
                " (docs/memory.md)."
            ),
        ),
    ] = None
    spill: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help=(
                "With --memory-budget: activations that do not fit go to this folder on storage,"
                " none is recomputed."
            ),
        ),
    ] = None
    boards: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=(
                "Boards, one per line as in a hostfile, each of which makes this run by itself"
                " (docs/tuning.md): how far they differ."
            ),
        ),
    ] = None
    output: Annotated[Path | None, typer.Option(help="Run directory (default: runs/<run id>).")] = (
        None
    )
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run directory.")] = (
        False
    )
    allow_invalid: Annotated[
        bool, typer.Option("--allow-invalid", help="Run although the result can never comply.")
    ] = False
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all figures of the run.")] = False
    stall_analysis: Annotated[
        bool,
        typer.Option(
            "--stall-analysis",
            help=(
                "Three runs (cold cache, warm cache, data in memory) that separate reading from"
                " preprocessing."
            ),
        ),
    ] = False


@with_options
def run(settings: RunSettings, training: TrainingOptions) -> None:
    """Train a workload under the rules of a division and record everything that was measured."""
    if settings.boards is not None:
        return _fleet(settings.boards, settings, training)
    requests = resolve_requests(training, settings)
    _refuse_invalid(requests, settings, training.json)
    if training.dry_run:
        for missing in sorted(
            {
                request.training.data.name
                for request in requests
                if not request.data_directory.is_dir()
            }
        ):
            print(
                f"The data set {missing!r} is not prepared; this is the request with its published"
                " contents.",
                file=sys.stderr,
            )
        print_rows("run-requests", [_plain(request) for request in requests])
        return
    for number, request in enumerate(requests):
        with watcher() as progress:
            if settings.stall_analysis:
                analysis = api.run_stall_analysis(
                    request, epochs=training.epochs, force=settings.force, progress=progress
                )
            else:
                is_first = number == 0
                result = api.run(
                    request,
                    allow_invalid=True,
                    force=settings.force,
                    since_process_start=is_first,
                    progress=progress,
                )
        if settings.stall_analysis:
            show_stall_analysis(analysis, request.directory, training.json)
        else:
            show_result(result, training.json, settings.verbose)


def resolve_requests(training: TrainingOptions, settings: RunSettings) -> list[RunRequest]:
    """One request per workload; raises SuiteError for options that contradict each other.

    A stall analysis has its own number of epochs; the request that it is made from is judged
    without it.
    """
    if settings.nonce is not None and training.seed is not None:
        raise SuiteError("--nonce computes the seed; leave --seed out.")
    if settings.nonce is None and settings.run_number is not None:
        raise SuiteError("--run-number belongs to --nonce; add --nonce, or choose a --seed.")
    if settings.keep_states and settings.stall_analysis:
        raise SuiteError("A stall analysis keeps no training states; leave --keep-states out.")
    if settings.power_pulse and settings.stall_analysis:
        raise SuiteError("A stall analysis has no power pulse; leave --power-pulse out.")
    if settings.memory_budget is not None and settings.stall_analysis:
        raise SuiteError("A stall analysis keeps all activations; leave --memory-budget out.")
    if settings.timing is Timing.ASYNCHRONOUS and settings.stall_analysis:
        raise SuiteError(
            "A stall analysis compares the parts of steps, which asynchronous timing has not; leave"
            " --timing out."
        )
    if settings.resume is not None and (settings.stall_analysis or settings.workload is None):
        raise SuiteError(
            "--resume continues one run of one workload; give its --workload, and leave"
            " --stall-analysis out."
        )
    device, placement = resolve_device(training.device).device, training.place(settings.nodes)
    workloads = (settings.workload,) if settings.workload is not None else device.closed_workloads
    outputs = {
        name: settings.output if len(workloads) == 1 else settings.output and settings.output / name
        for name in workloads
    }
    options = [_options(training, settings, workload, placement) for workload in workloads]
    return [
        api.resolve(
            each,
            outputs[each.workload],
            settings.baseload,
            settings.witness,
            settings.keep_states,
            settings.meters,
            settings.power_pulse,
            settings.isolation,
            to_show=training.dry_run,
            resume=settings.resume,
        )
        for each in options
    ]


def _options(
    training: TrainingOptions, settings: RunSettings, workload: str, placement: Placement
) -> RunOptions:
    return training.run_options(
        settings.division,
        workload,
        placement,
        epochs=None if settings.stall_analysis else training.epochs,
        learning_rate=settings.learning_rate,
        workers=settings.workers,
        prefetch=settings.prefetch,
        organization=settings.org,
        nonce=settings.nonce,
        run_number=settings.run_number or 0,
        timing=Timing.SYNCHRONISED if settings.stall_analysis else settings.timing,
        memory_budget=settings.memory_budget,
        spill=None if settings.spill is None else str(settings.spill),
    )


OF_FLEETS = (
    *("boards", "division", "workload", "learning_rate", "workers", "prefetch", "timing", "meters"),
    *("isolation", "nonce", "run_number", "org", "memory_budget", "spill", "output", "verbose"),
)
"""Settings that the runs of a fleet may have."""


def _fleet(file: Path, settings: RunSettings, training: TrainingOptions) -> None:
    """Make the run on each board of the file: a matrix that varies them."""
    from suite.cli.sweep_matrix import on_boards  # start-up: asyncio
    from suite.experiments.boards import board_numbers  # start-up: asyncio

    if settings.workload is None:
        raise SuiteError("--boards makes one run on each board; name its --workload.")
    for each in fields(settings):
        if each.name not in OF_FLEETS and getattr(settings, each.name) != each.default:
            raise SuiteError(
                f"--{each.name.replace('_', '-')} is for runs without --boards; leave one of both"
                " out."
            )
    hosts = tuple(read_hosts(file))
    folder = (settings.output or Path("runs") / f"fleet-{settings.workload}").absolute()
    numbers = board_numbers(folder, hosts)
    definition = MatrixDefinition(
        workload=settings.workload,
        title=f"{settings.workload} on a fleet of boards",
        division=settings.division,
        device=training.device,
        seeds=1,
        first_seed=training.seed or 1,
        vary=Vary(board=tuple(numbers[host] for host in hosts)),
        fixed=Values(meters=settings.meters, isolation=settings.isolation),
    )
    options = _options(
        training,
        replace(settings, timing=settings.timing or Timing.SYNCHRONISED),
        settings.workload,
        Placement(),
    )
    on_boards(file, definition, options, training, folder)


def _refuse_invalid(requests: list[RunRequest], settings: RunSettings, json: bool) -> None:
    """Judge all requests before the first run starts; exit code 1 for a request that breaks a rule,
    unless that is allowed."""
    try:
        for request in requests:
            broken_rules(request, settings.allow_invalid)
    except CannotComply as refusal:
        show_findings(refusal.findings, json)
        print(
            f"{refusal} Change what the findings say, or use --allow-invalid to run it anyway.",
            file=sys.stderr,
        )
        raise typer.Exit(NOT_COMPLIANT) from None


def _plain(request: RunRequest) -> dict[str, object]:
    return {
        "run_id": request.run_id,
        "device_evidence": request.device_evidence,
        "nonce": request.nonce,
        "meters_left_out": request.left_out,
        "request": request_to_dict(request.training),
    }
