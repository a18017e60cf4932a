"""Checks folders that hold several bundles, or raw records, and a record about them, each as a
whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import ModuleType

from suite.bundle import replication_folder, stall_folder
from suite.catalog.extensions import Extension, Part, extensions
from suite.compliance.applying import findings
from suite.compliance.finding import Finding, Severity
from suite.compliance.rules import replications, stalls
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


@dataclass(frozen=True)
class FolderKind:
    """Folders that hold the same: ``title`` says what. The file ``record``, or files of the pattern
    ``holds``, tell them. Their rules are those of a module, or of an extension, whose rules are
    loaded when there is such a folder."""

    title: str
    record: str
    rules: ModuleType | Extension
    holds: str | None = None

    def find(self, path: Path) -> tuple[Path, ...]:
        """The folder at ``path``, or every such folder below it; links are not followed."""
        return (path,) if (path / self.record).is_file() else tuple(sorted(self._below(path)))

    def _below(self, path: Path) -> set[Path]:
        found = {file.parent for file in files_below(path, self.record)}
        if self.holds is None:
            return found
        pattern = PurePath(self.holds)
        parts = files_below(path, pattern.name)
        return found | {
            file.parents[len(pattern.parts) - 1] for file in parts if file.match(self.holds)
        }

    def check(self, path: Path) -> FolderVerdict:
        """Check a folder by the rules of its kind."""
        module = self.rules.part(Part.RULES) if isinstance(self.rules, Extension) else self.rules
        assert module is not None
        found = tuple(
            finding
            for rule in module.RULES
            for check in rule.checks
            for finding in findings(rule, check, path, self.record)
        )
        return FolderVerdict(path, found, self.title)


STALLS = FolderKind("stall analysis", stall_folder.RECORD, stalls)
REPLICATIONS = FolderKind("replication", replication_folder.RECORD, replications)


def folder_kinds() -> Iterator[FolderKind]:
    """Every kind of folder that has rules."""
    yield STALLS
    yield REPLICATIONS
    for extension in extensions():
        if extension.record is not None and extension.has(Part.RULES):
            yield FolderKind(extension.title, extension.record, extension, extension.holds)
