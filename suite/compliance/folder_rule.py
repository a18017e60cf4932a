"""Checks of folders that hold several bundles, or raw records, and a record about them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from suite.compliance.rule import Check, Violation
from suite.errors import SuiteError
from suite.metrics.sealed_record import SealedRecord


class OfFolder(Check[Path]):
    """A check of a folder of one kind."""


def check_seal(record: SealedRecord) -> Callable[[Path], Iterator[Violation]]:
    """The check of a record's seal."""

    def check(folder: Path) -> Iterator[Violation]:
        return (Violation(*each, fix=record.again) for each in record.broken(folder))

    return check


def check_figures(record: SealedRecord) -> Callable[[Path], Iterator[Violation]]:
    """The check that a record follows from the other files of its folder, to 1e-9 relative."""

    def check(folder: Path) -> Iterator[Violation]:
        try:
            found = record.differences(folder)
        except (SuiteError, OSError) as error:
            observed = str(error).replace(f"{folder}/", "")[:300]
            wanted = "figures, and records that they can be computed from"
            yield Violation(record.file, wanted, observed, fix=record.again)
            return
        for name, (expected, observed) in found:
            wanted = f"{name} as recomputed from the records: {expected}"[:300]
            yield Violation(record.file, wanted, f"{observed}", fix=record.again)

    return check
