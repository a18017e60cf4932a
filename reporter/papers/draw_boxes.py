"""Distributions: a mark per value, a box between the quartiles, a line at the median."""

import statistics
from collections.abc import Callable
from typing import Any

from reporter.papers.canvas import (
    PT_PER_IN,
    Canvas,
    bar_style,
    logarithmic_ticks,
    plain_ticks,
    spans_decade,
)
from reporter.papers.draw_bars import LABEL_SHARE, write_headings
from reporter.papers.model import Box, Boxes
from reporter.papers.style import COLOURS, INK, Look

ROW_IN, LINE_IN, AXIS_IN = 0.19, 0.09, 0.36
SCATTER = (-0.24, 0.12, -0.06, 0.24, -0.18, 0.06, 0.18, -0.12, 0.0)
"""Vertical places of marks in turn, so that equal values do not hide one another."""


def boxes_height_in(panel: Boxes, look: Look) -> float:
    """The height of the panel: its rows, headings and axis."""
    labels = [box.label for _, boxes in panel.groups for box in boxes]
    two_lines = any(
        len(label) * look.small_pt * 0.52 / PT_PER_IN > look.width_in * LABEL_SHARE
        for label in labels
    )
    rows, headings = len(labels), sum(bool(heading) for heading, _ in panel.groups)
    return (
        look.size_pt / 7.5 * (rows * (ROW_IN + LINE_IN * two_lines) + headings * ROW_IN + AXIS_IN)
    )


def draw_boxes(canvas: Canvas, axes: Any, panel: Boxes) -> Callable[[], None]:
    """Draws the panel; the returned function writes the headings."""
    rows: list[tuple[Box, float]] = []
    headings, y = [], 0.0
    for heading, boxes in panel.groups:
        if heading:
            headings.append((heading, y - 0.05))
            y += 0.95
        for box in boxes:
            rows.append((box, y))
            y += 1.0
    for box, place in rows:
        _draw_box(axes, box, place)
    axes.set_ylim(y - 0.4, -0.6)
    axes.set_yticks(
        [place for _, place in rows],
        [canvas.wrapped(box.label, canvas.look.width_in * LABEL_SHARE) for box, _ in rows],
        linespacing=0.95,
    )
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(panel.axis)
    axes.grid(axis="x")
    values = [value for box, _ in rows for value in box.values]
    margin = 0.04 * (max(values) - min(values)) or 0.1 * abs(max(values)) or 1.0
    if spans_decade(values):
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 1.3, max(values) * 1.3)
        logarithmic_ticks(axes.xaxis, min(values) / 1.3, max(values) * 1.3)
    else:
        axes.set_xlim(min(values) - margin, max(values) + margin)
        plain_ticks(axes.xaxis, 5)
    return lambda: write_headings(canvas, axes, headings)


def _draw_box(axes: Any, box: Box, y: float) -> None:
    low, middle, high = statistics.quantiles(box.values, n=4, method="inclusive")
    axes.barh(
        y, high - low, left=low, height=0.62, zorder=2, **{**bar_style(box.style), "alpha": 0.5}
    )
    axes.plot([middle, middle], [y - 0.36, y + 0.36], color=INK, linewidth=1.2, zorder=4)
    places = [y + SCATTER[index % len(SCATTER)] for index in range(len(box.values))]
    axes.plot(
        box.values,
        places,
        linestyle="none",
        marker=".",
        markersize=2.6,
        markerfacecolor=COLOURS[box.style % len(COLOURS)],
        markeredgecolor=INK,
        markeredgewidth=0.25,
        zorder=3,
    )
