"""What checks read of folders with several bundles, or raw records, and a record about them."""

from dataclasses import dataclass
from pathlib import Path

from suite.compliance.rule import Check
from suite.metrics.sealed_record import SealedRecord


@dataclass(frozen=True)
class RecordFolder:
    """A folder, and how its record lies in it."""

    path: Path
    record: SealedRecord


class OfFolder(Check[RecordFolder]):
    """A check of a folder with a record, of one kind or of all."""
