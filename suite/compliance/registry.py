"""Every rule, in the order in which a bundle is judged, then a submission. A new rule is one object in a module of ``rules``."""

import difflib

from suite.compliance.rule import Rule
from suite.compliance.rules import course, ending, integrity, nodes, plausibility, ranks, readings, requests, results, submissions
from suite.compliance.submission_rule import SubmissionRule
from suite.errors import SuiteError

RULES: tuple[Rule, ...] = (
    *integrity.RULES, *requests.RULES, *course.RULES, *ending.RULES, *ranks.RULES, *nodes.RULES, *results.RULES, *readings.RULES, *plausibility.RULES,
)  # fmt: skip
SUBMISSION_RULES: tuple[SubmissionRule, ...] = submissions.RULES

# What must hold before the others can judge; the checker itself finds when it does not.
RUN_COMPLETE = Rule(
    id="run-complete",
    sentence="The run came to its end and its bundle is sealed by a manifest.",
    rationale="An unfinished run can be read, epoch by epoch, but says nothing that could be compared.",
    faults=(),
)
READABLE = Rule(
    id="bundle-readable",
    sentence="Every file of the bundle can be read as what it is.",
    rationale="What cannot be read cannot be judged.",
    faults=(),
)
PRECONDITIONS = (RUN_COMPLETE, READABLE)
ALL: tuple[Rule | SubmissionRule, ...] = (*PRECONDITIONS, *RULES, *SUBMISSION_RULES)


def find_rule(rule_id: str) -> Rule | SubmissionRule:
    """The rule of this id; raises SuiteError naming the nearest one."""
    for rule in ALL:
        if rule.id == rule_id:
            return rule
    nearest = difflib.get_close_matches(rule_id, [rule.id for rule in ALL], n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise SuiteError(f"There is no rule {rule_id!r}; {hint}`suite list rules` shows all.")
