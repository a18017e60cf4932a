"""`suite run`: one run, or every closed workload of a device, from command to bundle."""

import json as json_format
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from suite.catalog.divisions import Division
from suite.errors import SuiteError
from suite.execution.request import Accelerator, Collective

if TYPE_CHECKING:
    from suite.execution.request import RunOptions, RunRequest
    from suite.execution.run import RunResult
    from suite.launch.environments import Environment

NOT_COMPLIANT = 1


def run(
    division: Annotated[Division, typer.Option(help="closed: as the rulebook says; open: anything, quality reported.")],
    device: Annotated[str, typer.Option(help="A device profile, or auto (`suite list devices`).")] = "auto",
    workload: Annotated[str | None, typer.Option(help="A workload; without it, every closed workload of the device.")] = None,
    framework: Annotated[str, typer.Option(help="`suite list frameworks` shows them.")] = "pytorch",
    data: Annotated[
        str | None, typer.Option(help="A data set's name, the folder that holds the workload's own, NAME=FOLDER for another one's, or synthetic.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Initial weights and order of samples come from it.")] = 1,
    epochs: Annotated[int | None, typer.Option(help="The most epochs, and the horizon of the learning-rate schedule.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop after so many mini-batches.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Samples per mini-batch.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="The schedule's base.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of the framework (default: the workload's, else every usable core).")] = None,
    accelerator: Annotated[Accelerator, typer.Option(help="Where the model is trained.")] = Accelerator.AUTO,
    workers: Annotated[int | None, typer.Option(help="Processes that make mini-batches (default: 4 beside a GPU, else 0: the training one).")] = None,
    prefetch: Annotated[int | None, typer.Option(help="Mini-batches that each worker makes ahead (default: 2).")] = None,
    nodes: Annotated[int | None, typer.Option(help="Train on the first so many hosts of --hostfile (default: all of them).")] = None,
    hostfile: Annotated[Path | None, typer.Option(help="The hosts to train on together, one a line.")] = None,
    ranks_per_node: Annotated[int, typer.Option(help="Processes on each host.")] = 1,
    collective: Annotated[Collective, typer.Option(help="Who sums the gradients: the suite over MPI, or the framework itself.")] = Collective.MPI,
    launch_agent: Annotated[str | None, typer.Option(help="What starts a process on another host (default: ssh).")] = None,
    org: Annotated[str, typer.Option(help="Whose run it is.")] = "none",
    baseload: Annotated[float, typer.Option(min=0, help="Seconds that the idle machine's power is measured before the run, where it can be.")] = 10.0,
    output: Annotated[Path | None, typer.Option(help="The run directory (default: runs/<run id>).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing run directory.")] = False,
    allow_invalid: Annotated[bool, typer.Option("--allow-invalid", help="Run although the result can never comply.")] = False,
    stall_analysis: Annotated[
        bool, typer.Option("--stall-analysis", help="Three runs (cold and warm page cache, data in memory) that tell reading from preprocessing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved request and stop.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train as the rulebook says and keep everything that was measured."""
    from suite.execution.request import RunOptions
    from suite.launch.placement import place
    from suite.machine.identify import resolve_device

    profile, placement = resolve_device(device).device, place(nodes, hostfile, ranks_per_node, launch_agent)
    names = (workload,) if workload is not None else profile.closed_workloads
    of_run = None if stall_analysis else epochs  # an analysis has epochs of its own; what it analyses is judged as it would be run
    options = [
        RunOptions(
            division,
            device,
            name,
            framework,
            data,
            seed,
            of_run,
            steps,
            batch_size,
            learning_rate,
            threads,
            accelerator,
            workers,
            prefetch,
            org,
            placement,
            collective,
        )
        for name in names
    ]
    requests = [resolve_options(each, output if len(names) == 1 else output and output / each.workload) for each in options]
    allowed = _judge(requests, allow_invalid, json)
    if dry_run:
        print(json_format.dumps([_request_json(request) for request in requests], indent=1))
        return
    if stall_analysis:
        from suite.cli.stalls import analyse_stalls

        for request in requests:
            analyse_stalls(request, epochs, force, json)
        return
    for request, findings in zip(requests, allowed, strict=True):
        _show_result(run_one(replace(request, baseload_s=baseload), findings, force), json)


def resolve_options(options: "RunOptions", output: Path | None) -> "RunRequest":
    """Options to a request; the data set must be there."""
    from reference_impls.contract import DataSet
    from suite.catalog.workloads import load_workload
    from suite.datasets.locate import find
    from suite.execution.request import choose_data, resolve, validate
    from suite.execution.run import new_run_id

    validate(options)
    choice = choose_data(load_workload(options.workload), options.data)
    prepared = find(choice.name, choice.directory)
    found = prepared.contents
    data_set = DataSet(
        choice.name,
        str(prepared.directory),
        prepared.definition.layout,
        found.classes,
        found.train_samples,
        found.eval_samples,
        found.verified,
        prepared.is_synthetic,
    )
    run_id = new_run_id(options.workload, options.framework, time.time())
    return resolve(options, data_set, (output or Path("runs") / run_id).absolute(), run_id)


def _judge(requests: "list[RunRequest]", allow_invalid: bool, json: bool) -> list[tuple[str, ...]]:
    """The rules judge the requests before a second is spent; returns the ids of the findings that were waved through."""
    from suite.cli.findings import show_findings
    from suite.compliance.checker import check_request
    from suite.compliance.finding import Severity

    allowed = []
    for request in requests:
        findings = check_request(request)
        broken = tuple(finding.rule for finding in findings if finding.severity is Severity.INVALID)
        if broken and not allow_invalid:
            show_findings(findings, json)
            print(
                f"This run could never comply with the {request.training.division} division; --allow-invalid runs it all the same.", file=sys.stderr
            )
            raise typer.Exit(NOT_COMPLIANT)
        allowed.append(broken)
    return allowed


def run_one(request: "RunRequest", allowed: tuple[str, ...], force: bool) -> "RunResult":
    """One run to its closed bundle; raises SuiteError when it did not come to its end."""
    from suite.cli.watching import watcher
    from suite.execution.preflight import preflight
    from suite.execution.recorder import Recorder
    from suite.execution.run import make_output, run
    from suite.experiments.memory import kills_for_memory, ran_out_of_memory
    from suite.launch.environments import find
    from suite.meters.registry import open_meters

    path = Path(request.training.output_directory)
    environment = find(request.framework)
    preflight(request)
    make_output(path, force)
    kills = kills_for_memory()
    try:
        _measure_baseload(path, request.baseload_s)
        with watcher(request) as progress:
            result = run(request, environment, tuple(sys.argv), allowed, Recorder(open_meters(), path), progress)
    except KeyboardInterrupt:
        again = " ".join(["suite", *sys.argv[1:]])
        raise SuiteError(f"Interrupted; every finished epoch is kept in {path}. To run again: {again}") from None
    if result.status != "finished":
        if ran_out_of_memory(path, kills):
            raise SuiteError(_out_of_memory(request, environment, path))
        raise SuiteError(f"The run did not finish: {result.message}. What it wrote is in {path} (see output.txt); every finished epoch is kept.")
    return result


def _out_of_memory(request: "RunRequest", environment: "Environment", path: Path) -> str:
    """What happened, and the size that would have fitted: it is tried, which takes some seconds a size."""
    from suite.experiments.memory import largest_batch

    size = request.training.global_batch_size
    print("The memory did not suffice; trying smaller mini-batches (Ctrl-C ends the search)", file=sys.stderr)
    try:
        fitting = largest_batch(request, environment, lambda tried: print(f"  {tried} samples …", file=sys.stderr))
        advice = f"one step with --batch-size {fitting} fits" if fitting else "not even a mini-batch of one sample fits: choose a smaller workload"
    except KeyboardInterrupt:
        advice = "the search for one that fits was interrupted; try half of it"
    return f"Out of memory with mini-batches of {size} samples; {advice}. Every finished epoch is kept in {path} (see output.txt)."


def _measure_baseload(path: Path, seconds: float) -> None:
    """Where power can be read, read it while nothing runs; elsewhere nobody waits. Other nodes do so once they are reached (suite.other_nodes)."""
    from suite.execution.baseload import baseload_meters, recorded_baseload
    from suite.meters.registry import open_meters

    meters = baseload_meters(open_meters()) if seconds else ()
    if meters:
        print(f"Measuring the idle machine for {seconds:g} s ({', '.join(meter.name for meter in meters)})", file=sys.stderr)
        with recorded_baseload(meters, path):
            time.sleep(seconds)


def _show_result(result: "RunResult", json: bool) -> None:
    from suite.bundle.layout import SUMMARY
    from suite.bundle.reader import Bundle

    summary = Bundle(result.path).json(SUMMARY)
    if json:
        print(json_format.dumps({"path": str(result.path), "status": result.status, **summary}, indent=1))
        return
    for name in ("best_accuracy", "time_to_target_s", "time_to_epoch_s", "first_epoch_s", "fetch_stall_s", "compute_s", "overhead_s", "energy_j"):
        figure = summary["figures"][name]
        spread = f" ± {figure['spread']:.4g}" if figure["spread"] is not None else ""
        value = f"{figure['value']:.4g}{spread} {figure['unit']}" if figure["value"] is not None else f"unknown: {figure['reason']}"
        print(f"{name:18} {value}")
    _show_disturbances(summary["disturbances"], "")
    _show_ranks_and_nodes(summary)
    print(f"\nThe run is in {result.path}\nJudge it:  suite check {result.path}\nDraw it:   suite report {result.path} --output site")


def _show_disturbances(disturbances: "dict[str, Any]", where: str) -> None:
    for event in disturbances["throttling"]:
        held = f" for {event['held_s']:.3g} s" if event["held_s"] is not None else ""
        print(f"THROTTLED{where}: {event['channel']} {event['start_s']:.1f} s after the start{held}")
    for step in disturbances["clock_steps"]:
        moved = f"{step['step_s']:+.3g} s, {step['at_s']:.1f} s after the start"
        print(f"The wall clock{where} was set by {moved}; durations are not touched by it.")


def _show_ranks_and_nodes(summary: "dict[str, Any]") -> None:
    """Who was the slowest, and what of the other nodes could not be measured or was disturbed."""
    busy = [rank for rank in summary.get("ranks", []) if rank["busy_ratio"] is not None]
    if busy:
        slowest = max(busy, key=lambda rank: rank["busy_ratio"])
        where = f" on {slowest['node']}" if slowest["node"] else ""
        print(f"slowest rank       {slowest['rank']}{where}: busy {slowest['busy_ratio']:.3f} times as long as the mean of {len(busy)}")
    for node in summary.get("nodes", []):
        if node["reason"]:
            print(f"NOT MEASURED: {node['node']}: {node['reason']}")
    for node in summary.get("nodes", [])[1:]:
        _show_disturbances(node["disturbances"], f" on {node['node']}")


def _request_json(request: "RunRequest") -> dict[str, object]:
    from reference_impls.contract import request_to_dict

    return {"run_id": request.run_id, "device_evidence": request.device_evidence, "request": request_to_dict(request.training)}
