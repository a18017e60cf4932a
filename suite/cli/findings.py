"""Shows findings."""

from collections.abc import Iterable
from dataclasses import asdict

from suite.cli.json_output import print_json
from suite.compliance.finding import Finding


def as_json(findings: Iterable[Finding]) -> list[dict[str, object]]:
    """Findings as plain values."""
    return [dict(asdict(finding), severity=finding.severity.value) for finding in findings]


def show_findings(findings: Iterable[Finding], json: bool) -> None:
    """Print each finding: what was expected, what was found, what to do."""
    if json:
        print_json("refused-request", {"findings": as_json(findings)})
        return
    for finding in findings:
        where = finding.file + (f":{finding.line}" if finding.line is not None else "")
        print(f"{finding.severity.value}: {finding.rule} ({where})")
        print(
            f"  expected  {finding.expected}\n  observed  {finding.observed}\n  fix      "
            f" {finding.fix}"
        )
