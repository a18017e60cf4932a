"""What a drawing is made for, and axes of panels."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from reporter.figures.labels import LINE, Measure, text_width, wrap_text
from reporter.figures.svg import Canvas

BASE, MARGIN = 4.5, 6.0
"""From the centre of a line of text to its base; left and right of everything."""
TICK_GAP, TICK_DOWN, TITLE_DOWN, AXIS_HEIGHT = 4.0, 18.0, 38.0, 44.0
"""Between numbers of an axis; from the plot to their base line, to that of the axis' title, and to
the end of the axis."""


@dataclass(frozen=True)
class DrawingLook:
    """What a drawing is made for. Lengths are units, in which text is 13 high.

    ``label`` is the most that a row's label takes, ``margin`` what is kept free to the right of
    rows, ``axis`` what the numbers of a vertical axis take; ``row`` is the height of a row,
    ``plane`` that of a plane's plot. ``is_folded``: a row's label stands above its bar.
    ``is_paper``: edges of plots are drawn, titles of vertical axes are turned, and labels take what
    they need.
    """

    width: float
    measure: Measure = text_width
    label: float = 260.0
    margin: float = 70.0
    axis: float = 70.0
    row: float = 34.0
    plane: float = 302.0
    is_folded: bool = False
    is_paper: bool = False


WIDE = DrawingLook(900.0)
NARROW = DrawingLook(380.0, label=350.0, margin=12.0, axis=46.0, row=30.0, is_folded=True)
"""For a phone: text keeps its size and nobody scrolls sideways."""


@dataclass(frozen=True)
class PanelCell:
    """Where a panel goes: its ``label`` column (rows) or the numbers of its vertical axis begin at
    ``left``; ``height`` is that of a plane's plot."""

    left: float
    right: float
    top: float
    label: float
    height: float


def write_axis(
    canvas: Canvas,
    look: DrawingLook,
    ticks: Iterable[tuple[float, str]],
    title: str,
    ends: tuple[float, float, float],
) -> float:
    """Writes the numbers of a horizontal axis, (x, text), and its title below a plot; ``ends`` are
    the plot's left, right and bottom. Returns where the axis ends."""
    left, right, bottom = ends
    for x, text in spaced(ticks, look):
        canvas.text(x, bottom + TICK_DOWN, text, "tick", "middle")
    lines = [
        line
        for part in title.split("\n")
        for line in wrap_text(part, look.measure, 0.9 * look.width)
        if line
    ]
    for index, line in enumerate(lines):
        x = _centre_inside((left + right) / 2, look.measure(line), look.width)
        canvas.text(x, bottom + TITLE_DOWN + index * LINE, line, "axis", "middle")
    return bottom + AXIS_HEIGHT + LINE * (len(lines) - 1)


def spaced(ticks: Iterable[tuple[float, str]], look: DrawingLook) -> list[tuple[float, str]]:
    """Numbers of a horizontal axis, (x, text), within the drawing's edges, as many as have room."""
    inside = [(_centre_inside(x, look.measure(text), look.width), text) for x, text in ticks]
    return thin_ticks(inside, lambda text: look.measure(text) + TICK_GAP)


def thin_ticks(ticks: list[tuple[float, str]], room: Measure) -> list[tuple[float, str]]:
    """Numbers of an axis, in order of their places; every second one is left out until each has
    its room."""
    while len(ticks) > 2 and any(
        abs(other - place) < (room(text) + room(after)) / 2
        for (place, text), (other, after) in pairwise(ticks)
    ):
        ticks = ticks[::2]
    return ticks


def _centre_inside(x: float, width: float, limit: float) -> float:
    """The centre of a text, moved so that no edge cuts it."""
    return max(min(x, limit - width / 2), width / 2)
