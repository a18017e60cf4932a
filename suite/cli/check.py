"""`suite check PATH…`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from suite.cli.json_output import Json
from suite.cli.verdicts import show_result, show_sarif
from suite.compliance.paths import (  # start-up: suite.api loads what a run needs
    CheckResult,
    check_paths,
)
from suite.errors import SuiteError
from suite.execution.run_directory import is_held
from suite.files.shell_command import shell_command


def check(
    paths: Annotated[
        list[Path],
        Argument(
            help="Run directories, submissions, submission archives, or folders with any of these."
        ),
    ],
    json: Json = False,
    sarif: Annotated[
        bool,
        Option("--sarif", help="Print SARIF 2.1.0, which code hosts show at the lines."),
    ] = False,
) -> None:
    """Check bundles and submissions against the rulebook. Exit code: 0 complies, 1 does not, 2
    could not judge."""
    if json and sarif:
        raise SuiteError("--json and --sarif are two formats; choose one of them.")
    verdict = _without_running(check_paths(paths))
    if sarif:
        show_sarif(verdict)
    else:
        show_result(verdict, json)


def _without_running(verdict: CheckResult) -> CheckResult:
    """The result without verdicts on runs that still run: these cannot be judged yet."""
    running = [bundle.path for bundle in verdict.bundles if is_held(bundle.path)]
    return replace(
        verdict,
        bundles=tuple(bundle for bundle in verdict.bundles if bundle.path not in running),
        broken=(
            *verdict.broken,
            *(f"{run} still runs; wait: {shell_command('suite watch', run)}" for run in running),
        ),
    )
