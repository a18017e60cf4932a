"""Edits of a stall analysis's folder."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.bundle.layout import MANIFEST
from suite.bundle.stall_folder import RECORD, BatchSource
from suite.files.digest import sha256
from suite.metrics.stall_analysis import STALLS
from tests.builders import make_analysis
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, Scope, edit
from tests.faults.edits.file_edits import change_json

ANALYSIS = Scope("analysis", make_analysis, bundles=3)


def of_analysis(name: str, change: Callable[[Path], object]) -> Fault:
    """A change of a stall analysis's folder."""
    return Fault(name, change, ANALYSIS)


@edit
def change_record(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the content of stalls.json in place."""
    change_json(folder / RECORD, change)


@edit
def set_requested(folder: Path, /, source: BatchSource, **values: Any) -> None:
    """Set values of one run's request, its figures recomputed and its bundle sealed."""
    bundle = EditableBundle(folder / source.value)
    assert any(bundle.request[name] != value for name, value in values.items()), "no fault"
    bundle.request.update(values)
    bundle.save(recomputed=True)


@edit
def exchange(folder: Path, one: BatchSource, other: BatchSource) -> None:
    """Exchange two runs."""
    aside = folder / "aside"
    (folder / one.value).rename(aside)
    (folder / other.value).rename(folder / one.value)
    aside.rename(folder / other.value)


@edit
def copy_run(folder: Path, source: BatchSource, target: BatchSource) -> None:
    """Replace a run by a copy of another."""
    shutil.rmtree(folder / target.value)
    shutil.copytree(folder / source.value, folder / target.value)


@edit
def reseal(folder: Path, change: Callable[[Path], object]) -> None:
    """Apply a change, then write the runs' digests into the record, and a manifest that fits."""
    change(folder)

    def digests(content: Any) -> None:
        for source in BatchSource:
            content["runs"][source.value]["manifest_sha256"] = sha256(
                folder / source.value / MANIFEST
            )

    change_record(digests)(folder)
    STALLS.seal(folder)
