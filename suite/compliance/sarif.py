"""Findings in SARIF 2.1.0, which code hosts show at the lines of a pull request.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, 2020.
"""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from suite import __version__
from suite.compliance.finding import Finding, Severity
from suite.compliance.paths import CheckResult
from suite.compliance.registry import all_rules
from suite.compliance.rule import Rule

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS = {Severity.INVALID: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def to_sarif(verdict: CheckResult, root: Path) -> dict[str, Any]:
    """The verdict as a SARIF log of one run; files below ``root`` are named relative to it, others
    by their absolute path.

    Each bundle or submission that could not be checked is a notification of the tool, and the run
    is then marked as unsuccessful.
    """
    invocation: dict[str, Any] = {"executionSuccessful": not verdict.broken}
    if verdict.broken:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": sentence}} for sentence in verdict.broken
        ]
    run = {
        "tool": {
            "driver": {
                "name": "suite check",
                "version": __version__,
                "rules": [_rule(rule) for rule in all_rules()],
            }
        },
        "invocations": [invocation],
        "results": [_result(folder, finding, root) for folder, finding in verdict.all_findings()],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.sentence},
        "fullDescription": {"text": rule.rationale},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": LEVELS[rule.severities[0]]},
    }


def _result(folder: Path, finding: Finding, root: Path) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(folder / finding.file, root)}
    if finding.line is not None:
        location["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.rule,
        "ruleIndex": _indices()[finding.rule],
        "level": LEVELS[finding.severity],
        "message": {
            "text": (
                f"Expected {finding.expected}; observed {finding.observed}. To fix it:"
                f" {finding.fix}."
            )
        },
        "locations": [{"physicalLocation": location}],
    }


@cache
def _indices() -> dict[str, int]:
    return {rule.id: index for index, rule in enumerate(all_rules())}


def _artifact(path: Path, root: Path) -> dict[str, str]:
    whole, root = path.absolute(), root.absolute()
    if whole.is_relative_to(root):
        return {"uri": quote(whole.relative_to(root).as_posix()), "uriBaseId": "%SRCROOT%"}
    return {"uri": f"file://{quote(whole.as_posix())}"}
