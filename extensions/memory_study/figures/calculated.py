"""Tables I to III and Figure 1 of Kukreja et al. (PAISE 2019), calculated from the layers."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from reporter.figures.for_papers import lines_panel
from reporter.figures.model import Line, PaperFigure, Plane, Table, line_through
from reporter.figures.scales import linear_scale_without_zero
from reporter.papers.measures import ComparedCell, FoundValue
from suite.catalog.papers import Item, Measure
from suite.extensions.memory_study.record.paper_tables import (
    LIMIT,
    Cell,
    PublishedTable,
    Terms,
    cells,
    published,
    terms,
)
from suite.memory.network import load_network
from suite.memory.schedulers import revolve_forwards

WORD_BYTES, GIB, MIB = 4, 2**30, 2**20
PANELS = {
    "memory-1a": (224, 1),
    "memory-1b": (224, 8),
    "memory-1c": (500, 1),
    "memory-1d": (500, 8),
}
"""Width of the pictures and mini-batch of each panel of the study's Figure 1."""

MEMORY_TABLES = {"memory-table-1": "I", "memory-table-2": "II", "memory-table-3": "III"}
MAX_FACTOR, STEPS = 3.0, 41


def draw(item: Item) -> PaperFigure:
    """The table or panel of an item."""
    return _recomputation(*PANELS[item.id]) if item.id in PANELS else _memory_table(item)


def measure(wanted: Measure, study: object) -> FoundValue:
    """What is calculated of pictures and mini-batch; no measurement has a part in it."""
    image, batch = wanted.image or 0, wanted.batch or 0
    if wanted.measure == "least-factor":
        return FoundValue(least_factor(image, batch), of="calculated")
    value = (
        highest_gib(image, batch)
        if wanted.measure == "highest-gib"
        else memory_bytes(18, image, batch, 1.0) / GIB
    )
    return FoundValue(value, of="calculated")


def compared_cells(item: Item) -> Iterator[ComparedCell]:
    """The cells of a published table beside the calculated ones."""
    for cell in memory_cells(item):
        name = f"ResNet-{cell.depth}, {cell.batch_size} pictures of {cell.image}x{cell.image}"
        agrees = abs(cell.deviation) <= LIMIT
        yield ComparedCell(name, f"{cell.published:.2f}", f"{cell.calculated:.2f}", agrees)


def memory_cells(item: Item) -> list[Cell]:
    """The cells of a table of the memory study, published and calculated; empty for another
    item."""
    return [cell for cell in _memory_cells() if cell.table == MEMORY_TABLES.get(item.id)]


def memory_table(item: Item) -> PublishedTable:
    """The published table of an item of the memory study."""
    return next(table for table in published().tables if table.name == MEMORY_TABLES[item.id])


_memory_cells = cache(cells)


def _memory_table(item: Item) -> PaperFigure:
    found, depths = memory_cells(item), published().depths
    by_batch = len({cell.batch_size for cell in found}) > 1
    rows: dict[int, list[Cell]] = {}
    for cell in found:
        rows.setdefault(cell.batch_size if by_batch else cell.image, []).append(cell)
    lines = []
    for value, of_row in sorted(rows.items()):
        ordered = sorted(of_row, key=lambda cell: depths.index(cell.depth))
        lines.append((f"{value}", *(f"{cell.calculated:.2f}" for cell in ordered)))
    unit = "GiB" if item.id == "memory-table-3" else "MiB"
    columns = ("mini-batch" if by_batch else "picture", *(f"ResNet-{depth}" for depth in depths))
    worst = max(abs(cell.deviation) for cell in found)
    return _only(
        Table(columns, tuple(lines)),
        f"{item.title}, {unit}. Largest deviation from the published cells: {worst:.2%} (limit"
        f" {LIMIT:.0%}).",
    )


def memory_bytes(depth: int, image: int, batch: int, factor: float) -> float:
    """Least memory of the homogeneous chain of a ResNet whose time is at most ``factor`` times that
    without recomputation.

    Weights as in the study's tables, activations of all layers shared out evenly over ``depth``; a
    forward pass takes as long as a backward pass.
    """
    counted = _terms(depth, image)
    activations = batch * (2 * counted.outputs - counted.left_out) * WORD_BYTES / depth
    slots = next(
        (
            slots
            for slots in range(1, depth)
            if revolve_forwards(depth, slots) + depth <= 2 * factor * depth
        ),
        depth,
    )
    return counted.parameters * WORD_BYTES + slots * activations


@cache
def _terms(depth: int, image: int) -> Terms:
    return terms(load_network(f"resnet{depth}"), image)


def highest_gib(image: int, batch: int, factor: float = 1.0) -> float:
    """The highest memory of the study's networks, GiB."""
    return max(memory_bytes(depth, image, batch, factor) for depth in published().depths) / GIB


def least_factor(image: int, batch: int, limit_gib: float = 2.0) -> float:
    """The least recompute factor, to a hundredth, at which all of the study's networks fit;
    infinite above MAX_FACTOR."""
    factors = (1 + step / 100 for step in range(round((MAX_FACTOR - 1) * 100) + 1))
    return next(
        (factor for factor in factors if highest_gib(image, batch, factor) <= limit_gib),
        float("inf"),
    )


def _recomputation(image: int, batch: int) -> PaperFigure:
    factors = [1 + (MAX_FACTOR - 1) * step / (STEPS - 1) for step in range(STEPS)]
    lines = [line_through([(1.0, 2048.0), (MAX_FACTOR, 2048.0)], "join")]
    for style, depth in enumerate(published().depths):
        points = [(factor, memory_bytes(depth, image, batch, factor) / MIB) for factor in factors]
        lines.append(line_of(depth, style, points))
    panel = lines_panel(("recompute factor", "memory, MiB"), lines, linear_scale_without_zero)
    about = (
        "Memory of weights and activations of homogeneous chains (equal layers, as many as the"
        " network has), with Revolve's schedules. Thin line: 2 GiB."
    )
    return _only(panel, about)


def line_of(depth: int, style: int, points: Iterable[tuple[float, float]]) -> Line:
    """The line of a network."""
    return replace(line_through(points, f"l{style} curve"), label=f"ResNet-{depth}")


def _only(panel: Table | Plane, about: str) -> PaperFigure:
    return PaperFigure((panel,), (), about, "")
