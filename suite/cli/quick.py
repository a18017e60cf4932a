"""`suite quick [WORKLOAD…]`."""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from suite import api
from suite.api import Accelerator, Division, RunOptions, RunRequest
from suite.catalog.workloads import load_workload
from suite.cli.durations import duration_text, parse_limit
from suite.cli.json_output import print_rows
from suite.cli.options import (
    FRAMEWORK,
    ClosedWorkloads,
    FrameworkName,
    Json,
    OfArithmetic,
    WhereTrained,
)
from suite.cli.watching import watcher
from suite.errors import Reported, SuiteError
from suite.execution.run_directory import is_taken
from suite.experiments.one_run import broken_rules
from suite.experiments.quick import (
    MIN_EPOCHS,
    TRIAL,
    QuickLook,
    look_within,
    quick_look,
    steps_of_epoch,
    trial_of,
)
from suite.machine.identify import resolve_device
from suite.metrics.comparisons import Interval
from suite.metrics.projection import STEADY_WITHIN, TimeProjection

if TYPE_CHECKING:
    from suite.execution.run import RunResult

EPOCHS = 4
IN_HOURS_S = 7200


def quick(
    workloads: ClosedWorkloads = None,
    framework: FrameworkName = FRAMEWORK,
    epochs: Annotated[
        int,
        Option(min=MIN_EPOCHS, help="How many epochs of each workload's schedule to train."),
    ] = EPOCHS,
    within: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help=(
                "Time for all workloads together, such as 10m or 8h: a workload without time for "
                "three epochs trains only some steps."
            ),
        ),
    ] = None,
    threads: Annotated[
        int | None,
        Option(help="Framework threads (default: the workload's, else every usable core)."),
    ] = None,
    accelerator: WhereTrained = Accelerator.AUTO,
    precision: OfArithmetic = None,
    output: Annotated[
        Path | None, Option(help="Folder of the run directories (default: runs).")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print what would be trained, and stop.")
    ] = False,
    json: Json = False,
) -> None:
    """Train workloads for a few epochs and project their times to the target accuracy. Exit code:
    0 at least one was trained, 2 none."""
    within_s = None if within is None else parse_limit(within, "--within")
    ends_s = None if within_s is None else time.monotonic() + within_s
    looks: list[QuickLook] = []
    chosen = chosen_workloads(workloads, epochs)
    _refuse_taken(
        () if output is None else [output / workload for workload in chosen], within is not None
    )
    settings = RunOptions(
        Division.OPEN,
        "auto",
        "",
        framework,
        threads=threads,
        accelerator=accelerator,
        precision=precision,
        timing=None,
    )
    requests, left_out = resolve_workloads(
        [replace(settings, workload=workload) for workload in chosen], output, dry_run
    )
    if dry_run:
        show_plan(requests, epochs, within_s, json, left_out)
        return
    for place, request in enumerate(requests):
        name, failed = request.workload.name, list[str]()
        with problems_noted(failed, name, "not projected"):
            if ends_s is None:
                looks.append(quick_look(request, epochs, _run))
            else:
                print(
                    f"{name}: training a few steps first, to see how many epochs fit",
                    file=sys.stderr,
                )
                looks.append(
                    look_within(
                        request, epochs, (ends_s - time.monotonic()) / (len(requests) - place), _run
                    )
                )
            if not json:
                print(quick_sentence(looks[-1]))
        if failed:
            left_out[name] = failed[0].removeprefix(f"{name}: ")
    if json:
        keys = [each.name for each in fields(QuickLook)]
        print_rows("quick", [*map(vars, looks), *_left_out(left_out, keys, "reason")])
    if left_out and not looks:
        raise Reported("\n".join(_lines(left_out)))


def show_plan(
    requests: Sequence[RunRequest],
    epochs: int,
    within_s: float | None,
    json: bool,
    left_out: Mapping[str, str],
) -> None:
    """Print how many epochs each workload would be trained, and in what time; as JSON also which
    are left out, and why."""
    share_s = None if within_s is None else within_s / len(requests)
    plan = [
        {
            "workload": each.workload.name,
            "epochs": min(epochs, each.workload.epochs),
            "steps_per_epoch": steps_of_epoch(each),
            "time_s": share_s,
            "is_prepared": each.data_directory.is_dir(),
            "left_out": None,
        }
        for each in requests
    ]
    if json:
        print_rows("quick-plan", [*plan, *_left_out(left_out, plan[0], "left_out")])
        return
    for row in plan:
        most = "" if share_s is None else f"at most {duration_text(share_s)}; up to "
        missing = "" if row["is_prepared"] else "; its data set is not prepared"
        steps = f"{row['epochs']} epochs of {row['steps_per_epoch']} steps"
        print(f"{row['workload']}: {most}{steps}{missing}")
    if share_s is None:
        print("The time is known only after the first steps; --within 30m sets a limit.")


def _left_out(
    workloads: Mapping[str, str], keys: Iterable[str], reason: str
) -> Iterator[dict[str, str | None]]:
    """A row of null for each workload but its name and, under the key ``reason``, why."""
    for name, sentence in workloads.items():
        yield {**dict.fromkeys(keys), "workload": name, reason: sentence}


def chosen_workloads(named: Sequence[str] | None, epochs: int) -> list[str]:
    """The workloads that were named, or every closed one of this device. Raises SuiteError for an
    unknown workload, one that is named twice, and more epochs than its schedule has: before the
    first one is trained.

    A workload that is named twice is refused, not trained once: a user who wants two projections
    would wait for the second.
    """
    workloads = list(named or resolve_device("auto").device.closed_workloads)
    for one in sorted(map(load_workload, workloads), key=lambda workload: workload.epochs):
        if workloads.count(one.name) > 1:
            raise SuiteError(f"The workload {one.name!r} is named twice; name each once.")
        if epochs > one.epochs:
            raise SuiteError(
                f"--epochs {epochs} exceeds the maximum of {one.name}; type --epochs {one.epochs}"
                " or fewer."
            )
    return workloads


