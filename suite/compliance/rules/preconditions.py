"""Preconditions: without them the other rules cannot be checked."""

from suite.compliance.finding import Finding
from suite.compliance.remedies import COPY_AGAIN
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations

ORDER = 0  # the checker reports them while it reads the bundle

RUN_COMPLETE, READABLE, REQUEST_READABLE = "run-complete", "bundle-readable", "request-readable"


def _by_the_checker(_context: BundleContext) -> Violations:
    return iter(())


RULES = (
    Rule(
        RUN_COMPLETE,
        "The run finished and a manifest seals its bundle.",
        "An unfinished run can be read epoch by epoch, but cannot be compared.",
        "run again; the other rules cannot be checked",
        (OfBundle(RUN_COMPLETE, _by_the_checker),),
    ),
    Rule(
        READABLE,
        "Every file of the bundle can be read in its format. run.json has a request of a contract"
        " that this version of the suite reads, with every value in its type.",
        "A file that cannot be read cannot be checked, and without the request there is nothing to"
        " compare the records with.",
        COPY_AGAIN,
        (OfBundle(READABLE, _by_the_checker), OfBundle(REQUEST_READABLE, _by_the_checker)),
    ),
)


def unmet(check: str, violation: Violation) -> Finding:
    """The finding that a precondition does not hold."""
    return next(
        violation.finding(rule, each) for rule in RULES for each in rule.checks if each.id == check
    )
