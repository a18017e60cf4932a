"""Small multiples: panels that share their rows or their horizontal axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reporter.figures.chart import name_on_lines
from reporter.figures.plane import Plane
from reporter.figures.svg import Canvas, Scale, tick_text

WIDTH, COLUMNS, GAP = 900, 3, 26
BAR_STEP, BAR_TOP, BAR_LEFT, BAR_LETTERS = 30, 44, 210, 28
LINE_HEIGHT, LINE_LEFT, LINE_TOP, LINE_BOTTOM = 205, 56, 40, 46


@dataclass(frozen=True)
class Bars:
    """A panel of bars: its title and, by row, (length, style, label); rows can be missing."""

    title: str
    bars: Mapping[int, tuple[float, str, str]]


def bar_panels(
    title: str,
    description: str,
    names: Sequence[tuple[str, str]],
    panels: Sequence[Bars],
    top: float = 24,
) -> Canvas:
    """Panels of horizontal bars from 0, each with its own scale; ``names`` are (label, link) of the
    rows."""
    height = BAR_TOP + len(names) * BAR_STEP
    lines = -(-len(panels) // COLUMNS)
    canvas = Canvas(WIDTH, top + lines * height + 8, title, description)
    width = (WIDTH - BAR_LEFT) / COLUMNS
    for index, panel in enumerate(panels):
        left, above = BAR_LEFT + index % COLUMNS * width, top + index // COLUMNS * height
        canvas.text(left, above + BAR_TOP - 14, panel.title, "name", max_length=36)
        if index % COLUMNS == 0:
            _names(canvas, names, above)
        largest = max([length for length, _, _ in panel.bars.values()] or [1.0]) or 1.0
        canvas.line(
            left, above + BAR_TOP - 5, left, above + BAR_TOP + len(names) * BAR_STEP - 8, "join"
        )
        for row in range(len(names)):
            y = above + BAR_TOP + row * BAR_STEP - 1
            if row in panel.bars:
                length, style, label = panel.bars[row]
                reach = max(length, 0.0) / largest * (width - GAP - 60)
                canvas.rect(left, y, reach, 17, style, f"{names[row][0]}, {panel.title}: {label}")
                canvas.text(left + reach + 5, y + 12.5, label, "tick")
            else:
                canvas.text(left + 5, y + 12.5, "unknown", "tick")
    return canvas


def _names(canvas: Canvas, names: Sequence[tuple[str, str]], above: float) -> None:
    for row, (name, target) in enumerate(names):
        with canvas.link(target):
            name_on_lines(
                canvas, BAR_LEFT - 10, above + BAR_TOP + row * BAR_STEP + 8, name, BAR_LETTERS
            )


def line_box(
    index: int, top: float = 24, columns: int = COLUMNS
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Coordinates of the ends of a panel's axes: x left to right, y bottom to top."""
    width = WIDTH / columns
    left, above = index % columns * width + LINE_LEFT, top + index // columns * LINE_HEIGHT
    return (left, left + width - LINE_LEFT - 14), (
        above + LINE_HEIGHT - LINE_BOTTOM,
        above + LINE_TOP,
    )


def line_frame(canvas: Canvas, title: str, x: Scale, y: Scale) -> Plane:
    """Draws a panel's grid, tick labels and title; if there are many x ticks, only some are
    labelled."""
    labelled = x.ticks[:: 1 + len(x.ticks) // 6]
    for tick in x.ticks:
        canvas.line(x.at(tick), y.stop, x.at(tick), y.start, "grid")
        if tick in labelled:
            canvas.text(x.at(tick), y.start + 16, tick_text(tick), "tick", "middle")
    for tick in y.ticks:
        canvas.line(x.start, y.at(tick), x.stop, y.at(tick), "grid")
        canvas.text(x.start - 6, y.at(tick) + 4, tick_text(tick), "tick", "end")
    canvas.text(x.start - 40, y.stop - 13, title, "name", max_length=40)
    return Plane(canvas, x, y)
