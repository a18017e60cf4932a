"""`suite run`: one run, or those of a device's default workloads, from command to bundle."""

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import typer

from reference_impls.contract import request_to_dict
from suite import api
from suite.api import Placement, RunOptions, RunRequest, Shares, Timing
from suite.catalog.divisions import Division
from suite.catalog.rounds import current_round
from suite.cli.findings import show_findings
from suite.cli.json_output import print_rows
from suite.cli.options import TrainingOptions, with_options
from suite.cli.quick import tell_left_out
from suite.cli.results import show_result, show_stall_analysis, stall_analysis_values
from suite.cli.run_settings import RunSettings
from suite.cli.watching import watcher
from suite.cli.whole_board import (
    BoardRun,
    make_runs,
    planned_runs,
    possible_requests,
    say_what_next,
    tell_hours,
)
from suite.errors import Reported, SuiteError
from suite.execution.resolve import RUNS
from suite.experiments.matrix_plan import MatrixDefinition, Vary
from suite.experiments.one_run import CannotComply, broken_rules
from suite.experiments.planned import Values
from suite.launch.placement import read_hosts
from suite.machine.identify import resolve_device

NOT_COMPLIANT = 1


@with_options
def run(settings: RunSettings, training: TrainingOptions) -> None:
    """Train a workload under the rules of a division and record everything that was measured."""
    refuse_contradictions(training, settings)
    if settings.boards is not None:
        return _fleet(settings.boards, settings, training)
    planned = _board_runs(training, settings)
    left = possible_requests(planned, resolve_requests, training.dry_run) if planned else {}
    requests = list(left.values()) if planned else resolve_requests(training, settings)
    _refuse_invalid(requests, settings, training.json)
    _warn_of_nonce(settings)
    if training.dry_run:
        _show(requests)
        return
    if planned:
        _make_set(planned, left, settings, training.json)
        return
    if settings.stall_analysis:
        _analyse_stalls(requests, settings, training)
        return
    (request,) = requests
    with watcher() as progress:
        result = api.run(
            request,
            allow_invalid=True,
            force=settings.force,
            since_process_start=True,
            progress=progress,
        )
    show_result(result, training.json, settings.verbose)


def _analyse_stalls(
    requests: list[RunRequest], settings: RunSettings, training: TrainingOptions
) -> None:
    """Make the stall analysis of every workload, and show it; as JSON those of a board in one
    object."""
    as_rows, rows = training.json and settings.workload is None, []
    for request in requests:
        with watcher() as progress:
            analysis = api.run_stall_analysis(
                request, epochs=training.epochs, force=settings.force, progress=progress
            )
        if as_rows:
            rows.append({"analysis": stall_analysis_values(analysis, request.directory)})
        else:
            show_stall_analysis(analysis, request.directory, training.json)
    if as_rows:
        print_rows("stall-analyses", rows)


def _make_set(
    planned: list[BoardRun], left: dict[Path, RunRequest], settings: RunSettings, json: bool
) -> None:
    """Make what is left of a board's runs; raises Reported, after that, for those that failed."""
    tell_hours(planned, left, resolve_requests)
    problems = make_runs(left.values(), json, settings.verbose)
    if not json:
        say_what_next(planned)
    if problems:
        raise Reported("\n".join(problems))


def _show(requests: list[RunRequest]) -> None:
    for missing in sorted(
        {request.training.data.name for request in requests if not request.data_directory.is_dir()}
    ):
        print(
            f"The data set {missing!r} is not prepared; the request assumes its published"
            " contents.",
            file=sys.stderr,
        )
    print_rows("run-requests", [_request_json(request) for request in requests])


def _board_runs(training: TrainingOptions, settings: RunSettings) -> list[BoardRun]:
    """The runs of every workload of the board, where no workload is named; else none."""
    if settings.workload is not None or settings.stall_analysis:
        return []
    if settings.force:
        raise SuiteError("--force is for one run; to make the set again, choose another --output.")
    device = resolve_device(training.device).device
    tell_left_out(
        {
            each.name: f"{each.why_not_ranked}; --workload {each.name} trains it"
            for each in device.fitting_workloads
            if each.why_not_ranked
        }
    )
    output = settings.output or RUNS / f"{device.name}-{settings.division.value}"
    return planned_runs(training, settings, device.closed_workloads, output)


def _warn_of_nonce(settings: RunSettings) -> None:
    """Say before the training that a closed run's nonce is not its round's."""
    judged_by = current_round()
    if settings.nonce in (None, judged_by.nonce) or settings.division is not Division.CLOSED:
        return
    said = (
        "has no nonce yet: the leaderboard will say that you chose this run's seed"
        if judged_by.nonce is None
        else f"has the nonce {judged_by.nonce!r}; a closed run with another nonce cannot be"
        " submitted"
    )
    print(f"warning: round {judged_by.name} {said} (docs/submitting.md)", file=sys.stderr)


