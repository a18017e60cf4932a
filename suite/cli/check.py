"""`suite check PATH…` and `suite explain RULE`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer


def check(
    paths: Annotated[list[Path], typer.Argument(help="Run directories, submissions, their archives, or folders that hold some.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0, which code hosts show beside the lines.")] = False,
) -> None:
    """Judge bundles and submissions by the rulebook: 0 they comply, 1 one does not, 2 one could not be judged."""
    from suite.cli.verdicts import show, show_sarif
    from suite.compliance.paths import check_paths
    from suite.errors import SuiteError

    if json and sarif:
        raise SuiteError("--json and --sarif are two formats; ask for one of them.")
    verdict = check_paths(paths)
    if sarif:
        show_sarif(verdict)
    else:
        show(verdict, json)


def explain(
    rule: Annotated[str, typer.Argument(help="A rule's id, as findings name it.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a rule demands and why."""
    from suite.compliance.registry import find_rule

    found = find_rule(rule)
    divisions = " and ".join(division.value for division in found.divisions)
    if json:
        said = {"id": found.id, "severity": found.severity.value, "rule": found.sentence, "why": found.rationale, "divisions": divisions}
        print(json_format.dumps(said))
        return
    print(f"{found.id} ({found.severity.value}, {divisions})\n{found.sentence}\nWhy: {found.rationale}")
