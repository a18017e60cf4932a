"""Reference points, ``rules/reference_points/<workload>.json``: the epochs of every reference run,
and whether it reached the target.

A round freezes points by their digests (``reference_points`` in rules/rounds). A frozen point stays
in the file for ever; a later round may freeze another one of the same batch size and learning rate.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reference_impls.contract import LOCAL, SYNCHRONISED
from suite.catalog.rounds import Round, load_rounds
from suite.catalog.workloads import Workload
from suite.errors import FileError
from suite.files.canonical import canonical_json, sha256_of_text
from suite.files.json_file import read_json, write_json
from suite.files.paths import rules_folder
from suite.files.schema import from_plain

SCHEMA = 3
# 1: every run reached its target; before 3: every run had one rank
READABLE_SCHEMAS = (1, 2, SCHEMA)


@dataclass(frozen=True)
class ReferenceRun:
    """A run of a reference point; ``manifest`` is the SHA-256 of its bundle's manifest.

    A run that did not reach the target trained all epochs of its workload: its epochs to target are
    censored.
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
    """The closed runs of a workload with one batch size and learning rate.

    ``local_batch_size`` is the number of samples over which a rank normalises: its own of a
    mini-batch, or all of them where the ranks synchronise their statistics; None for a workload
    whose model has no batch normalisation (Workload.normalisation_statistics).
    """

    workload: str
    batch_size: int
    base_learning_rate: float
    eval_every_epochs: int
    runs: tuple[ReferenceRun, ...]
    local_batch_size: int | None = None

    @property
    def setting(self) -> tuple[int, float, int]:
        """Batch size, learning rate and local batch size: what identifies a point among those of
        one round."""
        return self.batch_size, self.base_learning_rate, self.local_batch_size or 0

    @property
    def digest(self) -> str:
        """SHA-256 of the point's canonical JSON, by which a round freezes it."""
        return sha256_of_text(canonical_json(asdict(self)))

    @property
    def epochs(self) -> tuple[float, ...]:
        """Epochs to target of each run; infinite where the target was missed."""
        return tuple(run.epochs_to_target for run in self.runs)

    @property
    def expected_epochs(self) -> float | None:
        """All epochs trained over the number of runs that reached the target; None if none did."""
        reached = sum(run.reached for run in self.runs)
        return sum(run.epochs_trained for run in self.runs) / reached if reached else None


def local_batch_size(
    workload: Workload, batch_size: int, ranks: int, normalisation: str
) -> int | None:
    """Samples over which a rank normalises, the most where ranks differ; None for a workload whose
    convergence does not depend on it.

    ``normalisation`` is that of contract.Parallel: ranks that synchronise their statistics compute
    what one rank computes.
    """
    if not workload.normalisation_statistics:
        return None
    return batch_size if normalisation == SYNCHRONISED else -(-batch_size // ranks)


def setting_of(request: Mapping[str, Any], of_round: Round) -> tuple[int, float, int]:
    """The setting of a run of this round, by its request, as that of a point."""
    batch_size, parallel = int(request["global_batch_size"]), request["parallel"]
    local = local_batch_size(
        of_round.workload(str(request["workload"])),
        batch_size,
        int(parallel["ranks"]),
        str(parallel.get("normalisation", LOCAL)),
    )
    return batch_size, float(request["optimizer"]["base_learning_rate"]), local or 0


def reference_points_folder(root: Path | None = None) -> Path:
    """The folder of the points."""
    return rules_folder(root) / "reference_points"


def load_points(workload: str, root: Path | None = None) -> tuple[ReferencePoint, ...]:
    """The workload's points, frozen or not; empty if there are none. Raises FileError when the file
    is malformed."""
    path = reference_points_folder(root) / f"{workload}.json"
    if not path.is_file():
        return ()
    values = read_json(path)
    try:
        if values["schema"] not in READABLE_SCHEMAS:
            raise ValueError(f"schema {values['schema']!r}")
        if values["schema"] == 1:
            for run in (run for point in values["points"] for run in point["runs"]):
                run.update(epochs_trained=run.pop("epochs_to_target"), reached=True)
        return tuple(
            from_plain({"workload": workload, **point}, ReferencePoint, "")
            for point in values["points"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            path,
            f"holds no reference points ({error}); make them again with `suite reference-points"
            " make`",
        ) from error


def frozen_points(
    of_round: Round, workload: str, root: Path | None = None
) -> tuple[ReferencePoint, ...]:
    """The points of a workload that a round has frozen, by batch size."""
    return tuple(
        sorted(
            (
                point
                for point in load_points(workload, root)
                if point.digest in of_round.reference_points
            ),
            key=lambda each: each.setting,
        )
    )


def newest_points(workload: str, root: Path | None = None) -> tuple[ReferencePoint, ...]:
    """The last point of each setting: what the next round will freeze."""
    newest = {point.setting: point for point in load_points(workload, root)}
    return tuple(newest[setting] for setting in sorted(newest))


def write_points(points: Sequence[ReferencePoint], root: Path | None = None) -> tuple[Path, ...]:
    """Write each workload's points. They replace earlier ones of the same setting, unless a round
    has frozen these. Returns the files."""
    frozen = {digest for each in load_rounds(root) for digest in each.reference_points}
    written = []
    for workload in sorted({point.workload for point in points}):
        new = [point for point in points if point.workload == workload]
        settings = {point.setting for point in new}
        kept = [
            point
            for point in load_points(workload, root)
            if point.setting not in settings or point.digest in frozen
        ]
        merged = sorted(
            {point.digest: point for point in (*kept, *new)}.values(),
            key=lambda point: point.setting,
        )
        path = reference_points_folder(root) / f"{workload}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = [
            {key: value for key, value in asdict(point).items() if key != "workload"}
            for point in merged
        ]
        write_json(
            path, {"schema": SCHEMA, "workload": workload, "points": json.loads(json.dumps(plain))}
        )
        written.append(path)
    return tuple(written)