def _refuse_taken(runs: Sequence[Path], have_trials: bool) -> None:
    """Raise SuiteError for a run directory with something in it, or that of a run's first steps:
    this command replaces nothing."""
    for path in (*runs, *(map(trial_of, runs) if have_trials else ())):
        if is_taken(path):
            raise SuiteError(
                f"{path} exists and is not empty; choose another --output, or remove it."
            )


def resolve_workloads(
    options: Sequence[RunOptions], output: Path | None, to_show: bool = False
) -> tuple[list[RunRequest], dict[str, str]]:
    """The requests of the workloads that this machine can train, which share the time, and why it
    cannot train the others, by workload: said before hours pass. Raises SuiteError where it can
    train none."""
    requests, problems = [], dict[str, str]()
    for one in options:
        try:
            place = output and output / one.workload
            request = api.resolve(one, place, baseload_s=0.0, to_show=to_show)
            broken_rules(request, allow_invalid=False)
            requests.append(request)
        except SuiteError as error:
            problems[one.workload] = str(error)
    if not requests:
        raise SuiteError("\n".join(_lines(problems)))
    tell_left_out(problems)
    return requests, problems


def tell_left_out(problems: Mapping[str, str]) -> None:
    """Say which workloads are not trained, and why; ``problems`` are by workload."""
    for line in _lines(problems):
        print(f"left out: {line}", file=sys.stderr)


def _lines(problems: Mapping[str, str]) -> list[str]:
    """A line per problem, which begins with the workloads that have it."""
    return [
        f"{', '.join(name for name, found in problems.items() if found == problem)}: {problem}"
        for problem in dict.fromkeys(problems.values())
    ]


@contextmanager
def problems_noted(problems: list[str], what: object, outcome: str) -> Iterator[None]:
    """Say what could not be done, and keep it among the ``problems``: the other runs are made."""
    try:
        yield
    except SuiteError as error:
        problems.append(f"{what}: {error}")
        print(f"{outcome}: {problems[-1]}", file=sys.stderr)


def make_watched(
    request: RunRequest,
    *,
    allow_invalid: bool = False,
    force: bool = False,
    command: tuple[str, ...] | None = None,
    is_look: bool = False,
) -> "RunResult":
    """Make a run, and show its progress; arguments and errors as of ``api.run``."""
    with watcher(is_look, request.directory.suffix == TRIAL) as progress:
        return api.run(
            request, allow_invalid=allow_invalid, force=force, command=command, progress=progress
        )


def first_look(request: RunRequest, within_s: float) -> QuickLook:
    """Another command's first look at a workload, as `suite quick` would make it: in the open
    division, and the record has that command, because the one that was typed asks for other runs.
    Its run is no result, and is removed."""
    training = request.training._replace(division=Division.OPEN.value)
    asked = ("--framework", training.framework, "--accelerator", training.accelerator)
    command = ("suite", "quick", request.workload.name, *asked)
    make = partial(make_watched, allow_invalid=True, force=True, command=command, is_look=True)
    look = replace(request, training=training, nonce=None)
    found = look_within(look, EPOCHS, within_s, lambda part: make(part).path)
    shutil.rmtree(found.run, ignore_errors=True)
    return found


def _run(request: RunRequest) -> Path:
    return make_watched(request).path


def quick_sentence(found: QuickLook) -> str:
    """What was measured, what is projected, and where the run is."""
    lines = list(_measured_lines(found))
    if found.reached_s is not None:
        lines.append(f"measured:  {found.reached_s:.4g} s to the target, with this seed")
    lines.append(
        _projected(found.projection)
        if found.projection is not None
        else f"no projection: {found.reason}"
    )
    lines.append(f"run:       {found.run}")
    return "\n  ".join(lines)


def _measured_lines(found: QuickLook) -> Iterator[str]:
    if found.estimate is None:
        epoch = (
            "the time of an epoch is not known"
            if found.epoch_s is None
            else f"{found.epoch_s:.3g} s an epoch"
        )
        yield f"{found.workload}: {found.epochs} epochs, {epoch}"
    else:
        yield (
            f"{found.workload}: {found.estimate.steps} steps; at their speed an epoch takes"
            f" {_time(found.estimate.epoch_s, 1)}"
        )
        yield (
            f"training:  {_time(found.estimate.epoch_s, found.most_epochs)} for all"
            f" {found.most_epochs} epochs, without evaluations"
        )


def _projected(found: TimeProjection) -> str:
    steady = (
        ""
        if found.is_steady
        else "; not steady: the last epoch's time differs from the second epoch's by more than"
        f" {STEADY_WITHIN:.0%}"
    )
    return (
        f"projected: {_time(found.time_s, 1)} to the target, if it takes {found.epochs:.3g} epochs"
        f" (from {found.runs} reference runs){steady}"
    )


def _time(found: Interval, times: int) -> str:
    """A time and its interval, ``times`` as long; in hours where seconds are no longer read at a
    glance."""
    unit, size = ("h", times / 3600) if found.value * times > IN_HOURS_S else ("s", float(times))
    ends = (
        ""
        if found.low is None or found.high is None
        else f" ({found.low * size:.4g} to {found.high * size:.4g} {unit})"
    )
    return f"{found.value * size:.4g} {unit}{ends}"
