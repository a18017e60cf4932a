"""What is written in a drawn figure, with the boxes that its renderer measures."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from reporter.figures.labels import Box, overlaps_any

Text = tuple[str, Box, float]
"""A text with its box in pixels and its size in pt."""
TOLERANCE_PX = 1.5
"""At 300 dots per inch; a tenth of the smallest distance that somebody would see."""


def texts_of(drawn: Any) -> list[Text]:
    """Every text with its box in pixels and its size in pt."""
    import matplotlib.text

    renderer = drawn.canvas.get_renderer()
    return [
        (text.get_text(), _box(text.get_window_extent(renderer)), float(text.get_fontsize()))
        for text in drawn.findobj(matplotlib.text.Text)
        if text.get_text().strip()
    ]


def _box(extent: Any) -> Box:
    return float(extent.x0), float(extent.y0), float(extent.x1), float(extent.y1)


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
        if overlaps_any(box, [of_other])
    ]


def outside(drawn: Any, texts: Sequence[Text]) -> list[str]:
    """Texts that the figure's edge cuts."""
    width, height = drawn.bbox.size
    return [
        text
        for text, box, _ in texts
        if box[0] < -TOLERANCE_PX
        or box[1] < -TOLERANCE_PX
        or box[2] > width + TOLERANCE_PX
        or box[3] > height + TOLERANCE_PX
    ]
