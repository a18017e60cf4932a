"""Applies the checks of rules. Bundles are hostile input: records whose values a check cannot
calculate with are a finding, never a traceback."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

from suite.bundle.layout import RUN
from suite.compliance.finding import Finding
from suite.compliance.rule import Check, Rule, Violation
from suite.compliance.rules.preconditions import READABLE, unmet_precondition

Context = TypeVar("Context")

MAX_VIOLATIONS = 100
"""Violations of one check that are reported for one bundle or submission."""

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a calculation raises for text where a number must be, a missing key, a division by
nothing."""


def findings_of_check(
    rule: Rule, check: Check[Context], context: Context, file: str = RUN
) -> Iterator[Finding]:
    """What a check finds; ``file`` is named where it cannot be applied."""
    try:
        for violation in islice(check.find(context), MAX_VIOLATIONS):
            yield violation.finding(rule, check)
    except MALFORMED as error:
        observed = (
            f"check {check.id} cannot be applied to these records ({type(error).__name__}: {error})"
        )
        expected = "records whose values have the expected types"
        yield unmet_precondition(READABLE, Violation(file, expected, observed))
