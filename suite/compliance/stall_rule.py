"""A rule of stall analyses: what shows when the three runs and the record about them are compared."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import Source
from suite.catalog.divisions import Division
from suite.compliance.faults.fault import Fault
from suite.compliance.finding import Severity
from suite.compliance.rule import BOTH, Violation


@dataclass(frozen=True)
class StallContext:
    """The folder of an analysis: ``stalls.json``, a manifest, and one bundle for each source."""

    path: Path

    def bundle(self, source: Source) -> Bundle:
        """The bundle of this source; it may be missing."""
        return Bundle(self.path / source.value)


@dataclass(frozen=True)
class StallRule:
    """One rule: its text, its check, and the faults that prove the check."""

    id: str
    sentence: str
    rationale: str
    check: Callable[[StallContext], Iterable[Violation]]
    faults: tuple[Fault, ...]
    divisions: tuple[Division, ...] = BOTH
    severity: Severity = Severity.INVALID
