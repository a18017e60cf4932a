"""Checks requests before a run, and bundles after it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reference_impls.contract import (
    BFLOAT16,
    EXACT,
    FLOAT16,
    LOCAL,
    PRECISIONS,
    SYNCHRONISED,
    TIMINGS,
    ContractError,
    Recomputation,
    Request,
    request_from_dict,
)
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.catalog.divisions import Division
from suite.catalog.rounds import Round, current_round, judging_round
from suite.catalog.workloads import Workload
from suite.compliance.finding import Finding, Severity
from suite.compliance.malformed import MALFORMED, not_applied
from suite.compliance.registry import rules_of
from suite.compliance.rule import MAX_VIOLATIONS, BundleContext, RequestContext, Rule, Violation
from suite.compliance.rules.preconditions import READABLE, REQUEST_READABLE, RUN_COMPLETE
from suite.compliance.rules.witness import witnessed_by
from suite.compliance.values import is_number
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
        request = _typed(request_from_dict(dict(run.request), "the request"))
        workload = _workload(judged_by, request.workload)
    except (ContractError, TypeError, AttributeError) as error:
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
    """A workload as its round defines it; raises TypeError if there is none of this name."""
    try:
        return judged_by.workload(name)
    except SuiteError as error:
        if judged_by.pinned(name) is not None:
            raise
        raise TypeError(str(error)) from error


def round_of(run: RunRecord) -> Round:
    """The round whose rules judge a run; rule `round-known` reports a name that is no round's."""
    return judging_round(run.round)


def _division(run: RunRecord) -> str:
    """The division that an unreadable request names, if there is such a division."""
    named = run.request.get("division")
    return named if named in [division.value for division in Division] else UNKNOWN


def request_of(run: RunRecord, path: Path) -> Request:
    """The request of a bundle's run.json at ``path``, its values of the types that rules calculate
    with; raises SuiteError for others."""
    try:
        return _typed(request_from_dict(dict(run.request), f"{path}: request"))
    except (ContractError, TypeError, AttributeError) as error:
        raise SuiteError(f"{path}: the request cannot be read: {str(error)[:300]}") from error


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


def _typed(request: Request) -> Request:
    """Raise TypeError for values of the wrong type, before rules calculate with them."""
    whole = (
        request.seed,
        request.epochs,
        request.eval_every_epochs,
        request.global_batch_size,
        request.data.train_samples,
        request.data.eval_samples,
        request.data.classes,
        request.parallel.ranks,
    )
    if (
        not all(
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
            for value in whole
        )
        or 0 in whole[1:]
    ):
        raise TypeError("seed, epochs, sizes and intervals must be whole numbers above zero")
    if request.parallel.ranks > MAX_RANKS:
        raise TypeError(f"parallel.ranks must be {MAX_RANKS} at most")
    if request.steps is not None and (
        not isinstance(request.steps, int) or isinstance(request.steps, bool) or request.steps < 1
    ):
        raise TypeError("steps must be a whole number above zero, or null")
    numbers = (
        request.optimizer.base_learning_rate,
        request.optimizer.momentum,
        request.optimizer.weight_decay,
    )
    if not all(is_number(value) for value in numbers):
        raise TypeError("the optimizer's settings must be numbers")
    names = (
        request.workload,
        request.model,
        request.framework,
        request.platform,
        request.data.name,
    )
    if not all(isinstance(value, str) and len(value) <= MAX_NAME_LENGTH for value in names):
        raise TypeError(f"names must be strings of {MAX_NAME_LENGTH} characters at most")
    if not isinstance(request.batches, str) or not isinstance(request.drop_cache_every_epoch, bool):
        raise TypeError("batches must be a string and drop_cache_every_epoch true or false")
    if not all(
        isinstance(value, list) for value in (request.preprocessing.mean, request.preprocessing.std)
    ):
        raise TypeError("mean and std must be lists")
    if request.parallel.normalisation not in (LOCAL, SYNCHRONISED):
        raise TypeError(f"parallel.normalisation must be {LOCAL} or {SYNCHRONISED}")
    if request.parallel.wire not in (EXACT, FLOAT16, BFLOAT16):
        raise TypeError(f"parallel.wire must be {EXACT}, {FLOAT16} or {BFLOAT16}")
    if type(request.accumulation) is not int or not 0 < request.accumulation < 2**63:
        raise TypeError("accumulation must be a whole number above zero")
    if request.precision not in PRECISIONS:
        raise TypeError(f"precision must be {', '.join(PRECISIONS)}")
    if request.timing not in TIMINGS:
        raise TypeError(f"timing must be {' or '.join(TIMINGS)}")
    _type_recomputation(request.recomputation)
    if request.target_accuracy is not None and not is_number(request.target_accuracy):
        raise TypeError("target_accuracy must be a number")
    if request.division not in [division.value for division in Division]:
        raise TypeError(f"there is no division {str(request.division)[:50]!r}")
    return request


def _type_recomputation(planned: Recomputation | None) -> None:
    """Raise TypeError for a schedule whose values are of the wrong type, or that is too long."""
    if planned is None:
        return
    if not all(
        type(value) is int and 0 < value < 2**63
        for value in (planned.budget_bytes, planned.planned_bytes)
    ):
        raise TypeError(
            "recomputation: budget_bytes and planned_bytes must be whole numbers above zero"
        )
    if type(planned.planned_spill_bytes) is not int or not 0 <= planned.planned_spill_bytes < 2**63:
        raise TypeError("recomputation: planned_spill_bytes must be a whole number")
    if not isinstance(planned.spill_folder, str | None) or not (
        planned.factor_without_spill is None or is_number(planned.factor_without_spill)
    ):
        raise TypeError(
            "recomputation: spill_folder must be a path or null, and factor_without_spill a number"
            " or null"
        )
    if (
        not is_number(planned.planned_factor)
        or not isinstance(planned.schedule, str)
        or len(planned.schedule) > MAX_NAME_LENGTH
    ):
        raise TypeError(
            "recomputation: planned_factor must be a number, and schedule a text of"
            f" {MAX_NAME_LENGTH} characters at most"
        )
    for name, rows, is_row in (
        ("blocks", planned.blocks, _is_range),
        ("actions", planned.actions, _is_action),
    ):
        if (
            not isinstance(rows, list)
            or len(rows) > MAX_ACTIONS
            or not all(is_row(row) for row in rows)
        ):
            raise TypeError(
                f"recomputation.{name} must be a list of {MAX_ACTIONS} at most, each as `suite run`"
                " writes them"
            )


def _is_range(row: object) -> bool:
    return _is_pair(row, (int, int))


def _is_action(row: object) -> bool:
    """Whether it is [action, block], or that with a list of positions."""
    if not isinstance(row, list) or not _is_pair(row[:2], (str, int)):
        return False
    rest = row[2:]
    positions = (
        len(rest) == 1
        and isinstance(rest[0], list)
        and 0 < len(rest[0]) <= MAX_ACTIONS
        and all(type(each) is int for each in rest[0])
    )
    return not rest or positions


def _is_pair(row: object, kinds: tuple[type, type]) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 2
        and all(type(value) is kind for value, kind in zip(row, kinds, strict=True))
    )


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
