"""`suite explain RULE`."""

import json as json_format
from typing import Annotated

import typer

from suite.cli.options import Json
from suite.compliance.registry import find_rule


def explain(rule: Annotated[str, typer.Argument(help="Rule id, as in a finding.")], json: Json = False) -> None:
    """Explain what a rule demands and why."""
    found = find_rule(rule)
    divisions = " and ".join(division.value for division in found.divisions)
    if json:
        plain = {"id": found.id, "severity": found.severity.value, "rule": found.sentence, "why": found.rationale, "divisions": divisions}
        print(json_format.dumps(plain))
        return
    print(f"{found.id} ({found.severity.value}, {divisions})\n{found.sentence}\nWhy: {found.rationale}")
