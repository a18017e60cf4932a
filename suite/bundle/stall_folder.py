"""The folder of a stall analysis: one bundle for each source of mini-batches, ``stalls.json``, and
a manifest over all of them."""

import enum
from pathlib import Path

from suite.bundle.layout import MANIFEST

RECORD = "stalls.json"


class BatchSource(str, enum.Enum):
    """Source of a run's mini-batches, in the order of the runs."""

    COLD = "cold"
    WARM = "warm"
    SYNTHETIC = "synthetic"


def sealed_files(directory: Path) -> tuple[Path, ...]:
    """What the manifest of an analysis lists: ``stalls.json`` and the manifests of the three
    runs."""
    return (directory / RECORD, *(directory / source.value / MANIFEST for source in BatchSource))
