"""`suite night`: plans what fits into a night, trains it, and draws the page."""

import math
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TextIO

from typer import Option

from suite import api
from suite.api import Accelerator, Division, RunOptions
from suite.bundle.reader import Bundle
from suite.cli.durations import duration_text, parse_limit
from suite.cli.json_output import print_json
from suite.cli.options import (
    DIVISION_HELP,
    FRAMEWORK,
    ClosedWorkloads,
    FrameworkName,
    Json,
    WhereTrained,
)
from suite.cli.quick import (
    EPOCHS,
    chosen_workloads,
    first_look,
    make_watched,
    problems_noted,
    resolve_workloads,
    show_plan,
)
from suite.cli.results import ending_of
from suite.errors import Reported, SuiteError
from suite.experiments import night as nights
from suite.files.paths import HOME_VARIABLE, suite_home
from suite.files.shell_command import shell_command

REST_S = 300.0
"""After a start, until the machine has settled."""
KEPT_BY = ("TMUX", "STY", "INVOCATION_ID")
"""Variables of tmux, screen and systemd, which keep a command when its terminal is closed."""
Restart = Annotated[
    str | None,
    Option(
        metavar="COMMAND",
        help="Command that restarts the machine. It is called before a run if the same workload"
        " was already run since the last restart.",
    ),
]

Within = Annotated[
    str, Option(metavar="TIME", help="Time for the trial steps and all runs together.")
]


def night(
    workloads: ClosedWorkloads = None,
    within: Within = "8h",
    division: Annotated[Division, Option(help=f"Division: {DIVISION_HELP}")] = Division.CLOSED,
    framework: FrameworkName = FRAMEWORK,
    accelerator: WhereTrained = Accelerator.AUTO,
    output: Annotated[Path, Option(help="Folder for the plan, the runs and the site.")] = Path(
        "night"
    ),
    restart: Restart = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print which workloads would be tried, and stop.")
    ] = False,
    json: Json = False,
) -> None:
    """Plan which workloads fit into a night, run each with three seeds, and draw the page.
    To resume, rerun the same command. Exit code: 0 all planned runs were made, 2 not all."""
    limit_s = parse_limit(within, "--within")
    settings = RunOptions(division, "auto", "", framework, accelerator=accelerator, timing=None)
    asked = nights.Night(division.value, framework, accelerator.value, tuple(workloads or ()))
    begun = nights.begun_in(output, asked, limit_s)
    if begun is not None and begun.asked != asked:
        raise SuiteError(
            f"{output} holds a night with other settings; choose another --output, or continue "
            f"that night: `{_command(begun, output)}`."
        )
    if dry_run and begun is not None:
        _show_begun(begun, limit_s, json)
        return
    if dry_run:
        chosen = chosen_workloads(workloads, EPOCHS)
        _show_dry_run([replace(settings, workload=each) for each in chosen], limit_s, json)
        return
    _say_what_keeps_it()
    plan = _planned(begun or asked, settings, limit_s, output)
    problems = _make_runs(settings, plan.planned, output, restart)
    made = [run for *_, run in nights.runs_of(output, plan.planned) if nights.is_finished(run)]
    _show(made, plan.planned, output, json)
    if problems or not made:
        raise Reported("\n".join(problems or [_nothing_fits(plan)]))


def _show_begun(begun: nights.Night, limit_s: float, json: bool) -> None:
    """Print the plan of a night that was begun."""
    planned = nights.with_more_time(begun, limit_s).planned
    if json:
        print_json("night", {"index": None, "runs": {}, "planned": planned})
    else:
        _tell(planned, sys.stdout)


def _show_dry_run(settings: Sequence[RunOptions], limit_s: float, json: bool) -> None:
    """Print which workloads would be looked at, for how long, and what is left for whole runs."""
    requests, left_out = resolve_workloads(settings, None, to_show=True)
    look_s = limit_s * nights.LOOK_SHARE
    if not json:
        print(
            f"A night of {duration_text(limit_s)} (--within): {duration_text(look_s)} for trial"
            f" steps, then {duration_text(limit_s - look_s)} for {len(nights.SEEDS)} whole runs of"
            " each workload that fits. Trial steps:"
        )
    show_plan(requests, EPOCHS, look_s, json, left_out)


def _nothing_fits(plan: nights.Night) -> str:
    """What the workload that takes the least needs; the same folder continues from its looks."""
    least_s = plan.least_s()
    if least_s is None:
        return (
            "No run is planned, because the trial steps did not show how long a run takes; raise"
            " --within to give the trial steps more time."
        )
    return (
        f"No workload fits into --within: trial steps and {len(nights.SEEDS)} runs of the shortest"
        f" workload take longer; give at least --within {math.ceil(least_s / 60)}m."
    )


