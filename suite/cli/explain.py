"""`suite explain RULE`."""

from typing import Annotated

from typer import Argument

from suite.catalog.rounds import load_rounds
from suite.cli.json_output import print_json
from suite.cli.options import Json
from suite.compliance.registry import find_rule, rule_in_round
from suite.compliance.rule import Rule


def explain(
    rule: Annotated[str, Argument(help="Rule id, as in a finding.")], json: Json = False
) -> None:
    """Explain what a rule demands and why."""
    found = find_rule(rule)
    divisions = " and ".join(division.value for division in found.divisions)
    rounds = {
        each.name: _severities(applied)
        for each in load_rounds()
        if (applied := rule_in_round(found, each))
    }
    if json:
        plain = {
            "id": found.id,
            "severity": _severities(found),
            "rule": found.sentence,
            "why": found.rationale,
            "fix": found.fix,
            "divisions": divisions,
            "formerly": list(found.formerly),
        }
        print_json("explain", {**plain, "rounds": rounds})
        return
    in_rounds = ", ".join(f"{severity} in round {name}" for name, severity in rounds.items())
    print(f"{found.id} ({divisions}; {in_rounds})\n{found.sentence}\nWhy: {found.rationale}")
    print(f"To fix it: {found.fix}.")
    if found.formerly:
        print(f"Former ids, which closed rounds still use: {', '.join(found.formerly)}.")


def _severities(rule: Rule) -> str:
    return " and ".join(severity.value for severity in rule.severities)
