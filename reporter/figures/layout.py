"""Lays figures out: from panels to shapes, for a width and a font."""

from collections.abc import Callable, Mapping, Sequence

from reporter.figures.labels import LINE, shorten_text
from reporter.figures.look import DrawingLook, PanelCell
from reporter.figures.model import Keys, LegendEntry, Panel, Plane, Radar, Rows, Table
from reporter.figures.plane_layout import lay_plane, lay_radar
from reporter.figures.row_layout import lay_rows
from reporter.figures.svg import Canvas

LEGEND_LINE, SQUARE, NAME_IN, APART, INDENT = 18.0, 12.0, 17.0, 24.0, 6.0
"""Of a legend: height of a line, side of a square, from a square to its name, from a name to the
next square, and from the left edge."""
GAP = 13.0
"""Between panels of a paper."""
LABELS_OF_MANY, PLANES_OF_MANY = 200.0, 0.4
"""Of panels beside one another: the label column, and the height of their plots."""


def lay_out(panels: Sequence[Panel], look: DrawingLook, columns: int = 1) -> Canvas:
    """The panels as shapes, ``columns`` beside one another; a legend stands once."""
    canvas, shown = Canvas(look.width, has_tips=not look.is_folded), tuple[LegendEntry, ...]()
    for index in range(0, len(panels), columns):
        line = panels[index : index + columns]
        legend = line[0].legend if line[0].legend != shown else ()
        shown = line[0].legend or shown
        top = canvas.height + _head(canvas, line[0], legend, look, columns)
        cells = _cells(isinstance(line[0], Rows), look, columns, top)
        canvas.height = max(
            _LAY[type(panel)](canvas, panel, look, cell)
            for panel, cell in zip(line, cells, strict=False)
        )
    return canvas


def _cells(is_rows: bool, look: DrawingLook, columns: int, top: float) -> list[PanelCell]:
    """Where panels beside one another go: rows have one label column, planes have an axis each."""
    plane = look.plane * (PLANES_OF_MANY if columns > 1 else 1.0)
    if columns == 1:
        label = look.label if is_rows else look.axis
        return [PanelCell(INDENT * look.is_folded, look.width, top, label, plane)]
    begin = LABELS_OF_MANY + 10.0 if is_rows else 0.0
    width = (look.width - begin) / columns
    lefts = [begin + width * index for index in range(columns)]
    if not is_rows:
        return [PanelCell(left, left + width, top, 0.8 * look.axis, plane) for left in lefts]
    return [
        PanelCell(
            left if index else 0.0, left + width, top, 0.0 if index else LABELS_OF_MANY, plane
        )
        for index, left in enumerate(lefts)
    ]


def _head(
    canvas: Canvas, panel: Panel, legend: Sequence[LegendEntry], look: DrawingLook, columns: int
) -> float:
    """Draws a line's legend; returns the height above its plots."""
    is_plane, top = isinstance(panel, Plane), canvas.height
    begin = INDENT
    if not (look.is_paper or look.is_folded or isinstance(panel, Radar)):
        title = look.measure(panel.y_axis) if isinstance(panel, Plane) and columns == 1 else 0.0
        begin = max(look.label + 10.0, INDENT + title + APART)
    lines = _legend(canvas, legend, look, begin)
    if look.is_paper:
        return LEGEND_LINE * lines + (GAP if top else 0.0) + (LINE / 2 if is_plane else 4.0)
    if is_plane:
        has_own_line = look.is_folded or columns > 1
        return 22.0 + LEGEND_LINE * (lines + 1 if has_own_line else max(lines, 1))
    if isinstance(panel, Rows) and not panel.has_axis:
        return LEGEND_LINE * lines + 4.0
    return 16.0 + LEGEND_LINE * max(lines, 1)


def _legend(canvas: Canvas, names: Sequence[LegendEntry], look: DrawingLook, begin: float) -> int:
    """Draws a legend on as many lines as it needs; returns their number."""
    x, line, top = begin, 0, canvas.height + (2.0 if look.is_paper else 10.0)
    for each in names:
        name = shorten_text(each.name, look.measure, look.width - begin - NAME_IN)
        width = NAME_IN + look.measure(name)
        if x > begin and x + width > look.width:
            x, line = begin, line + 1
        y = top + LEGEND_LINE * line
        if each.is_mark:
            canvas.dot(x + SQUARE / 2, y + SQUARE / 2, each.style, radius=5)
        else:
            canvas.rect(x, y, x + SQUARE, y + SQUARE, each.style)
        canvas.text(x + NAME_IN, y + SQUARE - 1.5, name, "tick")
        x += width + APART
    return line + 1 if names else 0


def _lay_keys(canvas: Canvas, panel: Keys, look: DrawingLook, cell: PanelCell) -> float:
    """Writes what keys stand for, a line each."""
    for index, (key, meaning) in enumerate(panel.meanings):
        text = shorten_text(f"{key}  {meaning}", look.measure, look.width - 2 * INDENT)
        canvas.text(INDENT, cell.top + LINE * (index + 0.8), text, "key")
    return cell.top + LINE * len(panel.meanings)


def _lay_table(canvas: Canvas, panel: Table, look: DrawingLook, cell: PanelCell) -> float:
    """Writes a table as text in columns; the drawing becomes as wide as it needs."""
    lines = (panel.columns, *panel.rows)
    widths = [max(map(look.measure, column)) + LINE for column in zip(*lines, strict=True)]
    canvas.width = max(look.width, sum(widths))
    pitch, extra, right = 1.5 * LINE, (canvas.width - sum(widths)) / len(widths), 0.0
    for column, width in enumerate(widths):
        left, right = right, right + width + extra
        for row, line in enumerate(lines):
            y = cell.top + pitch * (row + 0.7)
            canvas.text(
                right if column else left, y, line[column], "name", "end" if column else "start"
            )
    for y, style in ((cell.top + pitch, "edge"), (cell.top + pitch * len(lines), "grid")):
        canvas.line(0.0, y, canvas.width, y, style)
    return cell.top + pitch * len(lines)


_LAY: Mapping[type, Callable[..., float]] = {
    Rows: lay_rows,
    Plane: lay_plane,
    Radar: lay_radar,
    Keys: _lay_keys,
    Table: _lay_table,
}
"""How each kind of panel is laid out in its cell; the functions return where it ends."""
