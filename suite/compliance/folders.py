"""Checks folders that hold several bundles, or raw records, and a record about them, each as a
whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from suite.bundle import layout, replication_folder, stall_folder
from suite.catalog.extensions import Extension, ExtensionPart, extensions
from suite.compliance.applying import findings_of_check
from suite.compliance.finding import Finding
from suite.compliance.folder_rule import RecordFolder
from suite.compliance.rule import Rule
from suite.compliance.rules import records
from suite.files.tree import files_below
from suite.metrics.sealed_record import SealedRecord


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
        return not any(finding.is_invalid for finding in self.findings)


@dataclass(frozen=True)
class FolderKind:
    """Folders that hold the same: ``title`` says what. The file ``record``, or files of the pattern
    ``holds``, tell them. ``described`` gives how the record is sealed, and the rules of this kind
    beside those of all; it is called when there is such a folder."""

    title: str
    record: str
    described: Callable[[], tuple[SealedRecord, tuple[Rule, ...]]]
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
        record, own = self.described()
        found = tuple(
            finding
            for rule in (*records.OF_ALL, *own)
            for check in rule.checks
            for finding in findings_of_check(rule, check, RecordFolder(path, record), self.record)
        )
        return FolderVerdict(path, found, self.title)


def _record_folder(title: str, file: str, rules: tuple[Rule, ...] = ()) -> FolderKind:
    return FolderKind(title, file, lambda: (_records()[file], rules))


def _records() -> dict[str, SealedRecord]:
    """The suite's own records, by file; most checks find none of them."""
    from suite.metrics.linpack_record import LINPACK  # start-up
    from suite.metrics.linpack_study_record import LINPACK_STUDY  # start-up
    from suite.metrics.matrix_record import MATRICES  # start-up
    from suite.metrics.replication import REPLICATION  # start-up
    from suite.metrics.stall_analysis import STALLS  # start-up
    from suite.metrics.study import SWEEP  # start-up

    sealed = (STALLS, REPLICATION, SWEEP, MATRICES, LINPACK, LINPACK_STUDY)
    return {each.file: each for each in sealed}


STALLS = _record_folder("stall analysis", stall_folder.RECORD, records.OF_STALLS)
REPLICATIONS = _record_folder("replication", replication_folder.RECORD, records.OF_REPLICATIONS)
OF_SUITE = (
    STALLS,
    REPLICATIONS,
    _record_folder("sweep", layout.STUDY),
    _record_folder("matrix of studies", layout.MATRIX),
    _record_folder("LINPACK", layout.LINPACK_RECORD),
    _record_folder("LINPACK on several nodes", layout.LINPACK_STUDY_RECORD),
)


def folder_kinds() -> Iterator[FolderKind]:
    """Every kind of folder that has rules."""
    yield from OF_SUITE
    for extension in extensions():
        if extension.record is not None and extension.has(ExtensionPart.RULES):
            described = partial(_of_extension, extension)
            yield FolderKind(extension.title, extension.record, described, extension.holds)


def _of_extension(extension: Extension) -> tuple[SealedRecord, tuple[Rule, ...]]:
    module = extension.part(ExtensionPart.RULES)
    assert module is not None
    return module.RECORD, module.RULES
