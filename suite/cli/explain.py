"""`suite explain RULE`."""

from collections.abc import Mapping
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
    plural = "s" * (len(found.divisions) > 1)
    print(f"{found.id}, a rule of the {divisions} division{plural}\n{found.sentence}")
    print(f"Why: {found.rationale}\nSeverity of a finding: {_in_rounds(rounds)}.")
    print(f"To fix it: {found.fix}.")
    if found.formerly:
        print(f"Former ids, which past rounds still use: {', '.join(found.formerly)}.")


def _in_rounds(rounds: Mapping[str, str]) -> str:
    """The severities, each once, with the rounds that have it."""
    having = {
        severity: [name for name in rounds if rounds[name] == severity]
        for severity in rounds.values()
    }
    return (
        "; ".join(
            f"{severity} in round{'s' * (len(names) > 1)} {', '.join(names)}"
            for severity, names in having.items()
        )
        or "no round has this rule yet"
    )


def _severities(rule: Rule) -> str:
    return " and ".join(severity.value for severity in rule.severities)
