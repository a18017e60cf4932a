"""Preconditions: without them the other rules cannot be checked; and the run's round."""

import hashlib

from suite.bundle.layout import MANIFEST, RUN
from suite.catalog.rounds import current_round, load_rounds
from suite.compliance.finding import Finding
from suite.compliance.remedies import COPY_AGAIN
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted

ORDER = 0  # the checker reports them while it reads the bundle

RUN_COMPLETE, READABLE, REQUEST_READABLE = "run-complete", "bundle-readable", "request-readable"


def _by_the_checker(_context: BundleContext) -> Violations:
    return iter(())


def _check_round_known(context: BundleContext) -> Violations:
    run, names = context.run, [each.name for each in load_rounds()]
    if run.round not in names:
        yield Violation(RUN, f"a round of the rulebook ({', '.join(names)})", f"{run.round!r}")
    elif run.suite_version not in context.round.suite_versions:
        yield Violation(
            RUN,
            f"a suite version that round {context.round.name} admits:"
            f" {' or '.join(context.round.suite_versions)}",
            f"version {run.suite_version!r}",
            fix="run again with a version of the suite that the round admits",
        )


def _open(context: BundleContext) -> Violations:
    if context.round.closed is None or context.run.round != context.round.name:
        return
    digest = hashlib.sha256(context.bundle.file(MANIFEST).read_bytes()).hexdigest()
    if digest not in (*context.round.results, *context.round.examples):
        yield Violation(
            MANIFEST,
            f"a bundle that round {context.round.name} lists: the round closed on"
            f" {context.round.closed} and lists {counted(len(context.round.results), 'result')}",
            f"a bundle that is not listed: its manifest has the SHA-256 {digest}",
        )


RULES = (
    Rule(
        RUN_COMPLETE,
        "The run finished and a manifest seals its bundle.",
        "An unfinished run can be read epoch by epoch, but cannot be compared.",
        "run again: the other rules can be checked only on a finished run",
        (OfBundle(RUN_COMPLETE, _by_the_checker),),
    ),
    Rule(
        READABLE,
        "Every file of the bundle can be read in its format. The request in run.json has a contract"
        " version (docs/contract.md) that this version of the suite reads, and every value has the"
        " type that the contract asks for.",
        "A file that cannot be read cannot be checked, and without the request there is nothing to"
        " compare the records with.",
        COPY_AGAIN,
        (OfBundle(READABLE, _by_the_checker), OfBundle(REQUEST_READABLE, _by_the_checker)),
    ),
    Rule(
        "round-known",
        "A run names a round of the rulebook, and was made by a version of the suite that the"
        " round admits.",
        "A round decides targets and rules; results of different rounds are not compared.",
        f"run again: `suite run` makes runs of round {current_round().name}",
        (OfBundle("round-known", _check_round_known),),
    ),
    Rule(
        "round-open",
        "After a round has closed, it accepts only the bundles that its file in rules/rounds"
        " lists.",
        "New rules apply only from the next round on. If a closed round still accepted results,"
        " anybody could avoid the new rules by handing in a result to the earlier round.",
        "restore the bundle if it was edited; for a new result, run again: `suite run` makes"
        f" runs of round {current_round().name}",
        (OfBundle("round-open", _open),),
    ),
)


def unmet_precondition(check: str, violation: Violation) -> Finding:
    """The finding that a precondition does not hold."""
    return next(
        violation.finding(rule, each) for rule in RULES for each in rule.checks if each.id == check
    )
