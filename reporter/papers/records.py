"""Records of extensions that items of papers are drawn from, beside bundles of training."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from reporter.data.discovery import declarations
from reporter.figures.model import Missing, PaperFigure
from reporter.papers.measures import ComparedCell, FoundValue, Unknown
from suite.catalog.extensions import ExtensionPart
from suite.catalog.papers import Item, Measure
from suite.metrics.sealed_record import SealedRecord

Record = TypeVar("Record")


@dataclass(frozen=True)
class RecordKind:
    """What an extension declares as PAPER_RECORD. ``name`` is the kind of runs in papers.toml.

    ``read`` finds the record in folders, None where there is none; ``draw`` returns the figure and
    its caption, ``measure`` what is held against a published value, ``cells`` the cells of a
    published table beside its own.
    """

    name: str
    read: Callable[[Sequence[Path]], Any]
    draw: Callable[[Item, Any], tuple[PaperFigure, str] | Missing]
    measure: Callable[[Measure, Any], FoundValue | Unknown]
    cells: Callable[[Item], Iterable[ComparedCell]] = lambda item: ()


@cache
def record_kinds() -> dict[str, RecordKind]:
    """Every kind, by name."""
    found = declarations(None, ExtensionPart.FIGURES, "PAPER_RECORD", RecordKind)
    return {kind.name: kind for kind in found}


def first_sealed(
    form: SealedRecord, read: Callable[[Path], Record], folders: Sequence[Path]
) -> Record | None:
    """The first of these folders' records of a form, whose seal must be intact."""
    found = next((folder for folder in folders if (folder / form.file).is_file()), None)
    if found is None:
        return None
    form.refuse_broken(found)
    return read(found)
