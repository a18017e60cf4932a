"""Checks folders that hold several bundles and a record about them, each as a whole."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from suite.compliance.finding import Finding, Severity
from suite.compliance.folder_rule import FolderKind
from suite.compliance.malformed import MALFORMED, not_applied
from suite.compliance.registry import FOLDER_RULES
from suite.compliance.rule import MAX_VIOLATIONS
from suite.files.tree import files_below


@dataclass(frozen=True)
class FolderVerdict:
    """The findings about a folder as a whole; its bundles have their own verdicts. ``kind`` says
    what it holds."""

    path: Path
    findings: tuple[Finding, ...]
    kind: str

    @property
    def complies(self) -> bool:
        """No finding is invalid."""
        return all(finding.severity is not Severity.INVALID for finding in self.findings)


def find_folders(path: Path, record: str) -> tuple[Path, ...]:
    """The folder at ``path`` if it has this record, or every such folder below it; links are not
    followed."""
    if (path / record).is_file():
        return (path,)
    return tuple(file.parent for file in files_below(path, record))


def check_folder(path: Path, kind: FolderKind, record: str) -> FolderVerdict:
    """Check a folder by the rules of its kind."""
    findings: list[Finding] = []
    for rule in FOLDER_RULES:
        if rule.kind is not kind:
            continue
        try:
            findings += [
                violation.finding(rule.id, rule.severity)
                for violation in islice(rule.check(path), MAX_VIOLATIONS)
            ]
        except MALFORMED as error:
            findings.append(not_applied(rule.id, error, record))
    return FolderVerdict(path, tuple(findings), kind.value)