def refuse_contradictions(training: TrainingOptions, settings: RunSettings) -> None:
    """Raise SuiteError for options that exclude one another."""
    if settings.nonce is not None and training.seed is not None:
        raise SuiteError("--nonce computes the seed; leave --seed out.")
    if settings.nonce is None and settings.run_number is not None:
        raise SuiteError("--run-number belongs to --nonce; add --nonce, or choose a --seed.")
    for is_typed, sentence in (
        (settings.keep_states, "keeps no training states; leave --keep-states out"),
        (settings.power_pulse, "has no power pulse; leave --power-pulse out"),
        (settings.memory_budget, "keeps all activations; leave --memory-budget out"),
        (training.shares is Shares.SPEED, "has equal shares; leave --shares out"),
        (settings.short is not None, "takes its epochs from --epochs; leave --short out"),
        (
            settings.baseload not in (0, api.DEFAULT_BASELOAD_S),
            "measures no idle power; leave --baseload out",
        ),
        (
            settings.timing is Timing.ASYNCHRONOUS,
            (
                "compares the parts of steps, which asynchronous timing does not record; leave "
                "--timing out"
            ),
        ),
    ):
        if is_typed and settings.stall_analysis:
            raise SuiteError(f"A stall analysis {sentence}.")
    if settings.resume is not None and (settings.stall_analysis or settings.workload is None):
        raise SuiteError(
            "--resume continues one run of one workload; give its --workload, and leave"
            " --stall-analysis out."
        )


def resolve_requests(training: TrainingOptions, settings: RunSettings) -> list[RunRequest]:
    """One request per workload.

    A stall analysis has its own number of epochs; the request that it is made from is judged
    without it.
    """
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
            settings.keep_states or settings.short is not None,
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
        short=settings.short,
        learning_rate=settings.learning_rate,
        trains=settings.trains,
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
    *("isolation", "org", "output", "verbose", "allow_invalid"),
)
"""Settings that the runs of a fleet may have."""


def _fleet(file: Path, settings: RunSettings, training: TrainingOptions) -> None:
    """Make the run on each board of the file: a matrix that varies them."""
    from suite.cli.sweep_matrix import on_boards  # start-up: asyncio
    from suite.experiments.boards import board_numbers, plan_for_boards  # start-up: asyncio
    from suite.experiments.planned_runs import resolve_planned  # start-up: of few commands

    if settings.workload is None:
        raise SuiteError(
            "With --boards every board trains the same workload; name it with --workload."
        )
    for each in fields(settings):
        if each.name not in OF_FLEETS and getattr(settings, each.name) != each.default:
            raise SuiteError(
                f"--{each.name.replace('_', '-')} is for runs without --boards; leave one of the"
                " two out."
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
        first_seed=1 if training.seed is None else training.seed,
        vary=Vary(board=tuple(numbers[host] for host in hosts)),
        fixed=Values(meters=settings.meters, isolation=settings.isolation),
    )
    options = _options(
        training,
        replace(settings, timing=settings.timing or Timing.SYNCHRONISED),
        settings.workload,
        Placement(),
    )
    planned = plan_for_boards(definition, options)
    requests = resolve_planned(planned, folder, to_show=True, elsewhere=True)
    _refuse_invalid(requests[:1], settings, training.json)
    on_boards(file, definition, options, training, folder)


def _refuse_invalid(requests: Sequence[RunRequest], settings: RunSettings, json: bool) -> None:
    """Judge all requests before the first run starts; exit code 1 for a request that breaks a rule,
    unless that is allowed, and a warning of closed runs that can have no rank."""
    try:
        for request in requests:
            broken_rules(request, settings.allow_invalid)
            why = request.workload.why_not_ranked
            if why and settings.division is Division.CLOSED:
                print(f"warning: {request.workload.name}: {why}", file=sys.stderr)
    except CannotComply as refusal:
        show_findings(refusal.findings, json)
        print(
            f"{refusal.problem}. Change what the findings name, or use --allow-invalid to run"
            " anyway.",
            file=sys.stderr,
        )
        raise typer.Exit(NOT_COMPLIANT) from None


def _request_json(request: RunRequest) -> dict[str, object]:
    return {
        "run_id": request.run_id,
        "device_evidence": request.device_evidence,
        "nonce": request.nonce,
        "meters_left_out": request.left_out,
        "request": request_to_dict(request.training),
    }
