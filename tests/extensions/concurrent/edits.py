"""Edits of an experiment's folder (suite.extensions.concurrent.record.layout)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.bundle.manifest import seal
from suite.extensions.concurrent.record.layout import FIGURES, MEASUREMENT
from suite.extensions.concurrent.record.records import TRACE
from tests.extensions.concurrent.good_folder import make_experiment, make_experiment_of_trace
from tests.faults.edits.fault import Fault, Scope, edit
from tests.faults.edits.file_edits import change_json

EXPERIMENT = Scope("experiment", make_experiment)
EXPERIMENT_OF_TRACE = Scope("experiment of a trace", make_experiment_of_trace)
MEASURED = "beside-b4"
"""The measurement of both sides in the good experiment."""


@edit
def change_figures(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the content of beside.json in place."""
    change_json(folder / FIGURES, change)


@edit
def change_setting(folder: Path, /, name: str, **values: Any) -> None:
    """Set values of one measurement's setting."""
    change_json(folder / name / MEASUREMENT, lambda content: content.update(values))


@edit
def lose(folder: Path, name: str) -> None:
    """Remove a file."""
    (folder / name).unlink()


@edit
def move_batch(folder: Path, batch: int, column: str, by_ns: int) -> None:
    """Move one time of one batch."""
    path = folder / MEASURED / "batches.csv"
    rows = [line.split(",") for line in path.read_text(encoding="ascii").splitlines()]
    place = rows[0].index(column)
    rows[batch + 1][place] = str(int(rows[batch + 1][place]) + by_ns)
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="ascii")


@edit
def hasten_image(folder: Path, name: str) -> None:
    """Let the second image of a trace arrive with the first one."""
    path = folder / name / TRACE
    heading, first, _, *others = path.read_text(encoding="ascii").splitlines()
    path.write_text(
        "".join(f"{line}\n" for line in (heading, first, first, *others)), encoding="ascii"
    )


@edit
def move_steps(folder: Path, by_ns: int) -> None:
    """Move every training step."""
    path = folder / MEASURED / "training" / "step_times.csv"
    heading, *rows = path.read_text(encoding="ascii").splitlines()
    moved = [
        (int(start) + by_ns, int(end) + by_ns, samples)
        for start, end, samples in (row.split(",") for row in rows)
    ]
    path.write_text(
        heading + "\n" + "".join(f"{start},{end},{samples}\n" for start, end, samples in moved),
        encoding="ascii",
    )


def of_experiment(name: str, change: Callable[[Path], object], scope: Scope = EXPERIMENT) -> Fault:
    """A change of an experiment's folder."""
    return Fault(name, change, scope)


def resealed(name: str, change: Callable[[Path], object], scope: Scope = EXPERIMENT) -> Fault:
    """The change, with a manifest that fits."""

    def apply(folder: Path) -> None:
        change(folder)
        seal(folder)

    return of_experiment(f"{name} [manifest fits]", apply, scope)
