"""Meters: those that the user may leave out."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from suite.catalog.divisions import Division
from suite.catalog.meter_choice import LEFT_OUT, REQUIRED
from suite.compliance.finding import Finding
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation

ORDER = 88  # after the readings' own rules

EXPECTED = "every meter but those of power"
FIX = "run again and leave --meters out, or leave out power meters only"


def findings_of_choice(division: str, left_out: Collection[str]) -> tuple[Finding, ...]:
    """Findings of a choice of meters before a run."""
    if Division(division) not in CLOSED:
        return ()
    (rule,) = RULES
    return tuple(
        violation.finding(rule, rule.checks[0]) for violation in _violations("--meters", left_out)
    )


def _chosen(context: BundleContext) -> Iterator[Violation]:
    """Check the meters' records of every node: those left out read power."""
    for node in context.nodes:
        names = [
            str(record.get("name"))
            for record in node.meters
            if isinstance(record, Mapping) and record.get("reason") == LEFT_OUT
        ]
        yield from _violations(node.meters_file, names)


def _violations(file: str, left_out: Iterable[str]) -> Iterator[Violation]:
    missing = sorted(set(left_out) & set(REQUIRED))
    if missing:
        yield Violation(file, EXPECTED, f"left out: {', '.join(missing)}")


RULES = (
    Rule(
        "meters-chosen",
        f"A closed run leaves out power meters only; it reads {', '.join(REQUIRED)} wherever"
        " they are available.",
        "Rules compare the meters with one another: what one of them shows must not depend on"
        " who chose the meters.",
        FIX,
        (OfBundle("meters-chosen", _chosen, divisions=CLOSED),),
    ),
)
