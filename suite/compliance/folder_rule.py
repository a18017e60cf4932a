"""A rule of folders that hold several bundles and a record about them: what shows when these are
compared."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.divisions import Division
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, Violation
from suite.errors import SuiteError
from suite.metrics.sealed_record import SealedRecord


@dataclass(frozen=True)
class FolderRule:
    """One rule of the folders of a kind: its text, and its check of a folder."""

    id: str
    sentence: str
    rationale: str
    check: Callable[[Path], Iterable[Violation]]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID


def check_seal(record: SealedRecord) -> Callable[[Path], Iterator[Violation]]:
    """The check of a record's seal."""

    def check(folder: Path) -> Iterator[Violation]:
        return (Violation(*each, record.again) for each in record.broken(folder))

    return check


def check_figures(record: SealedRecord) -> Callable[[Path], Iterator[Violation]]:
    """The check that a record follows from the other files of its folder, to 1e-9 relative."""

    def check(folder: Path) -> Iterator[Violation]:
        try:
            found = record.differences(folder)
        except (SuiteError, OSError) as error:
            observed = str(error).replace(f"{folder}/", "")[:300]
            wanted = "figures, and records that they can be computed from"
            yield Violation(record.file, wanted, observed, record.again)
            return
        for name, (expected, observed) in found:
            wanted = f"{name} as recomputed from the records: {expected}"[:300]
            yield Violation(record.file, wanted, f"{observed}"[:200], record.again)

    return check
