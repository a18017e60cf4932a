"""Losses of reference runs, ``rules/reference_losses/<workload>.json``: the mean loss of every
epoch, by batch size, rate and local batch size.

``python -m tools.reference_losses FOLDER…`` writes them, from published reference runs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from suite.errors import FileError
from suite.files.json_file import read_json, write_json
from suite.files.paths import rules_folder
from suite.files.schema import SchemaError, from_plain

SCHEMA: Literal[1] = 1


@dataclass(frozen=True)
class RunLosses:
    """A reference run, and the mean loss over the mini-batches of each of its epochs."""

    run_id: str
    losses: tuple[float, ...]


@dataclass(frozen=True)
class ReferenceLosses:
    """The reference runs of one setting (suite.catalog.reference_points.ReferencePoint.setting)."""

    batch_size: int
    base_learning_rate: float
    local_batch_size: int | None
    runs: tuple[RunLosses, ...]


@dataclass(frozen=True)
class _LossesFile:
    schema: Literal[1]
    workload: str
    settings: tuple[ReferenceLosses, ...]


def reference_losses_folder(root: Path | None = None) -> Path:
    """The folder of the files."""
    return rules_folder(root) / "reference_losses"


def load_reference_losses(workload: str, root: Path | None = None) -> tuple[ReferenceLosses, ...]:
    """The settings of a workload; empty if there are none. Raises FileError when the file is
    malformed."""
    path = reference_losses_folder(root) / f"{workload}.json"
    if not path.is_file():
        return ()
    try:
        return from_plain(read_json(path), _LossesFile, "").settings
    except SchemaError as error:
        raise FileError(
            path,
            f"holds no losses of reference runs ({error}); write it again with `python -m"
            " tools.reference_losses`",
        ) from error


def write_reference_losses(workload: str, settings: Sequence[ReferenceLosses]) -> Path:
    """Write the settings of a workload in place of earlier ones. Returns the file."""
    path = reference_losses_folder() / f"{workload}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, asdict(_LossesFile(SCHEMA, workload, tuple(settings))))
    return path
