"""Reference points, ``rules/reference_points/<workload>.json``: in how many epochs our own runs reached the target."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from suite.bundle import MANIFEST, Bundle, BundleError, read_json, write_json
from suite.convergence import Comparison, compare
from suite.digest import sha256
from suite.errors import SuiteError
from suite.paths import repository_root
from suite.summary import target_figures

SCHEMA = 1


@dataclass(frozen=True)
class ReferenceRun:
    """A run that a point stands on; ``manifest`` is the SHA-256 of its bundle's manifest."""

    run_id: str
    framework: str
    seed: int
    epochs_to_target: int
    manifest: str


@dataclass(frozen=True)
class ReferencePoint:
    """The closed runs of a workload at one batch size and learning rate."""

    workload: str
    batch_size: int
    base_learning_rate: float
    eval_every_epochs: int
    runs: tuple[ReferenceRun, ...]

    @property
    def epochs(self) -> tuple[int, ...]:
        """What each run took."""
        return tuple(run.epochs_to_target for run in self.runs)


def folder(root: Path | None = None) -> Path:
    """Where the points are."""
    return (root or repository_root()) / "rules" / "reference_points"


def load_points(workload: str, root: Path | None = None) -> tuple[ReferencePoint, ...]:
    """The workload's points; none when nobody has made any."""
    path = folder(root) / f"{workload}.json"
    if not path.is_file():
        return ()
    values = read_json(path)
    try:
        if values["schema"] != SCHEMA:
            raise ValueError(f"schema {values['schema']!r}")
        return tuple(_point(workload, point) for point in values["points"])
    except (KeyError, TypeError, ValueError) as error:
        raise BundleError(path, f"holds no reference points ({error}); make them again with `suite reference-points make`") from error


def _point(workload: str, values: dict[str, Any]) -> ReferencePoint:
    runs = tuple(ReferenceRun(**run) for run in values["runs"])
    return ReferencePoint(workload, values["batch_size"], values["base_learning_rate"], values["eval_every_epochs"], runs)


def make_points(bundles: Sequence[Path]) -> tuple[ReferencePoint, ...]:
    """Points from sealed closed runs that reached their target, by workload, batch size and learning rate.

    Raises SuiteError naming a run that cannot be part of one: leaving out those that did not converge would flatter the rest.
    """
    found: dict[tuple[str, int, float, int], list[ReferenceRun]] = {}
    for path in bundles:
        key, reference = _reference_run(path)
        found.setdefault(key, []).append(reference)
    return tuple(ReferencePoint(*key, tuple(sorted(runs, key=lambda run: (run.framework, run.seed)))) for key, runs in sorted(found.items()))


def _reference_run(path: Path) -> tuple[tuple[str, int, float, int], ReferenceRun]:
    bundle = Bundle(path)
    run = bundle.run()
    request, epochs = run.request, target_figures(bundle.log())["epochs_to_target"].value
    if request["division"] != "closed" or not bundle.is_sealed or epochs is None:
        raise SuiteError(f"{path} is no sealed closed run that reached its target; a reference point is made of nothing else, and of all runs made.")
    key = (request["workload"], request["global_batch_size"], request["optimizer"]["base_learning_rate"], request["eval_every_epochs"])
    return key, ReferenceRun(run.run_id, request["framework"], request["seed"], int(epochs), sha256(bundle.file(MANIFEST)))


def compare_runs(bundles: Sequence[Path], root: Path | None = None) -> tuple[ReferencePoint, tuple[int, ...], Comparison]:
    """The point that runs are held against, what they took, and the test; raises SuiteError when they are not of one kind or have no point."""
    own = make_points(bundles)
    if len(own) != 1:
        kinds = ", ".join(f"{point.workload} at batch size {point.batch_size} and rate {point.base_learning_rate:g}" for point in own) or "none"
        raise SuiteError(f"These runs are of {len(own)} kinds ({kinds}); compare one kind at a time.")
    (mine,) = own
    point = next((point for point in load_points(mine.workload, root) if replace(point, runs=mine.runs) == mine), None)
    if point is None:
        raise SuiteError(
            f"{mine.workload} has no reference point at batch size {mine.batch_size} and rate {mine.base_learning_rate:g}; "
            f"see `suite reference-points show {mine.workload}`."
        )
    return point, mine.epochs, compare(point.epochs, mine.epochs)


def write_points(points: Sequence[ReferencePoint], root: Path | None = None) -> tuple[Path, ...]:
    """Write each workload's points, over its earlier ones at the same batch size and rate."""
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
