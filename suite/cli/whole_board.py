"""`suite run` without --workload: plans three runs of every workload of a board, and makes them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.api import Division, RunRequest
from suite.bundle.reader import Bundle
from suite.cli.durations import duration_text
from suite.cli.json_output import print_rows
from suite.cli.options import TrainingOptions
from suite.cli.quick import first_look, make_watched, problems_noted, tell_left_out
from suite.cli.results import run_values, show_result
from suite.cli.run_settings import RunSettings
from suite.errors import SuiteError
from suite.execution.preflight import refuse_little_memory
from suite.experiments import night as nights
from suite.experiments.quick import QuickLook, steps_of_epoch
from suite.experiments.sweep_runs import are_done

FIRST_LOOK_S = 30.0
"""What the first look at a workload may take, from which its hours are told."""
ONLY_TRAINED: Mapping[str, Any] = {
    "keep_states": False,
    "short": None,
    "baseload": 0.0,
    "witness": None,
    "power_pulse": False,
}
"""Settings of that look: it has little time, and is removed."""
Resolve = Callable[[TrainingOptions, RunSettings], list[RunRequest]]


@dataclass(frozen=True)
class BoardRun:
    """A run of the set: its options and its directory."""

    training: TrainingOptions
    settings: RunSettings
    path: Path


def planned_runs(
    training: TrainingOptions, settings: RunSettings, workloads: Sequence[str], output: Path
) -> list[BoardRun]:
    """Each workload once before one has its second run, so that the runs of a workload lie apart;
    one run each where the seed was typed."""
    return [
        BoardRun(
            of_run,
            replace(numbered, workload=workload, output=output / workload / name),
            output / workload / name,
        )
        for name, of_run, numbered in _numbered(training, settings)
        for workload in workloads
    ]


def _numbered(
    training: TrainingOptions, settings: RunSettings
) -> Iterator[tuple[str, TrainingOptions, RunSettings]]:
    if settings.nonce is not None:
        chosen = settings.run_number
        for number in range(len(nights.SEEDS)) if chosen is None else (chosen,):
            yield f"run-{number}", training, replace(settings, run_number=number)
    else:
        for seed in nights.SEEDS if training.seed is None else (training.seed,):
            yield f"seed-{seed}", replace(training, seed=seed), settings


def possible_requests(
    runs: Sequence[BoardRun], resolve: Resolve, to_show: bool = False
) -> dict[Path, RunRequest]:
    """The requests of the runs that are left to make, by their directories; ``to_show`` those of
    all runs, without a look into directories. Workloads that this machine cannot train are named
    once; raises SuiteError where it can train none, and for a run with other settings, or made in
    another power mode, in a directory."""
    requests, problems = dict[Path, RunRequest](), dict[str, str]()
    for run in runs:
        workload = str(run.settings.workload)
        if workload not in problems:
            try:
                (request,) = resolve(run.training, run.settings)
                if not to_show:
                    refuse_little_memory(request)
                requests[run.path] = request
            except SuiteError as error:
                problems[workload] = str(error)
    tell_left_out(problems)
    if not requests:
        raise SuiteError("None of the board's workloads can be trained; the lines above say why.")
    if to_show:
        return requests
    left, are_made = dict[Path, RunRequest](), are_done(list(requests.values()))
    for (path, request), is_made in zip(requests.items(), are_made, strict=True):
        if is_made:
            nights.refuse_other_mode(path)
        else:
            left[path] = request
    return left


def tell_hours(runs: Sequence[BoardRun], left: Mapping[Path, RunRequest], resolve: Resolve) -> None:
    """Look at each workload that has runs left, and say what is trained and how long it takes."""
    of_workload: dict[str, list[BoardRun]] = {}
    for run in runs:
        if run.path in left:
            of_workload.setdefault(str(run.settings.workload), []).append(run)
    known_s, unknown = 0.0, list[str]()
    for workload, members in of_workload.items():
        first, place = members[0], members[0].path.with_name(nights.LOOKS)
        looked = replace(first.settings, output=place, **ONLY_TRAINED)
        (request,) = resolve(first.training, looked)
        run_s = None
        with problems_noted([], workload, "not tried"):
            run_s = _run_s(first_look(request, FIRST_LOOK_S), left[first.path])
        if run_s is None:
            unknown.append(workload)
        else:
            known_s += len(members) * run_s
        what = ", ".join(run.path.name for run in members)
        takes = "takes an unknown time, because the trial steps did not show how long"
        print(
            f"{workload}: {what}; "
            f"a run {takes if run_s is None else 'takes ' + duration_text(run_s)}",
            file=sys.stderr,
        )
    without = f", without {', '.join(unknown)}" if unknown else ""
    in_all = f"In all about {duration_text(known_s)}{without}. " if known_s else ""
    again = "To continue later, rerun the same command."
    print(f"{in_all}{again}" if left else "Every run is made.", file=sys.stderr)


def _run_s(found: QuickLook, request: RunRequest) -> float | None:
    """What a run takes, by its first look: until the target, or until it stops before."""
    training, epoch_s = request.training, nights.epoch_s_of(found)
    epochs: float = training.epochs
    if training.steps is not None:
        epochs = min(epochs, training.steps / steps_of_epoch(request))
    to_end_s = None if epoch_s is None else epoch_s * epochs
    to_target_s = None if training.target_accuracy is None else nights.run_s_of(found)
    return min((time_s for time_s in (to_end_s, to_target_s) if time_s is not None), default=None)


def make_runs(requests: Iterable[RunRequest], json: bool, verbose: bool) -> list[str]:
    """Make every run, and show it, as JSON all in one object; returns what went wrong."""
    problems, rows = list[str](), []
    for request in requests:
        failed, made = list[str](), None
        with problems_noted(failed, request.directory, "not made"):
            nights.set_aside(request.directory)
            result = make_watched(request, allow_invalid=True, force=True)
            if json:
                made = run_values(Bundle(result.path))
            else:
                show_result(result, json, verbose)
        reason = "\n".join(failed) or None
        rows.append({"path": request.directory, "run": made, "reason": reason})
        problems += failed
    if json:
        print_rows("runs", rows)
    return problems


def say_what_next(runs: Sequence[BoardRun]) -> None:
    """Say where to read how the runs are handed in: a command for `suite package` would
    not have the verdicts on the models."""
    are_made = any(nights.is_finished(run.path) for run in runs)
    if are_made and runs[0].settings.division is Division.CLOSED:
        print("\nHand them in: docs/submitting.md, from the end of step 2 on.")
