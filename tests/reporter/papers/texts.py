"""What is written in a drawn figure, with the boxes that its renderer measures."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from reporter.papers.canvas import Canvas
from reporter.papers.labels import Box, overlap

Text = tuple[str, Box, float]
"""A text with its box in pixels and its size in pt."""
TOLERANCE_PX = 1.5
"""At 300 dots per inch; a tenth of the smallest distance that somebody would see."""


def texts_of(canvas: Canvas) -> list[Text]:
    """Every visible text with its box in pixels and its size in pt."""
    import matplotlib.text

    with canvas.settings():
        canvas.figure.canvas.draw()
        found: list[Any] = [
            one
            for one in canvas.figure.findobj(matplotlib.text.Text)
            if one.get_visible() and one.get_text().strip()
        ]
        undrawn = {
            id(label)
            for axes in canvas.figure.axes
            for axis in (axes.xaxis, axes.yaxis)
            for label in _undrawn_labels(axis)
        }
        return [
            (one.get_text(), canvas.extent(one), float(one.get_fontsize()))
            for one in found
            if id(one) not in undrawn
        ]


def _undrawn_labels(axis: Any) -> list[Any]:
    """Tick labels that exist, but are not drawn: those outside the axis' limits."""
    low, high = sorted(axis.get_view_interval())
    ticks = [
        tick
        for tick in axis._update_ticks()
        if low * (1 - 1e-9) <= tick.get_loc() <= high * (1 + 1e-9)
    ]
    shown = {id(label) for tick in ticks for label in (tick.label1, tick.label2)}
    return [
        label
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
        if id(label) not in shown
    ]


def collisions(texts: Sequence[Text]) -> list[tuple[str, str]]:
    """Pairs of texts whose boxes overlap."""
    shrunk = [
        (
            text,
            (
                box[0] + TOLERANCE_PX,
                box[1] + TOLERANCE_PX,
                box[2] - TOLERANCE_PX,
                box[3] - TOLERANCE_PX,
            ),
        )
        for text, box, _ in texts
    ]
    return [
        (one, other)
        for (one, box), (other, of_other) in combinations(shrunk, 2)
        if overlap(box, of_other)
    ]


def outside(canvas: Canvas, texts: Sequence[Text]) -> list[str]:
    """Texts that the figure's edge cuts."""
    width, height = canvas.figure.bbox.size
    return [
        text
        for text, box, _ in texts
        if box[0] < -TOLERANCE_PX
        or box[1] < -TOLERANCE_PX
        or box[2] > width + TOLERANCE_PX
        or box[3] > height + TOLERANCE_PX
    ]
