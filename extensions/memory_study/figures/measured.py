"""Tables I to III and Figure 1 of Kukreja et al. (PAISE 2019): the paper's model, and beside it
what a study of memory measured."""

from collections.abc import Iterator, Mapping
from functools import partial

from reporter.figures.for_papers import lines_panel
from reporter.figures.model import Line, Missing, PaperFigure, Table
from reporter.figures.scales import linear_scale_without_zero
from reporter.papers.records import RecordKind, first_sealed
from suite.catalog.papers import Item
from suite.extensions.memory_study.figures import calculated
from suite.extensions.memory_study.record.paper_tables import published
from suite.extensions.memory_study.record.study_file import (
    MEMORY_STUDY,
    Measurement,
    MemoryStudy,
    read_memory_study,
)

ORDINARY = 1.0
"""Planned recompute factor of training that keeps everything."""


def draw(item: Item, study: MemoryStudy) -> PaperFigure | Missing:
    """The calculated table or panel, with the highest resident sets that the study measured at the
    same picture and mini-batch."""
    figure = calculated.draw(item)
    (panel,) = figure.panels
    if isinstance(panel, Table):
        return _table(figure, panel, item, study)
    measured = _lines(item, study)
    if not measured:
        return Missing(
            "the study measured no recompute factor at this picture size and mini-batch size"
        )
    axes = ("recompute factor, measured", "highest resident set, MiB")
    second = lines_panel(axes, measured, linear_scale_without_zero)
    about = (
        f"{figure.about} The panel below was measured in PyTorch with one thread; its memory"
        f" includes the framework's {study.framework_bytes / calculated.MIB:.0f} MiB. The factor"
        " is the CPU time of a step divided by that of a step without recomputation."
    )
    return PaperFigure((panel, second), (), about, "none, because every point is one process")


def _lines(item: Item, study: MemoryStudy) -> list[Line]:
    by_network: dict[str, list[Measurement]] = {}
    for panel in study.panels:
        if (panel.image, panel.batch) == calculated.PANELS[item.id]:
            for one in panel.measured:
                by_network.setdefault(one.network, []).append(one)
    lines = []
    for style, depth in enumerate(published().depths):
        found = sorted(
            (one.factor, one.measured_bytes / calculated.MIB)
            for one in by_network.get(f"resnet{depth}", ())
            if one.factor is not None
        )
        if found:
            lines.append(calculated.line_of(depth, style, found))
    return lines


def _table(
    figure: PaperFigure, panel: Table, item: Item, study: MemoryStudy
) -> PaperFigure | Missing:
    """A row of measured values below each calculated one that has any: highest resident set without
    recomputation, less the framework's own."""
    measured = _ordinary(study)
    rows, count = [], 0
    for row in panel.rows:
        rows.append((row[0], "calculated", *row[1:]))
        found = tuple(_cells(item, int(row[0]), measured, study.framework_bytes))
        if any(found):
            rows.append((row[0], "measured", *found))
            count += sum(map(bool, found))
    if not count:
        return Missing(
            "the study measured no network at this table's picture sizes and mini-batch sizes"
        )
    columns = (panel.columns[0], "how", *panel.columns[1:])
    about = (
        f"{figure.about} Measured ({count} cells): highest resident set of a process of PyTorch"
        " without recomputation, minus the framework's own"
        f" {study.framework_bytes / calculated.MIB:.0f} MiB; SGD with momentum."
    )
    return PaperFigure((Table(columns, tuple(rows)),), (), about, "")


def _cells(
    item: Item, row: int, measured: Mapping[tuple[str, int, int], int], framework_bytes: int
) -> Iterator[str]:
    table = calculated.memory_table(item)
    batch, image = (row, table.image or row) if table.varies == "batch" else (table.batch or 1, row)
    for depth in published().depths:
        size = measured.get((f"resnet{depth}", image, batch))
        yield "" if size is None else f"{(size - framework_bytes) / table.unit_bytes:.2f}"


def _ordinary(study: MemoryStudy) -> dict[tuple[str, int, int], int]:
    """Highest resident sets without recomputation, by network, picture and mini-batch."""
    return {
        (one.network, panel.image, panel.batch): one.measured_bytes
        for panel in study.panels
        for one in panel.measured
        if one.planned_factor == ORDINARY
    }


def _with_caption(item: Item, study: MemoryStudy) -> tuple[PaperFigure, str] | Missing:
    found = draw(item, study)
    return found if isinstance(found, Missing) else (found, f"{item.title}.\n{found.about}\n")


PAPER_RECORD = RecordKind(
    "memory",
    partial(first_sealed, MEMORY_STUDY, read_memory_study),
    _with_caption,
    calculated.measure,
    calculated.compared_cells,
)
