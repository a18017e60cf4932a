"""Reference points, ``rules/reference_points/<workload>.json``: the epochs of every reference run, and whether it reached the target."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.errors import FileError
from suite.files.json_file import read_json, write_json
from suite.files.paths import rules_folder

SCHEMA = 2
READABLE_SCHEMAS = (1, SCHEMA)  # 1: every run reached its target


@dataclass(frozen=True)
class ReferenceRun:
    """A run of a reference point; ``manifest`` is the SHA-256 of its bundle's manifest.

    A run that did not reach the target trained all epochs of its workload: its epochs to target are censored.
    """

    run_id: str
    framework: str
    seed: int
    epochs_trained: int
    reached: bool
    manifest: str

    @property
    def epochs_to_target(self) -> float:
        """Epochs to target; infinite for a run that missed it."""
        return self.epochs_trained if self.reached else math.inf


@dataclass(frozen=True)
class ReferencePoint:
    """The closed runs of a workload with one batch size and learning rate."""

    workload: str
    batch_size: int
    base_learning_rate: float
    eval_every_epochs: int
    runs: tuple[ReferenceRun, ...]

    @property
    def epochs(self) -> tuple[float, ...]:
        """Epochs to target of each run; infinite where the target was missed."""
        return tuple(run.epochs_to_target for run in self.runs)

    @property
    def expected_epochs(self) -> float | None:
        """All epochs trained over the number of runs that reached the target; None if none did."""
        reached = sum(run.reached for run in self.runs)
        return sum(run.epochs_trained for run in self.runs) / reached if reached else None


def folder(root: Path | None = None) -> Path:
    """The folder of the points."""
    return rules_folder(root) / "reference_points"


def load_points(workload: str, root: Path | None = None) -> tuple[ReferencePoint, ...]:
    """The workload's points; empty if there are none. Raises FileError when the file is malformed."""
    path = folder(root) / f"{workload}.json"
    if not path.is_file():
        return ()
    values = read_json(path)
    try:
        if values["schema"] not in READABLE_SCHEMAS:
            raise ValueError(f"schema {values['schema']!r}")
        return tuple(_point(workload, point, values["schema"]) for point in values["points"])
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(path, f"holds no reference points ({error}); make them again with `suite reference-points make`") from error


def _point(workload: str, values: dict[str, Any], schema: int) -> ReferencePoint:
    runs = tuple(ReferenceRun(**(_as_current(run) if schema == 1 else run)) for run in values["runs"])
    return ReferencePoint(workload, values["batch_size"], values["base_learning_rate"], values["eval_every_epochs"], runs)


def _as_current(run: dict[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in run.items() if key != "epochs_to_target"}, "epochs_trained": run["epochs_to_target"], "reached": True}


def write_points(points: Sequence[ReferencePoint], root: Path | None = None) -> tuple[Path, ...]:
    """Write each workload's points; they replace earlier ones with the same batch size and learning rate. Returns the files."""
    written = []
    for workload in sorted({point.workload for point in points}):
        new = {(point.batch_size, point.base_learning_rate): point for point in points if point.workload == workload}
        kept = {(point.batch_size, point.base_learning_rate): point for point in load_points(workload, root)}
        merged = [point for _, point in sorted({**kept, **new}.items())]
        path = folder(root) / f"{workload}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = [{key: value for key, value in asdict(point).items() if key != "workload"} for point in merged]
        write_json(path, {"schema": SCHEMA, "workload": workload, "points": json.loads(json.dumps(plain))})
        written.append(path)
    return tuple(written)
