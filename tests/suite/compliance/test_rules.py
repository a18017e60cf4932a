"""Every rule accepts the good bundle and submission, and finds each of its own faults."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.bundle.reader import Bundle, CachedBundle
from suite.bundle.request import read_request
from suite.catalog.rounds import PinnedRules, current_round
from suite.compliance import rules
from suite.compliance.checker import BundleVerdict, check_bundle, check_cached_bundle
from suite.compliance.finding import Finding, Severity
from suite.compliance.paths import check_paths
from suite.compliance.registry import (
    LAST,
    MODULES,
    all_checks,
    all_rules,
    checks_of,
    discover_rule_modules,
)
from suite.compliance.rule import BundleContext, Check, OfBundle
from suite.compliance.submission_rule import OfSubmission
from suite.compliance.submissions import SubmissionVerdict, check_submission, check_submissions
from tests.builders import RICH, make_bundle
from tests.every_case import EVERY_CASE, one_of_each
from tests.faults import all_faults
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import BUNDLE, Fault, Scope, sealed
from tests.faults.edits.log_edits import remove_event, set_everywhere
from tests.kept_outputs import in_short, kept, plain

MISSED = "target-missed"
"""Its faults shorten or repeat a run that reached the target, which other rules find, too."""

WARNINGS = [
    check for _, check in all_checks() if check.severity is Severity.WARNING and check.id != MISSED
]
FAULTS = one_of_each(
    [
        (check, fault)
        for _, check in all_checks()
        for fault in all_faults()[check.id]
        if EVERY_CASE or check not in WARNINGS
    ],
    lambda pair: (pair[0].id, pair[1].scope),
)
"""Of each check one fault of each kind of folder, of a warning those until it is found alone;
`make prove rules` tries all of them."""
OF_FOLDERS = [pair for pair in FAULTS if pair[1].scope.make is not None]
OF_RUNS = [pair for pair in FAULTS if pair[1].scope.make is None]
Judged = Callable[[Fault], tuple[tuple[Finding, ...], bool]]


SHOWN = 3
"""Findings of a fault that are kept whole."""


def names(faults: list[tuple[Check[Any], Fault]]) -> list[str]:
    return [f"{check.id}: {fault.name}" for check, fault in faults]


def state_of(folder: Path) -> frozenset[tuple[str, int, int]]:
    """Of every file, which tells whether one was edited."""
    files = [(path.relative_to(folder), path.lstat()) for path in folder.rglob("*")]
    return frozenset((str(name), state.st_size, state.st_mtime_ns) for name, state in files)


@pytest.fixture(scope="session")
def _of_good_runs(_good_submissions: dict[int, Path]) -> dict[object, BundleVerdict]:
    """Verdicts on the runs of the good submissions, which faults of a submission leave alone, by
    the states of their files."""
    verdicts = [check_submission(each) for each in _good_submissions.values()]
    assert all(verdict.complies and not all_findings(verdict) for verdict in verdicts)
    return {state_of(run.path): run for verdict in verdicts for run in verdict.bundles}


@pytest.fixture
def judged(
    good_bundle_of: Callable[[int], Path],
    _good_submissions: dict[int, Path],
    _of_good_runs: dict[object, BundleVerdict],
    tmp_path: Path,
) -> Judged:
    """What is found in a fresh copy of a good bundle or submission with the fault, and whether it
    complies."""

    def verdict_of(bundle: CachedBundle) -> BundleVerdict:
        known = _of_good_runs.get(state_of(bundle.path))
        return replace(known, path=bundle.path) if known else check_cached_bundle(bundle)

    def judge(fault: Fault) -> tuple[tuple[Finding, ...], bool]:
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        if fault.scope is BUNDLE:
            bundle = good_bundle_of(fault.ranks)
            fault.change(bundle)
            verdict = check_bundle(bundle)
            return verdict.findings, verdict.complies
        good = _good_submissions[fault.ranks]
        submission = Path(shutil.copytree(good, tmp_path / good.parent.name / good.name))
        fault.change(submission)
        (of_submission,) = check_submissions([submission], verdict_of)
        return all_findings(of_submission), of_submission.complies

    return judge


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_good_bundle_has_no_finding(ranks: int, good_bundle_of: Callable[[int], Path]) -> None:
    assert check_bundle(good_bundle_of(ranks)).findings == ()


@pytest.mark.parametrize(("check", "fault"), OF_RUNS, ids=names(OF_RUNS))
def test_a_rule_finds_its_fault(check: Check[Any], fault: Fault, judged: Judged) -> None:
    found, complies = judged(fault)
    assert_found(check, found, complies)
    keep(check, fault, found)


@pytest.mark.parametrize("check", WARNINGS, ids=lambda check: check.id)
def test_a_warning_alone_does_not_make_a_result_invalid(check: Check[Any], judged: Judged) -> None:
    """At least one fault of the check is found by no other."""
    faults = all_faults()[check.id]
    for fault in reversed(faults):
        found, complies = judged(fault)
        assert_found(check, found, complies)
        if complies:
            keep(check, fault, found)
            return
    pytest.fail(f"other rules find each of the {len(faults)} faults, too")


FOLDERS = tuple(dict.fromkeys(fault.scope for _, fault in OF_FOLDERS))
"""Folders of several runs or of raw measurements."""


@pytest.fixture(scope="session")
def _good_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Scope, Path]:
    return {
        scope: scope.make(tmp_path_factory.mktemp(scope.name) / "good")
        for scope in FOLDERS
        if scope.make is not None
    }


@pytest.mark.parametrize("scope", FOLDERS, ids=lambda scope: scope.name)
def test_a_good_folder_has_no_finding(scope: Scope, _good_folders: dict[Scope, Path]) -> None:
    result = check_paths([_good_folders[scope]])
    assert result.complies and not list(result.all_findings())
    assert (len(result.bundles), len(result.analyses)) == (scope.bundles, 1)


@pytest.mark.parametrize(("check", "fault"), OF_FOLDERS, ids=names(OF_FOLDERS))
def test_a_rule_finds_its_fault_in_a_folder(
    check: Check[Any], fault: Fault, _good_folders: dict[Scope, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(_good_folders[fault.scope], tmp_path / fault.scope.name))
    fault.change(folder)
    result = check_paths([folder])
    found = tuple(finding for _, finding in result.all_findings())
    assert_found(check, found, result.complies)
    keep(check, fault, found)


def keep(check: Check[Any], fault: Fault, findings: tuple[Finding, ...]) -> None:
    """Keep what the check itself finds, and which others do; not of a proof's further faults."""
    if EVERY_CASE:
        return
    own = [finding for finding in findings if finding.check == check.id]
    shown = [
        [each.rule, each.severity.value, each.file, each.line, each.expected, each.observed]
        for each in own[:SHOWN]
    ]
    others = sorted({finding.check for finding in findings} - {check.id})
    kept(
        "findings",
        in_short(plain({"found": shown, "number": len(own), "others": others})),
        f"{check.id}: {fault.name} ({fault.scope.name})",
    )


