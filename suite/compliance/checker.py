"""Applies the rules to a request before a run, and to a bundle after it."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from reference_impls.contract import ContractError, Request, request_from_dict
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle, CachedBundle, RunRecord
from suite.catalog.divisions import Division
from suite.catalog.workloads import Workload, load_workload
from suite.compliance.finding import Finding, Severity
from suite.compliance.registry import READABLE, RULES, RUN_COMPLETE
from suite.compliance.rule import MOST_COMPLAINTS, BundleCase, RequestCase, Rule, Violation
from suite.errors import FileError, SuiteError

REQUEST_FILE = "the request"
MOST_RANKS, LONGEST_NAME = 4096, 200


@dataclass(frozen=True)
class BundleVerdict:
    """What the rules say of one bundle. It complies when no finding is invalid; ``division`` is the one it was judged in."""

    path: Path
    division: str
    findings: tuple[Finding, ...]

    @property
    def complies(self) -> bool:
        """No finding makes it invalid."""
        return all(finding.severity is not Severity.INVALID for finding in self.findings)


def check_request(training: Request, workload: Workload) -> tuple[Finding, ...]:
    """Judge a request for ``workload`` before the run starts, by the rules that judge the request in the bundle later."""
    return _judge_request(RequestCase(training, workload, REQUEST_FILE))


def check_bundle(path: Path) -> BundleVerdict:
    """Judge one bundle; raises SuiteError when there is none at ``path`` or its run.json says nothing that can be judged."""
    return judge(CachedBundle(path))


def judge(bundle: CachedBundle) -> BundleVerdict:
    """Judge a bundle that goes on being read afterwards; raises SuiteError as :func:`check_bundle`."""
    import numpy as np

    path, run = bundle.path, bundle.run()
    try:
        request = _typed(request_from_dict(dict(run.request), f"{path / RUN}: request"))
    except (ContractError, TypeError, AttributeError) as error:
        raise SuiteError(f"{path / RUN}: the request cannot be judged: {str(error)[:300]}") from error
    if run.status != "finished" or not bundle.is_sealed:
        return BundleVerdict(path, request.division, (_unfinished(bundle, run),))
    case = BundleCase(bundle, run, request, load_workload(request.workload))
    with np.errstate(all="ignore"):  # values may be infinite or none; rules look at them, warnings would not help anybody
        findings = [*_judge_request(RequestCase(request, case.workload, RUN)), *_judge_bundle(case)]
    return BundleVerdict(path, request.division, tuple(findings))


def find_bundles(path: Path) -> tuple[Path, ...]:
    """The bundle at ``path``, or every bundle below it, links not followed; raises SuiteError when there is none."""
    if (path / RUN).is_file():
        return (path,)
    if not path.exists():
        raise SuiteError(f"{path} does not exist; give the path of a run directory.")
    found = tuple(sorted(file.parent for file in path.rglob(RUN) if file.is_file() and not file.is_symlink())) if path.is_dir() else ()
    if not found:
        raise SuiteError(f"{path} is no run directory and holds none (there is no {RUN}); give the path that `suite run` printed.")
    return found


def _typed(request: Request) -> Request:
    """Refuse values of the wrong kind before rules calculate with them."""
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
    if not all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 for value in whole) or 0 in whole[1:]:
        raise TypeError("seed, epochs, sizes and intervals must be whole numbers above zero")
    if request.parallel.ranks > MOST_RANKS:
        raise TypeError(f"parallel.ranks must be {MOST_RANKS} at most")
    if request.steps is not None and (not isinstance(request.steps, int) or isinstance(request.steps, bool) or request.steps < 1):
        raise TypeError("steps must be a whole number above zero, or null")
    numbers = (request.optimizer.base_learning_rate, request.optimizer.momentum, request.optimizer.weight_decay)
    if not all(_is_number(value) for value in numbers):
        raise TypeError("the optimizer's settings must be numbers")
    names = (request.workload, request.model, request.framework, request.platform, request.data.name)
    if not all(isinstance(value, str) and len(value) <= LONGEST_NAME for value in names):
        raise TypeError(f"names must be strings of {LONGEST_NAME} letters at most")
    if not isinstance(request.batches, str) or not isinstance(request.drop_cache_every_epoch, bool):
        raise TypeError("batches must be a string and drop_cache_every_epoch true or false")
    if not all(isinstance(value, list) for value in (request.preprocessing.mean, request.preprocessing.std)):
        raise TypeError("mean and std must be lists")
    if request.target_accuracy is not None and not _is_number(request.target_accuracy):
        raise TypeError("target_accuracy must be a number")
    if request.division not in [division.value for division in Division]:
        raise TypeError(f"there is no division {str(request.division)[:50]!r}")
    return request


def _is_number(value: object) -> bool:
    """One that can be calculated with: no truth value, and within what a float holds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _unfinished(bundle: Bundle, run: RunRecord) -> Finding:
    try:
        epochs = len(bundle.log().finished_epochs())
    except FileError:
        epochs = 0
    observed = f"status {run.status!r}" + (f": {run.message}" if run.message else "") + f"; {epochs} epochs were finished and can be read"
    return _finding(RUN_COMPLETE, Violation(RUN, "a finished, sealed run", observed, "run again; this bundle cannot be judged further"))


def _judge_request(case: RequestCase) -> tuple[Finding, ...]:
    rules = [rule for rule in RULES if rule.judges_request is not None and case.division in rule.divisions]
    return tuple(_finding(rule, complaint) for rule in rules for complaint in rule.judges_request(case))  # type: ignore[misc]


def _judge_bundle(case: BundleCase) -> Iterable[Finding]:
    """Every rule gets its say; a file that cannot be read is one finding, however many rules wanted it."""
    unreadable: dict[str, Finding] = {}
    for rule in RULES:
        if rule.judges_bundle is None or Division(case.request.division) not in rule.divisions:
            continue
        try:
            for complaint in islice(rule.judges_bundle(case), MOST_COMPLAINTS):
                yield _finding(rule, complaint)
        except FileError as error:
            name = error.path.name
            unreadable[name] = _finding(READABLE, Violation(name, "a readable file", error.what, "copy the whole run directory again"))
    yield from unreadable.values()


def _finding(rule: Rule, complaint: Violation) -> Finding:
    return complaint.by(rule.id, rule.severity)
