"""Shows findings."""

from collections.abc import Sequence

from suite.cli.json_output import print_json
from suite.compliance.finding import Finding


def show_findings(findings: Sequence[Finding], json: bool) -> None:
    """Print each finding: what was expected, what was found, what to do."""
    if json:
        print_json("refused-request", {"findings": findings})
        return
    for finding in findings:
        where = finding.file + (f":{finding.line}" if finding.line is not None else "")
        print(f"{finding.severity.value}: {finding.rule} ({where})")
        print(
            f"  expected  {finding.expected}\n  observed  {finding.observed}\n  fix      "
            f" {finding.fix}"
        )