def assert_found(check: Check[Any], findings: tuple[Finding, ...], complies: bool) -> None:
    found = {finding.check for finding in findings}
    assert check.id in found
    assert complies is all(finding.severity is not Severity.INVALID for finding in findings)
    if found == {check.id}:
        assert complies is (check.severity is not Severity.INVALID)
    for finding in findings:
        assert finding.expected and finding.observed and finding.fix


def all_findings(verdict: SubmissionVerdict) -> tuple[Finding, ...]:
    return tuple(finding for part in (verdict, *verdict.bundles) for finding in part.findings)


def test_a_closed_run_that_trained_all_its_epochs_and_missed_its_target_complies_with_a_warning(
    tmp_path: Path,
) -> None:
    accuracies = (0.93, 0.95, 0.962, 0.97, 0.975, 0.978, 0.981, 0.983, 0.985, 0.986)
    verdict = check_bundle(make_bundle(tmp_path / "run", replace(RICH, accuracies=accuracies)))
    assert verdict.complies and [finding.check for finding in verdict.findings] == [MISSED]


def test_a_short_entry_has_missed_no_target_whether_its_round_is_closed_or_open(
    tmp_path: Path,
) -> None:
    four = EditableBundle(make_bundle(tmp_path / "run", replace(RICH, accuracies=(0.9, 0.95) * 2)))
    set_everywhere("steps", 4 * 1875)(four)
    four.save(recomputed=True)
    bundle, now = Bundle(four.path), current_round()
    request = read_request(bundle.run(), "the request")
    closed = PinnedRules(invalid=("short-length",), warning=(MISSED,))
    check = next(check for _, check in all_checks() if check.id == MISSED)
    for judged_by in (now, replace(now, closed="2030-01-01", rules=closed)):
        workload = now.workload(request.workload)
        context = BundleContext(bundle, bundle.run(), request, workload, judged_by)
        assert not list(check.find(context))


