"""Records whose values a rule cannot calculate with: a finding, never a traceback. Bundles are
hostile input."""

from suite.bundle.layout import RUN
from suite.compliance.finding import Finding
from suite.compliance.rule import Violation
from suite.compliance.rules.integrity import COPY_AGAIN
from suite.compliance.rules.preconditions import READABLE

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a calculation raises for text where a number must be, a missing key, a division by
nothing."""


def not_applied(rule: str, error: Exception, file: str = RUN) -> Finding:
    """The finding that the rule with this id met such a value."""
    observed = f"rule {rule} cannot be applied to them ({type(error).__name__}: {error})"
    return Violation(file, "records with values of their types", observed, COPY_AGAIN).finding(
        READABLE.id, READABLE.severity
    )
