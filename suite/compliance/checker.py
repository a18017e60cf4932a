"""Checks requests before a run, and bundles after it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reference_impls.contract import (
    Request,
)
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.bundle.request import Unreadable, read_request
from suite.catalog.divisions import Division
from suite.catalog.rounds import Round, current_round, judging_round
from suite.catalog.workloads import Workload
from suite.compliance.finding import Finding, Severity
from suite.compliance.malformed import MALFORMED, not_applied
from suite.compliance.registry import rules_of
from suite.compliance.rule import MAX_VIOLATIONS, BundleContext, RequestContext, Rule, Violation
from suite.compliance.rules.preconditions import READABLE, REQUEST_READABLE, RUN_COMPLETE
from suite.compliance.rules.witness import witnessed_by
from suite.errors import FileError, SuiteError
from suite.files.tree import files_below, refuse_large
from suite.files.typed import typed

REQUEST_FILE = "the request"
MAX_RANKS, MAX_NAME_LENGTH, MAX_ACTIONS = 4096, 200, 20_000
UNKNOWN = "unknown"
"""The division of a bundle whose request cannot be read."""
COPY_AGAIN = "copy the whole run directory again"


@dataclass(frozen=True)
class BundleVerdict:
    """The result for one bundle, checked by the rules of its ``round`` and ``division``; it
    complies when no finding is invalid.

    ``witnessed_by`` is a witness of the rulebook that saw the run begin and end, and its files;
    None if none did. ``not_applicable`` are the rules that need the parts of steps, where
    asynchronous timing took none.
    """

    path: Path
    round: str
    division: str
    findings: tuple[Finding, ...]
    witnessed_by: str | None = None
    not_applicable: tuple[str, ...] = ()

    @property
    def complies(self) -> bool:
        """No finding is invalid."""
        return all(finding.severity is not Severity.INVALID for finding in self.findings)


def check_request(training: Request, workload: Workload) -> tuple[Finding, ...]:
    """Check a request for ``workload`` before the run starts, by the rules of the current round
    that apply to the bundle's request later."""
    return _check_request(RequestContext(training, workload, current_round(), REQUEST_FILE))


def check_bundle(path: Path) -> BundleVerdict:
    """Check one bundle; raises SuiteError when there is none at ``path``."""
    return check_cached_bundle(CachedBundle(path))


def check_cached_bundle(bundle: CachedBundle) -> BundleVerdict:
    """Check a bundle that the caller goes on reading; raises SuiteError as :func:`check_bundle`."""
    import numpy as np  # start-up

    path = bundle.path
    refuse_large(path)
    try:
        run = bundle.run()
    except FileError as error:
        if not (path / RUN).exists():
            raise
        unread = _finding(READABLE, Violation(RUN, "a readable file", error.what, COPY_AGAIN))
        return BundleVerdict(path, current_round().name, UNKNOWN, (unread,))
    judged_by = round_of(run)
    try:
        request = read_request(run, "the request")
        workload = _workload(judged_by, request.workload)
    except Unreadable as error:
        fix = (
            "check with the version of the suite that made the run; run again if run.json was"
            " edited"
        )
        expected = "a request that this version of the suite reads"
        unread = _finding(REQUEST_READABLE, Violation(RUN, expected, str(error), fix))
        return BundleVerdict(path, judged_by.name, _division(run), (unread,))
    if run.status != "finished" or not bundle.is_sealed:
        return BundleVerdict(path, judged_by.name, request.division, (_unfinished(bundle, run),))
    context = BundleContext(bundle, run, request, workload, judged_by)
    # values may be infinite or NaN: the rules report them, NumPy's warnings would say it twice
    with np.errstate(all="ignore"):
        findings = [
            *_check_request(RequestContext(request, context.workload, judged_by, RUN)),
            *_check_bundle(context),
        ]
    left_out = tuple(
        rule.id for rule in _rules_for(context) if rule.needs_split and context.is_asynchronous
    )
    return BundleVerdict(
        path, judged_by.name, request.division, tuple(findings), witnessed_by(context), left_out
    )


def _workload(judged_by: Round, name: str) -> Workload:
    """A workload as its round defines it; raises Unreadable if there is none of this name."""
    try:
        return judged_by.workload(name)
    except SuiteError as error:
        if judged_by.pinned(name) is not None:
            raise
        raise Unreadable(str(error)) from error


def round_of(run: RunRecord) -> Round:
    """The round whose rules judge a run; rule `round-known` reports a name that is no round's."""
    return judging_round(run.round)


def _division(run: RunRecord) -> str:
    """The division that an unreadable request names, if there is such a division."""
    named = run.request.get("division")
    return named if named in [division.value for division in Division] else UNKNOWN


def find_bundles(path: Path) -> tuple[Path, ...]:
    """The bundle at ``path``, or every bundle below it, links not followed; raises SuiteError if
    there is none."""
    if (path / RUN).is_file():
        return (path,)
    if not path.exists():
        raise SuiteError(f"{path} does not exist; give the path of a run directory.")
    bundles = tuple(file.parent for file in files_below(path, RUN))
    if not bundles:
        raise SuiteError(
            f"{path} holds no run directory (there is no {RUN}); give the path that `suite run`"
            " printed."
        )
    return bundles


def _unfinished(bundle: Bundle, run: RunRecord) -> Finding:
    try:
        epochs = len(bundle.log().finished_epochs())
    except FileError:
        epochs = 0
    observed = (
        f"status {run.status!r}"
        + (f": {run.message}" if run.message else "")
        + f"; {epochs} finished epochs can be read"
    )
    finish = typed("suite finish", bundle.path)
    fix = (
        "run again; the other rules cannot be checked"
        if bundle.is_sealed
        else f"type `{finish}`, which closes a run that ended"
    )
    return _finding(RUN_COMPLETE, Violation(RUN, "a finished, sealed run", observed, fix))


def _check_request(context: RequestContext) -> tuple[Finding, ...]:
    findings: list[Finding] = []
    for rule in rules_of(context.round):
        if (
            not isinstance(rule, Rule)
            or rule.request_check is None
            or context.division not in rule.divisions
        ):
            continue
        try:
            findings += [_finding(rule, violation) for violation in rule.request_check(context)]
        except MALFORMED as error:
            findings.append(not_applied(rule.id, error))
    return tuple(findings)


def _rules_for(context: BundleContext) -> Iterator[Rule]:
    """The rules of bundles of the context's round and division."""
    division = Division(context.request.division)
    for rule in rules_of(context.round):
        if isinstance(rule, Rule) and rule.bundle_check is not None and division in rule.divisions:
            yield rule


def _check_bundle(context: BundleContext) -> Iterable[Finding]:
    """Apply every rule; a file that cannot be read is one finding, however many rules need it."""
    unreadable: dict[str, Finding] = {}
    for rule in _rules_for(context):
        if rule.bundle_check is None or (rule.needs_split and context.is_asynchronous):
            continue
        try:
            for violation in islice(rule.bundle_check(context), MAX_VIOLATIONS):
                yield _finding(rule, violation)
        except FileError as error:
            name = error.path.name
            unreadable[name] = _finding(
                READABLE, Violation(name, "a readable file", error.what, COPY_AGAIN)
            )
        except MALFORMED as error:
            yield not_applied(rule.id, error)
    yield from unreadable.values()


def _finding(rule: Rule, violation: Violation) -> Finding:
    return violation.finding(rule.id, rule.severity)