def test_a_forged_chain_and_manifest_leave_only_the_fault_itself(good_bundle: Path) -> None:
    """An editor who knows the format is caught by the contents, not by chain and manifest."""
    EditableBundle(good_bundle).save()
    assert check_bundle(good_bundle).findings == ()


def test_every_rule_is_whole() -> None:
    assert {check.id for _, check in all_checks()} == set(all_faults()), (
        "tests/faults has a fault of every check"
    )
    for rule in all_rules():
        assert rule.checks and rule.sentence.endswith(".") and rule.rationale.endswith("."), rule.id
        assert rule.fix and not rule.fix.endswith("."), rule.id


def test_ids_are_unique() -> None:
    ids = [each for rule in all_rules() for each in (rule.id, *rule.formerly)]
    assert len(set(ids)) == len(ids)


def test_the_order_of_checking_is_explicit() -> None:
    """Preconditions first, submissions last; no two modules share a place unless they leave it
    open."""
    orders = [module.order for module in MODULES if module.order != LAST]
    assert len(set(orders)) == len(orders)
    assert MODULES[0].name == "preconditions"
    kinds = [
        all(isinstance(check, OfSubmission) for check in rule.checks)
        for module in MODULES
        if module.order != LAST
        for rule in module.rules
    ]
    assert kinds == sorted(kinds)


def test_a_finding_names_the_true_line(good_bundle: Path) -> None:
    lines = (good_bundle / "log.txt").read_text().splitlines(keepends=True)
    wanted = next(
        number for number, line in enumerate(lines, start=1) if '"key": "run_start"' in line
    )
    lines[wanted - 1] = lines[wanted - 1].replace("run_start", "run_begin")
    (good_bundle / "log.txt").write_text("".join(lines))
    found = [
        finding for finding in check_bundle(good_bundle).findings if finding.check == "log-chain"
    ]
    assert [finding.line for finding in found] == [wanted]


EXAMPLE = '''
"""Examples: discovered in a module of their own."""

from suite.compliance.rule import OfBundle, Rule, Violation

RULES = (
    Rule(
        "example",
        "The log names the seed.",
        "An example.",
        "run again",
        (OfBundle("example", lambda context: [] if context.log.first("seed") else [Violation("log.txt", "a seed", "none")]),),
    ),
)
'''  # noqa: E501


def test_a_rule_in_a_new_module_is_discovered_and_checked(
    tmp_path: Path, good_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "example_module.py").write_text(EXAMPLE)
    monkeypatch.setattr("suite.compliance.rules.__path__", [*rules.__path__, str(tmp_path)])
    (module,) = (module for module in discover_rule_modules() if module.name == "example_module")
    assert (module.title, module.order) == ("Examples: discovered in a module of their own", LAST)
    (rule,) = module.rules
    monkeypatch.setattr(
        "suite.compliance.checker.checks_of",
        lambda judged_by, kind, division: (
            *checks_of(judged_by, kind, division),
            *((rule, check) for check in rule.checks if kind is OfBundle),
        ),
    )
    assert check_bundle(good_bundle).findings == ()
    sealed("no seed", remove_event("seed")).change(good_bundle)
    assert "example" in {finding.check for finding in check_bundle(good_bundle).findings}
