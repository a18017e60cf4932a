"""Records of extensions that items of papers are drawn from, beside bundles of training."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reporter.data.discovery import declarations
from reporter.figures.model import Missing, PaperFigure
from reporter.papers.measures import Cell, Found, Unknown
from suite.catalog.extensions import Part
from suite.catalog.papers import Item, Measure


def _no_cells(item: Item) -> Iterator[Cell]:
    return iter(())


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
    measure: Callable[[Measure, Any], Found | Unknown]
    cells: Callable[[Item], Iterator[Cell]] = _no_cells


@cache
def record_kinds() -> dict[str, RecordKind]:
    """Every kind, by name."""
    found = declarations(None, Part.FIGURES, "PAPER_RECORD", RecordKind)
    return {kind.name: kind for kind in found}
