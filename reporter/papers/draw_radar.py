"""Polygons on several axes."""

import math
from collections.abc import Callable
from typing import Any

from reporter.papers.canvas import Canvas, legend_above, mark_style
from reporter.papers.model import Radar
from reporter.papers.style import COLOURS, DASHES, GRID, SOFT

RINGS = (0.25, 0.5, 0.75, 1.0)
PLACE = (0.27, 0.11, 0.46, 0.66)
"""Left, bottom, width and height of the circle, as shares of the figure; its labels stand around
it."""

LABEL_SHARE = 0.23


def draw_radar(canvas: Canvas, axes: Any, panel: Radar) -> Callable[[], None]:
    """Draws the panel; nothing is left for later."""
    count = len(panel.axes)
    angles = [2 * math.pi * index / count for index in range(count)]
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    for _, style, shares in panel.polygons:
        closed, values = [*angles, angles[0]], [*shares, shares[0]]
        dashes = {"dashes": DASHES[style % len(DASHES)]} if DASHES[style % len(DASHES)] else {}
        axes.plot(
            closed,
            values,
            color=COLOURS[style % len(COLOURS)],
            zorder=3,
            clip_on=False,
            **mark_style(style),
            **dashes,
        )
        axes.fill(closed, values, color=COLOURS[style % len(COLOURS)], alpha=0.08, linewidth=0)
    axes.set_ylim(0, 1.0)
    axes.set_yticks(RINGS, [f"{ring:g}" for ring in RINGS], color=SOFT)
    axes.set_rlabel_position(180 / count)
    axes.grid(color=GRID)
    axes.spines["polar"].set_color(GRID)
    axes.set_xticks(
        angles, [canvas.wrapped(name, canvas.look.width_in * LABEL_SHARE, 4) for name in panel.axes]
    )
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        sine = math.sin(angle)
        label.set_horizontalalignment(
            "center" if abs(sine) < 0.2 else "left" if sine > 0 else "right"
        )
    axes.tick_params(axis="x", pad=1.0)
    legend_above(canvas, axes, tuple((style, name) for name, style, _ in panel.polygons), "mark")
    legend = axes.get_legend()
    legend.set_bbox_to_anchor((0.0, 1.0), transform=canvas.figure.transFigure)
    legend.set_loc("upper left")
    axes.set_in_layout(False)
    axes.set_position(PLACE)
    return lambda: None
