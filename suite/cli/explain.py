"""`suite explain RULE`."""

from typing import Annotated

import typer

from suite.catalog.rounds import load_rounds
from suite.cli.json_output import print_json
from suite.cli.options import Json
from suite.compliance.registry import find_rule


def explain(
    rule: Annotated[str, typer.Argument(help="Rule id, as in a finding.")], json: Json = False
) -> None:
    """Explain what a rule demands and why."""
    found = find_rule(rule)
    divisions = " and ".join(division.value for division in found.divisions)
    rounds = {
        each.name: severity
        for each in load_rounds()
        if (severity := each.severity(found.id, found.severity.value))
    }
    if json:
        plain = {
            "id": found.id,
            "severity": found.severity,
            "rule": found.sentence,
            "why": found.rationale,
            "divisions": divisions,
        }
        print_json("explain", {**plain, "rounds": rounds})
        return
    in_rounds = ", ".join(f"{severity} in round {name}" for name, severity in rounds.items())
    print(f"{found.id} ({divisions}; {in_rounds})\n{found.sentence}\nWhy: {found.rationale}")
