"""Checks requests before a run, and bundles after it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reference_impls.contract import Request
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.bundle.request import Unreadable, read_request
from suite.bundle.resumption import how_to_resume
from suite.bundle.run_lock import refuse_running
from suite.catalog.divisions import Division
from suite.catalog.rounds import Round, current_round, judging_round
from suite.catalog.workloads import Workload
from suite.compliance.applying import findings_of_check
from suite.compliance.finding import Finding
from suite.compliance.registry import checks_of
from suite.compliance.rule import BundleContext, OfBundle, OfRequest, RequestContext, Violation
from suite.compliance.rules.preconditions import (
    READABLE,
    REQUEST_READABLE,
    RUN_COMPLETE,
    unmet_precondition,
)
from suite.compliance.rules.witness import witnessed_by
from suite.errors import FileError, SuiteError
from suite.files.counted import counted
from suite.files.shell_command import shell_command
from suite.files.tree import files_below, refuse_large, refuse_site

REQUEST_FILE = "the request"
MAX_RANKS, MAX_NAME_LENGTH, MAX_ACTIONS = 4096, 200, 20_000
UNKNOWN = "unknown"
"""The division, and round, of a bundle whose record does not say them."""


@dataclass(frozen=True)
class BundleVerdict:
    """The result for one bundle, checked by the rules of its ``round`` and ``division``; it
    complies when no finding is invalid. Both are UNKNOWN where ``run.json`` cannot be read.

    ``witnessed_by`` is a witness of the rulebook that saw the run begin and end, and its files;
    None if none did. ``not_applicable`` are the checks that need the parts of steps, where
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
        return not any(finding.is_invalid for finding in self.findings)


def check_request(training: Request, workload: Workload) -> tuple[Finding, ...]:
    """Check a request for ``workload`` before the run starts, by the rules of the current round
    that apply to the bundle's request later."""
    return tuple(_check_request(RequestContext(training, workload, current_round(), REQUEST_FILE)))


def check_bundle(path: Path) -> BundleVerdict:
    """Check one bundle; raises SuiteError when there is none at ``path``, and for a run that still
    runs, which is not judged."""
    return check_cached_bundle(CachedBundle(path))


def check_cached_bundle(bundle: CachedBundle) -> BundleVerdict:
    """Check a bundle that the caller goes on reading; raises SuiteError as :func:`check_bundle`."""
    import numpy as np  # start-up

    path = bundle.path
    refuse_running(path)
    refuse_large(path)
    try:
        run = bundle.run()
    except FileError as error:
        if not (path / RUN).exists():
            raise
        unread = unmet_precondition(READABLE, Violation(RUN, "a readable file", error.what))
        return BundleVerdict(path, UNKNOWN, UNKNOWN, (unread,))
    judged_by = judging_round(run.round)  # rule `round-known` reports a name that is no round's
    try:
        request = read_request(run, "the request")
        workload = _workload(judged_by, request.workload)
    except Unreadable as error:
        expected = "a request that this version of the suite can read"
        fix = "check with the version of the suite that made the run"
        unread = unmet_precondition(REQUEST_READABLE, Violation(RUN, expected, str(error), fix=fix))
        return BundleVerdict(path, judged_by.name, _division(run), (unread,))
    if run.status != "finished" or not bundle.is_sealed:
        return BundleVerdict(path, judged_by.name, request.division, _unfinished(bundle, request))
    context = BundleContext(bundle, run, request, workload, judged_by)
    # values may be infinite or NaN: the rules report them, NumPy's warnings would say it twice
    with np.errstate(all="ignore"):
        found = (
            *_check_request(RequestContext(request, context.workload, judged_by, RUN)),
            *_check_bundle(context),
        )
    left_out = tuple(
        check.id
        for _, check in checks_of(judged_by, OfBundle, request.division)
        if check.needs_split and context.is_asynchronous
    )
    return BundleVerdict(
        path, judged_by.name, request.division, found, witnessed_by(context), left_out
    )


def _workload(judged_by: Round, name: str) -> Workload:
    """A workload as its round defines it; raises Unreadable if there is none of this name."""
    try:
        return judged_by.workload(name)
    except SuiteError as error:
        if judged_by.pinned(name) is not None:
            raise
        raise Unreadable(str(error)) from error


def _division(run: RunRecord) -> str:
    """The division that an unreadable request names, if there is such a division."""
    named = run.request.get("division")
    return named if named in [division.value for division in Division] else UNKNOWN


def find_bundles(path: Path) -> tuple[Path, ...]:
    """The bundle at ``path``, or every bundle below it, links not followed; raises SuiteError if
    there is none, and in a site."""
    refuse_site(path)
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


def _unfinished(bundle: Bundle, request: Request) -> tuple[Finding]:
    run = bundle.run()
    observed = (
        f"status {run.status!r}"
        + (f": {run.message}" if run.message else "")
        + f"; {counted(bundle.finished_epochs(), 'finished epoch')} can be read"
    )
    finish = shell_command("suite finish", bundle.path)
    fix = "run again" if bundle.is_sealed else f"seal the run with `{finish}` if it has ended"
    if not bundle.is_sealed and run.status == "running":
        fix = f"wait until the run ends (`{shell_command('suite watch', bundle.path)}`), or {fix}"
    if resume := how_to_resume(bundle.path, request):
        fix = f"{fix}. {resume.rstrip('.')}"
    violation = Violation(RUN, "a finished, sealed run", observed, fix=fix)
    return (unmet_precondition(RUN_COMPLETE, violation),)


def _check_request(context: RequestContext) -> Iterator[Finding]:
    for rule, check in checks_of(context.round, OfRequest, context.request.division):
        yield from findings_of_check(rule, check, context)


def _check_bundle(context: BundleContext) -> Iterator[Finding]:
    """Apply every check; a file that cannot be read is one finding, however many need it."""
    not_read: dict[str, Finding] = {}
    for rule, check in checks_of(context.round, OfBundle, context.request.division):
        if check.needs_split and context.is_asynchronous:
            continue
        try:
            yield from findings_of_check(rule, check, context)
        except FileError as error:
            name = error.path.name
            not_read[name] = unmet_precondition(
                READABLE, Violation(name, "a readable file", error.what)
            )
    yield from not_read.values()
