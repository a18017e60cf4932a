"""`suite check PATH…`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from suite.cli.json_output import Json
from suite.cli.verdicts import show_result, show_sarif
from suite.compliance.paths import check_paths  # start-up: suite.api loads what a run needs
from suite.errors import SuiteError


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
        Option("--sarif", help="Print SARIF 2.1.0: code hosts show each finding at its line."),
    ] = False,
) -> None:
    """Check bundles and submissions against the rulebook. Exit code: 0 complies, 1 does not, 2
    could not judge."""
    if json and sarif:
        raise SuiteError("--json and --sarif are two formats; choose one of them.")
    verdict = check_paths(paths)
    if sarif:
        show_sarif(verdict)
    else:
        show_result(verdict, json)