def _command(begun: nights.Night, output: Path) -> str:
    settings = ("division", "framework", "accelerator")
    options = [word for name in settings for word in (f"--{name}", getattr(begun, name))]
    within = () if begun.within_s is None else ("--within", f"{begun.within_s:.0f}s")
    return shell_command("suite night", *begun.workloads, *within, *options, "--output", output)


def _show(
    made: list[Path], planned: tuple[nights.PlannedWorkload, ...], output: Path, json: bool
) -> None:
    """Draw the page, and print it with the sentence of every run."""
    index = api.report(made, output / nights.SITE, force=True) if made else None
    if json:
        sentences = {str(run): ending_of(Bundle(run)) for run in made}
        print_json("night", {"index": index, "runs": sentences, "planned": planned})
    else:
        for run in made:
            print(f"{run}: {ending_of(Bundle(run))}")
        print(f"The page of the night is {index}" if index else "No run was made.")


def _say_what_keeps_it() -> None:
    """Before the night: how the command survives a closed terminal, without this shell."""
    if sys.stdin.isatty() and not any(name in os.environ for name in KEPT_BY):
        program = Path(sys.argv[0]).absolute()
        command = shell_command("env", f"{HOME_VARIABLE}={suite_home()}", program, *sys.argv[1:])
        print(
            "Closing the terminal stops the night; the same command continues it. To keep it "
            f"running without a terminal, type one of these:\n  "
            f"{shell_command('tmux new -d', command)}\n  loginctl enable-linger && systemd-run "
            f"--user --collect --same-dir --unit night {command}",
            file=sys.stderr,
        )


def _planned(
    asked: nights.Night, settings: RunOptions, limit_s: float, output: Path
) -> nights.Night:
    """The plan, from a short look at each workload, and kept; that of a night that was begun."""
    if asked.planned:
        longer = nights.with_more_time(asked, limit_s)
        if longer != asked:
            nights.save(output, longer)
            _tell(longer.planned)
        return longer
    ends_s, look_s = time.monotonic() + limit_s, limit_s * nights.LOOK_SHARE
    chosen = chosen_workloads(asked.workloads, EPOCHS)
    requests, _ = resolve_workloads(
        [replace(settings, workload=each) for each in chosen], output / nights.LOOKS
    )
    looks, failed = [], []
    for request in requests:
        try:
            looks.append(first_look(request, look_s / len(requests)))
        except SuiteError as error:
            failed.append(nights.PlannedWorkload(request.workload.name, None, False, str(error)))
    if not looks:
        raise SuiteError("\n".join(f"{each.workload}: {each.reason}" for each in failed))
    left_s = max(0.0, ends_s - time.monotonic())
    planned = (*nights.plan_night(looks, left_s), *failed)
    output.mkdir(parents=True, exist_ok=True)
    plan = replace(asked, planned=planned, within_s=limit_s, left_s=left_s)
    nights.save(output, plan)
    _tell(planned)
    return plan


def _tell(planned: tuple[nights.PlannedWorkload, ...], to: TextIO | None = None) -> None:
    for each in planned:
        said = (
            f"{len(nights.SEEDS)} runs of about {duration_text(each.run_s or 0.0)}"
            if each.is_made
            else f"left out: {each.reason}"
        )
        print(f"{each.workload}: {said}", file=to or sys.stderr)


def _make_runs(
    settings: RunOptions,
    planned: tuple[nights.PlannedWorkload, ...],
    output: Path,
    restart: str | None,
) -> list[str]:
    """Make every run that is not there; returns what went wrong: the other runs are made."""
    problems, runs = list[str](), list(nights.runs_of(output, planned))
    for workload, seed, run in runs:
        is_made = True  # what cannot be closed is not replaced
        with problems_noted(problems, run, "not made"):
            is_made = nights.is_made(run)
        if is_made:
            continue
        for _, _, made in filter(lambda each: nights.is_finished(each[2]), runs):
            nights.refuse_other_mode(made)
        if restart is not None:
            if nights.is_of_this_session(output, planned, workload):
                _restart(restart)
            time.sleep(max(0.0, REST_S - time.clock_gettime(time.CLOCK_BOOTTIME)))
        with problems_noted(problems, run, "not made"):
            request = api.resolve(replace(settings, workload=workload, seed=seed), run)
            nights.set_aside(run)
            make_watched(request, force=True)
    return problems


def _restart(command: str) -> None:
    """Restart the machine; what starts this command again continues the night."""
    try:
        code = subprocess.run(shlex.split(command), check=False).returncode
    except (OSError, ValueError) as error:
        raise SuiteError(f"--restart {command!r} could not be started: {error}.") from error
    if code:
        raise SuiteError(
            f"--restart {command!r} ended with exit code {code}; give a command that restarts"
            " the machine."
        )
    raise SuiteError(
        "The machine restarts before the next run. After the restart, rerun the same command to"
        " continue."
    )
