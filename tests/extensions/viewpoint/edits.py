"""Edits of the folder of a student and its teacher (suite.extensions.viewpoint.record.records)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite.bundle.manifest import seal
from suite.extensions.viewpoint.record.results import close
from tests.extensions.viewpoint.good_folder import make_viewpoint
from tests.faults.edits.fault import Fault, Scope, edit
from tests.faults.edits.file_edits import change_json

VIEWPOINT = Scope("viewpoint", make_viewpoint)


@edit
def change_record(folder: Path, name: str, change: Callable[[Any], object]) -> None:
    """Change the content of a JSON file in place."""
    change_json(folder / name, change)


@edit
def change_row(folder: Path, name: str, row: int, column: str, value: object) -> None:
    """Set one value of a table."""
    lines = [line.split(",") for line in (folder / name).read_text(encoding="ascii").splitlines()]
    lines[row + 1][lines[0].index(column)] = str(value)
    (folder / name).write_text("".join(",".join(line) + "\n" for line in lines), encoding="ascii")


@edit
def lose_rows(folder: Path, name: str, first: int) -> None:
    """Remove the rows of a table from ``first`` on."""
    lines = (folder / name).read_text(encoding="ascii").splitlines(keepends=True)
    (folder / name).write_text("".join(lines[: first + 1]), encoding="ascii")


def of_viewpoint(name: str, change: Callable[[Path], object]) -> Fault:
    """A change of the folder of a student and its teacher."""
    return Fault(name, change, VIEWPOINT)


def resealed(name: str, change: Callable[[Path], object]) -> Fault:
    """The change, with a manifest that fits."""

    def apply(folder: Path) -> None:
        change(folder)
        seal(folder)

    return of_viewpoint(f"{name} [manifest fits]", apply)


def recomputed(name: str, change: Callable[[Path], object]) -> Fault:
    """The change, with figures and a manifest that fit."""

    def apply(folder: Path) -> None:
        change(folder)
        close(folder)

    return of_viewpoint(f"{name} [everything recomputed]", apply)
