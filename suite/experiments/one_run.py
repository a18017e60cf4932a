"""One run with everything around it: rules, preflight, baseload, meters, and the search for a
mini-batch that fits after a lack of memory."""

import sys
import time
from dataclasses import replace
from pathlib import Path

from reference_impls.contract import Request
from suite.bundle.layout import RUN, states_folder
from suite.bundle.reader import Bundle
from suite.bundle.resumption import how_to_resume
from suite.catalog.frameworks import Capability, refuse_without
from suite.catalog.workloads import Workload
from suite.cluster.doctor import admit_run
from suite.compliance.checker import check_request
from suite.compliance.finding import Finding, rules_broken_by
from suite.compliance.rules.meters import findings_of_choice
from suite.errors import Interrupted, InterruptedAfterEnd, SuiteError
from suite.execution.baseload import baseload_meters, recorded_baseload
from suite.execution.events import (
    BaseloadStarted,
    BatchSizeTried,
    MemoryExhausted,
    NodeMismatch,
    Progress,
    RunEnded,
    RunStarted,
    StatesKept,
    silent,
)
from suite.execution.kept_states import (
    kept_epochs,
    make_states_folder,
    refuse_states_folder,
    states_size_bytes,
)
from suite.execution.preflight import preflight
from suite.execution.preparation import Invocation, begin_lifetime
from suite.execution.recorder import Recorder
from suite.execution.request import RunRequest
from suite.execution.run import RunResult, run
from suite.execution.run_directory import make_output
from suite.experiments.memory import largest_batch, ran_out_of_memory
from suite.files.counted import counted
from suite.files.shell_command import shell_command
from suite.launch.building import build_implementation
from suite.launch.environments import Environment, as_it_is, find_environment
from suite.machine.procfs import kills_for_memory
from suite.meters.registry import chosen_meters

FINISHED = "finished"


class CannotComply(SuiteError):
    """A request breaks rules of its division before it runs; ``findings`` name them."""

    def __init__(self, request: RunRequest, findings: tuple[Finding, ...]) -> None:
        super().__init__(
            f"This run could never comply with the {request.training.division} division"
            f" ({', '.join(rules_broken_by(findings))})",
            next(finding.fix for finding in findings if finding.is_invalid),
        )
        self.findings = findings


def broken_rules(request: RunRequest, allow_invalid: bool = True) -> tuple[str, ...]:
    """Ids of the rules that the request breaks; raises CannotComply for the first invalid request
    unless ``allow_invalid``."""
    training, workload = request.training, request.workload
    of_choice = findings_of_choice(training.division, request.left_out)
    findings = (*check_request(training, workload), *of_choice)
    broken = tuple(finding.rule for finding in findings if finding.is_invalid)
    if broken and not allow_invalid:
        own = check_request(_with_own_data(training, workload), workload)
        raise CannotComply(request, (*own, *of_choice))
    return broken


def _with_own_data(training: Request, workload: Workload) -> Request:
    """The request without what another data set brought with it: epochs, target, model and
    augmentation are no mistakes of their own."""
    brought = next((each for each in workload.other_data if each.data == training.data.name), None)
    if brought is None:
        return training
    values = {**vars(brought), "model": brought.model or workload.model}
    return training._replace(
        preprocessing=training.preprocessing._replace(
            augmentation=workload.preprocessing.augmentation
        ),
        **{
            name: getattr(workload, name)
            for name in ("epochs", "target_accuracy", "model")
            if getattr(training, name) == values[name]
        },
    )


