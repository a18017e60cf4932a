"""Accuracies of reference runs, ``rules/accuracies/<workload>.json``: those of every epoch, by
setting; targets follow from them (suite.metrics.targets).

``suite reference-points target WORKLOAD RUNS`` writes them.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json, write_json
from suite.files.paths import rules_folder
from suite.files.schema import AboveZero, Positive, SchemaError, Share, from_plain

SCHEMA: Literal[1] = 1


@dataclass(frozen=True)
class RunAccuracies:
    """A reference run that no target ended, and the accuracy after each of its epochs.

    ``manifest`` is the SHA-256 of its bundle's manifest; ``precision`` and ``accelerator`` are
    those of its request.
    """

    run_id: str
    framework: str
    seed: int
    precision: str
    accelerator: str
    manifest: str
    accuracies: tuple[Share, ...]


@dataclass(frozen=True)
class ReferenceAccuracies:
    """The reference runs of one setting: batch size, learning rate and length of the schedule."""

    batch_size: Positive
    base_learning_rate: AboveZero
    epochs: Positive
    runs: tuple[RunAccuracies, ...]

    @property
    def setting(self) -> tuple[int, float, int]:
        """What identifies it."""
        return self.batch_size, self.base_learning_rate, self.epochs


@dataclass(frozen=True)
class _AccuraciesFile:
    schema: Literal[1]
    workload: str
    settings: tuple[ReferenceAccuracies, ...]


def _path(workload: str, root: Path | None) -> Path:
    return rules_folder(root) / "accuracies" / f"{workload}.json"


def load_accuracies(workload: str, root: Path | None = None) -> tuple[ReferenceAccuracies, ...]:
    """The settings of a workload; empty if there are none. Raises FileError when the file is
    malformed."""
    path = _path(workload, root)
    if not path.is_file():
        return ()
    try:
        return from_plain(read_json(path), _AccuraciesFile, "").settings
    except SchemaError as error:
        raise FileError(
            path,
            f"holds no accuracies of reference runs ({error}); write it again with `suite"
            " reference-points target`",
        ) from error


def add_accuracies(
    workload: str, new: Sequence[ReferenceAccuracies], root: Path | None = None
) -> Path:
    """Write runs beside those that are known; returns the file. Raises SuiteError for two of the
    same setting, framework, seed and precision: who chooses one would choose the target."""
    runs: dict[tuple[tuple[int, float, int], str, int, str], RunAccuracies] = {}
    for setting in (*load_accuracies(workload, root), *new):
        for run in setting.runs:
            known = runs.setdefault((setting.setting, run.framework, run.seed, run.precision), run)
            if known != run:
                raise SuiteError(
                    f"{known.run_id} and {run.run_id} have the same setting, framework"
                    f" ({run.framework}), seed ({run.seed}) and precision ({run.precision}); leave"
                    " the second one out."
                )
    settings = tuple(
        ReferenceAccuracies(
            *setting, tuple(run for key, run in sorted(runs.items()) if key[0] == setting)
        )
        for setting in sorted({key[0] for key in runs})
    )
    path = _path(workload, root)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, asdict(_AccuraciesFile(SCHEMA, workload, settings)))
    return path
