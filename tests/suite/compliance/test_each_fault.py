"""Every further fault of a bundle or a submission is found by its own check; `make prove rules`
tries each with all checks."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from suite.compliance.checker import BundleVerdict, check_bundle
from suite.compliance.registry import all_checks
from suite.compliance.rule import Check, OfRequest
from suite.compliance.rules import preconditions
from suite.compliance.submissions import check_submissions
from tests.checks_alone import context_of, found, request_of
from tests.faults import all_faults
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import BUNDLE, SUBMISSION, Fault, Scope

FAULTS_A_CASE = 4
DEAR = ("attached-trace", "witness-files", "witness-known", "witness-time")
"""Each of their faults takes more than 0.1 s: a trace's clock is fitted, OpenSSL is started."""
BY_THE_CHECKER = {check.id for rule in preconditions.RULES for check in rule.checks}


def further_faults(scope: Scope, at_once: int) -> Iterator[tuple[Check[Any], list[Fault]]]:
    """Each check with its faults but the first, which test_rules has; an edit that is made twice,
    sealed and recomputed, once."""
    for check in (check for _, check in all_checks() if check.id not in DEAR):
        edits: dict[str, Fault] = {}
        for fault in all_faults()[check.id]:
            if fault.scope is scope:
                edits.setdefault(fault.name.partition(" [")[0], fault)
        faults = list(edits.values())
        for first in range(1, len(faults), at_once):
            yield check, faults[first : first + at_once]


def is_found(check: Check[Any], path: Path) -> bool:
    """Whether the check alone finds something in a bundle."""
    if check.id in BY_THE_CHECKER:
        return any(finding.check == check.id for finding in check_bundle(path).findings)
    context = context_of(path)
    return bool(found(check.id, request_of(context) if isinstance(check, OfRequest) else context))


@pytest.mark.parametrize(
    ("check", "faults"),
    [pytest.param(*each, id=each[0].id) for each in further_faults(BUNDLE, FAULTS_A_CASE)],
)
def test_a_check_finds_each_of_its_faults(
    check: Check[Any],
    faults: list[Fault],
    _good_bundles: dict[int, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the first faults show that recomputed figures hide nothing
    monkeypatch.setattr(EditableBundle, "_recompute", lambda _: None)
    missed = []
    for number, fault in enumerate(faults):
        bundle = Path(shutil.copytree(_good_bundles[fault.ranks], tmp_path / str(number)))
        fault.change(bundle)
        if not is_found(check, bundle):
            missed.append(fault.name)
    assert missed == []


@pytest.mark.parametrize(
    ("check", "fault"),
    [pytest.param(check, one, id=check.id) for check, (one,) in further_faults(SUBMISSION, 1)],
)
def test_a_submission_with_a_fault_is_found(
    check: Check[Any], fault: Fault, _good_submissions: dict[int, Path], tmp_path: Path
) -> None:
    good = _good_submissions[fault.ranks]
    submission = Path(shutil.copytree(good, tmp_path / good.parent.name / good.name))
    fault.change(submission)
    (verdict,) = check_submissions(
        [submission], lambda bundle: BundleVerdict(bundle.path, "not judged", "closed", ())
    )
    assert check.id in {finding.check for finding in verdict.findings}