def run_one(
    request: RunRequest,
    *,
    allow_invalid: bool = True,
    force: bool = False,
    command: tuple[str, ...] | None = None,
    since_process_start: bool = False,
    progress: Progress = silent,
) -> RunResult:
    """Run a request to its closed bundle.

    The bundle records ``command`` (default: this process's command line) and the rules that the
    request breaks. ``force`` replaces an existing run directory. ``since_process_start``: this
    process was started for the run. Raises CannotComply, Interrupted, and SuiteError for a run that
    did not finish.
    """
    lifetime = begin_lifetime(since_process_start)
    allowed = broken_rules(request, allow_invalid)
    path = request.directory
    environment = as_it_is(find_environment(request.framework))
    if request.keep_states:
        refuse_without(request.framework, Capability.STATES, "--keep-states")
    build_implementation(request.framework, environment)
    preflight(request)
    for problem in admit_run(request.placement, environment, request.framework.argument):
        progress(NodeMismatch(problem.sentence, problem.remedy))
    if request.keep_states and force:  # only then make_output deletes a run
        refuse_states_folder(path, force)
    make_output(path, force)
    if request.keep_states:
        make_states_folder(path, force)
        size_bytes = states_size_bytes(request)
        progress(StatesKept(states_folder(path), size_bytes, kept_epochs(request)))
    kills = kills_for_memory()
    try:
        lifetime = replace(lifetime, idle_ns=_measure_baseload(path, request, progress))
        progress(RunStarted(request))
        invocation = Invocation(command or tuple(sys.argv), allowed, lifetime)
        try:
            result = run(
                request,
                environment,
                invocation,
                Recorder(chosen_meters(request.left_out), path),
                progress,
            )
        finally:
            progress(RunEnded())
    except InterruptedAfterEnd:
        raise
    except KeyboardInterrupt as interrupt:
        raise Interrupted(str(interrupt) or _interrupted(path)) from None
    if result.status != FINISHED:
        if ran_out_of_memory(path, kills):
            raise SuiteError(_out_of_memory(request, environment, progress))
        said = (
            f"The run did not finish: {str(result.message).rstrip('.')}. {path} keeps"
            f" {_kept(path)}; see its output.txt. {how_to_resume(path, request.training)}"
        )
        raise SuiteError(said.rstrip())
    return result


def _interrupted(path: Path) -> str:
    """What an interrupt left, and what seals it, where the run had begun its record."""
    if not (path / RUN).is_file():
        return f"the run in {path} had not begun to train"
    return f"{path} keeps {_kept(path)}; `{shell_command('suite finish', path)}` seals it"


def _kept(path: Path) -> str:
    """What is left of a run that did not finish."""
    return counted(Bundle(path).finished_epochs(), "finished epoch")


def _measure_baseload(
    path: Path, request: RunRequest, progress: Progress
) -> tuple[tuple[int, int], ...]:
    """Record the idle power of this machine where a meter reads it; without one, return at once.
    Other nodes: suite.execution.remote_recorders.

    Returns the windows, ns on the monotonic clock, in which the machine was left idle: one or none.
    """
    time_s = request.baseload_s
    meters = baseload_meters(chosen_meters(request.left_out)) if time_s else ()
    if not meters:
        return ()
    progress(BaseloadStarted(time_s, tuple(meter.name for meter in meters)))
    with recorded_baseload(meters, path):
        begin_ns = time.monotonic_ns()
        time.sleep(time_s)
        end_ns = time.monotonic_ns()
    return ((begin_ns, end_ns),)


def _out_of_memory(request: RunRequest, environment: Environment, progress: Progress) -> str:
    """The error sentence, with what took the memory and what to do."""
    size, path = request.training.global_batch_size, request.training.output_directory
    taken = [f"mini-batches of {size} samples"]
    taken += [limit.setting for limit in request.limits if limit.v2 == "memory"]
    if request.neighbours:
        taken.append(counted(request.neighbours, "neighbour"))
        advice = "choose fewer neighbours, or a smaller --batch-size"
    else:
        advice = _fitting_size(request, environment, progress)
    return (
        f"Out of memory with {' and '.join(taken)}; {advice}. {path} keeps"
        f" {_kept(Path(path))}; see its output.txt."
    )


def _fitting_size(request: RunRequest, environment: Environment, progress: Progress) -> str:
    """The largest mini-batch that fits, as advice; each size is tried, which takes some seconds."""
    progress(MemoryExhausted())
    try:
        fitting = largest_batch(request, environment, lambda tried: progress(BatchSizeTried(tried)))
    except KeyboardInterrupt:
        half = max(1, request.training.global_batch_size // 2)
        return f"the search for a size that fits was interrupted; try --batch-size {half}"
    return (
        f"one step with --batch-size {fitting} fits"
        if fitting
        else "not even a mini-batch of one sample fits: choose a smaller workload"
    )
