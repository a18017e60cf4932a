"""Edits of a replication's folder (suite.bundle.replication_folder)."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.bundle.replication_folder import RECORD, run_folder
from suite.metrics.replication import REPLICATION
from tests.builders import make_replication
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, Scope, edit
from tests.faults.edits.file_edits import change_json
from tests.faults.edits.table_edits import halve_all_times

REPLICATION_SCOPE = Scope("replication", make_replication, bundles=3)


def of_replication(name: str, change: Callable[[Path], object]) -> Fault:
    """A change of a replication's folder."""
    return Fault(name, change, REPLICATION_SCOPE)


@edit
def change_replication(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the content of replication.json in place."""
    change_json(folder / RECORD, change)


@edit
def lose_run(folder: Path, number: int) -> None:
    """Remove a fresh run."""
    shutil.rmtree(run_folder(folder, number))


@edit
def copy_first_run(folder: Path, number: int) -> None:
    """Replace a fresh run by a copy of the first."""
    shutil.rmtree(run_folder(folder, number))
    shutil.copytree(run_folder(folder, 1), run_folder(folder, number))


@edit
def halve_fresh_times(folder: Path, number: int) -> None:
    """Halve all times of a fresh run, its figures recomputed and its bundle sealed."""
    bundle = EditableBundle(run_folder(folder, number))
    halve_all_times()(bundle)
    bundle.save(recomputed=True)


def resealed(name: str, change: Callable[[Path], object]) -> Fault:
    """The change, with a manifest that fits."""

    def apply(folder: Path) -> None:
        change(folder)
        REPLICATION.seal(folder)

    return of_replication(f"{name} [manifest fits]", apply)
