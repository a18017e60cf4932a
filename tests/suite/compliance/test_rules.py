"""Every rule accepts the good bundle and finds each of its own faults; both come from the registry."""

from collections.abc import Callable
from pathlib import Path

import pytest

from suite.compliance.checker import check_bundle
from suite.compliance.editing import EditableBundle
from suite.compliance.registry import RULES
from suite.compliance.rule import Fault, Rule

CASES = [(rule, fault) for rule in RULES for fault in rule.faults]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_good_bundle_has_no_finding(ranks: int, good_bundle_of: Callable[[int], Path]) -> None:
    assert check_bundle(good_bundle_of(ranks)).findings == ()


@pytest.mark.parametrize(("rule", "fault"), CASES, ids=[f"{rule.id}: {fault.name}" for rule, fault in CASES])
def test_a_rule_finds_its_fault(rule: Rule, fault: Fault, good_bundle_of: Callable[[int], Path]) -> None:
    good_bundle = good_bundle_of(fault.ranks)
    editable = EditableBundle(good_bundle)
    fault.change(editable)
    if fault.forged:
        editable.save()
    findings = check_bundle(good_bundle).findings
    assert rule.id in {finding.rule for finding in findings}
    for finding in findings:
        assert finding.expected and finding.observed and finding.fix


def test_a_forged_chain_and_manifest_leave_only_the_fault_itself(good_bundle: Path) -> None:
    """An editor who knows the format is caught by what the numbers say, not by the seals."""
    EditableBundle(good_bundle).save()
    assert check_bundle(good_bundle).findings == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_whole(rule: Rule) -> None:
    assert rule.faults, "a rule without a rejecting fixture is not proved"
    assert (rule.judges_request is None) != (rule.judges_bundle is None)
    assert rule.sentence.endswith(".") and rule.rationale.endswith(".")


def test_ids_are_unique() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_a_finding_names_the_true_line(good_bundle: Path) -> None:
    lines = (good_bundle / "log.txt").read_text().splitlines(keepends=True)
    wanted = next(number for number, line in enumerate(lines, start=1) if '"key": "run_start"' in line)
    lines[wanted - 1] = lines[wanted - 1].replace("run_start", "run_begin")
    (good_bundle / "log.txt").write_text("".join(lines))
    found = [finding for finding in check_bundle(good_bundle).findings if finding.rule == "log-chain"]
    assert [finding.line for finding in found] == [wanted]
