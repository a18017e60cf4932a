"""Tables as text in columns."""

from collections.abc import Callable
from typing import Any

from reporter.papers.canvas import PT_PER_IN, Canvas
from reporter.papers.model import Table
from reporter.papers.style import GRID, INK, Look

ROW_SPACING = 1.5
LETTER_WIDTH = 0.62
"""Of a letter, in font sizes: the widest common one of the default font."""


def table_height_in(panel: Table, look: Look) -> float:
    """The height of the panel: a line per row."""
    return (len(panel.rows) + 1) * _size_pt(panel, look) * ROW_SPACING / PT_PER_IN + 0.05


def draw_table(canvas: Canvas, axes: Any, panel: Table) -> Callable[[], None]:
    """Draws the panel; nothing is left for later."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    lines = (panel.columns, *panel.rows)
    axes.set_ylim(len(lines), 0)
    widths, total = _widths(panel), sum(_widths(panel))
    size_pt = _size_pt(panel, canvas.look)
    left = 0.0
    for column, width in enumerate(widths):
        share = width / total
        for row, line in enumerate(lines):
            place = left if column == 0 else left + share - 0.01
            axes.text(
                place,
                row + 0.5,
                line[column],
                ha="left" if column == 0 else "right",
                va="center",
                fontsize=size_pt,
                color=INK,
            )
        left += share
    axes.axhline(1, color=INK, linewidth=0.6)
    axes.axhline(len(lines), color=GRID, linewidth=0.5)
    return lambda: None


def _widths(panel: Table) -> list[int]:
    """Letters of the widest cell of each column, and the gap."""
    return [
        max(len(line[column]) for line in (panel.columns, *panel.rows)) + 2
        for column in range(len(panel.columns))
    ]


def _size_pt(panel: Table, look: Look) -> float:
    """The font size at which the widest cells fit beside each other, at most that of small text."""
    return min(look.small_pt, look.width_in * PT_PER_IN / (sum(_widths(panel)) * LETTER_WIDTH))
