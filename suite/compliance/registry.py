"""Every rule, in the order in which a bundle is judged. A new rule is one object in a module of ``rules``."""

import difflib

from suite.compliance.rule import Rule
from suite.compliance.rules import course, integrity, requests, results
from suite.errors import SuiteError

RULES: tuple[Rule, ...] = (*integrity.RULES, *requests.RULES, *course.RULES, *results.RULES)

RUN_COMPLETE = "run-complete"
UNREADABLE = "bundle-readable"


def find_rule(rule_id: str) -> Rule:
    """The rule of this id; raises SuiteError naming the nearest one."""
    for rule in RULES:
        if rule.id == rule_id:
            return rule
    nearest = difflib.get_close_matches(rule_id, [rule.id for rule in RULES], n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise SuiteError(f"There is no rule {rule_id!r}; {hint}`suite list rules` shows all.")
