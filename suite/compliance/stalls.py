"""Checks stall analyses: the three bundles by the rules of bundles, then the whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from suite.bundle.stall_folder import RECORD, Source
from suite.compliance.finding import Finding, Severity
from suite.compliance.malformed import MALFORMED, not_applied
from suite.compliance.registry import STALL_RULES
from suite.compliance.rule import MAX_VIOLATIONS
from suite.compliance.stall_rule import StallContext
from suite.files.tree import files_below

ALLOWED = "data-read"
"""The rule that runs of an analysis break on purpose: they are no results."""


@dataclass(frozen=True)
class StallVerdict:
    """The findings about an analysis as a whole; its bundles have their own verdicts."""

    path: Path
    findings: tuple[Finding, ...]

    @property
    def complies(self) -> bool:
        """No finding is invalid."""
        return all(finding.severity is not Severity.INVALID for finding in self.findings)


def find_stall_folders(path: Path) -> tuple[Path, ...]:
    """The analysis at ``path``, or every analysis below it; links are not followed."""
    if (path / RECORD).is_file():
        return (path,)
    return tuple(file.parent for file in files_below(path, RECORD))


def check_stall_folder(path: Path) -> StallVerdict:
    """Check an analysis."""
    context = StallContext(path)
    findings: list[Finding] = []
    for rule in STALL_RULES:
        try:
            findings += [violation.finding(rule.id, rule.severity) for violation in islice(rule.check(context), MAX_VIOLATIONS)]
        except MALFORMED as error:
            findings.append(not_applied(rule.id, error, RECORD))
    return StallVerdict(path, tuple(findings))


def is_part(bundle: Path, analyses: Sequence[Path]) -> bool:
    """Whether the bundle is one of the three of an analysis."""
    return bundle.parent in analyses and bundle.name in [source.value for source in Source]
