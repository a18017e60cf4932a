"""`suite check PATH…` and `suite explain RULE`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from suite.errors import SuiteError

NOT_COMPLIANT = 1


def check(
    paths: Annotated[list[Path], typer.Argument(help="Run directories, or folders that hold some.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge bundles by the rulebook: 0 they comply, 1 one does not, 2 one could not be judged."""
    from suite.cli.findings import as_json, show_findings
    from suite.compliance.checker import check_bundle, find_bundles

    bundles = [bundle for path in paths for bundle in find_bundles(path)]
    verdicts = []
    broken: list[str] = []
    for bundle in bundles:
        try:
            verdicts.append(check_bundle(bundle))
        except SuiteError as error:
            broken.append(str(error))
    if json:
        rows = [{"path": str(v.path), "division": v.division, "complies": v.complies, "findings": as_json(v.findings)} for v in verdicts]
        print(json_format.dumps({"verdicts": rows, "could_not_judge": broken}, indent=1))
    else:
        for verdict in verdicts:
            show_findings(verdict.findings, json=False)
            word = "complies" if verdict.complies else "does not comply"
            print(f"{verdict.path}: {word} with the {verdict.division} division")
    if broken:
        raise SuiteError("Could not judge: " + " ".join(broken))
    if not all(verdict.complies for verdict in verdicts):
        raise typer.Exit(NOT_COMPLIANT)


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
