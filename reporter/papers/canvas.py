"""A Matplotlib figure with measures of text, and the parts that several kinds of panels share."""

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

from reporter.papers.labels import Box, overlap, shortened, wrapped
from reporter.papers.style import COLOURS, GRID, HATCHES, INK, MARKERS, Look, settings

PT_PER_IN = 72.0
LINE_SPACING = 1.25
DECADE = 10.0
MIN_TICKS = 2
TICK_GAP_PX = 9.0
"""Of 300 to the inch."""


class Canvas:
    """A figure that measures text with its own renderer. Lengths are inches, if not stated
    otherwise."""

    def __init__(self, figure: Any, look: Look) -> None:
        self.figure = figure
        self.look = look

    def settings(self) -> AbstractContextManager[None]:
        """Matplotlib's settings while this figure is drawn or written."""
        import matplotlib  # optional: [figures]

        context: AbstractContextManager[None] = matplotlib.rc_context(dict(settings(self.look)))
        return context

    def add_axes(self, projections: Sequence[str | None], heights: Sequence[float]) -> list[Any]:
        """Axes one below the other, as high as ``heights`` relative to one another."""
        grid = self.figure.add_gridspec(len(projections), 1, height_ratios=list(heights))
        return [
            self.figure.add_subplot(grid[index], projection=projection)
            for index, projection in enumerate(projections)
        ]

    def width_of(self, text: str, size_pt: float | None = None) -> float:
        """The width of a text (of its longest line), in."""
        return max(self._measure(line, size_pt)[0] for line in text.split("\n"))

    def line_height(self, size_pt: float | None = None) -> float:
        """The height of a line of text with its space, in."""
        return (size_pt or self.look.small_pt) * LINE_SPACING / PT_PER_IN

    def shortened(self, text: str, max_width: float) -> str:
        """The text, shortened in the middle to a width."""
        return shortened(text, self.width_of, max_width)

    def wrapped(self, text: str, max_width: float, max_lines: int = 2) -> str:
        """The text on as many lines as are needed, at most ``max_lines``."""
        return wrapped(text, self.width_of, max_width, max_lines)

    def extent(self, artist: Any) -> Box:
        """The box of a drawn artist, in pixels."""
        box = artist.get_window_extent(self.figure.canvas.get_renderer())
        return (float(box.x0), float(box.y0), float(box.x1), float(box.y1))

    def lay_out(self) -> None:
        """Places the axes so that everything drawn so far fits, and keeps them there."""
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")

    def in_figure(self, x: float, y: float) -> tuple[float, float]:
        """A place in pixels as shares of the figure's width and height, which hold in every
        format."""
        width, height = self.figure.bbox.size
        return x / float(width), y / float(height)

    def _measure(self, line: str, size_pt: float | None) -> tuple[float, float]:
        from matplotlib.font_manager import FontProperties  # optional: [figures]

        properties = FontProperties(family=self.look.font, size=size_pt or self.look.small_pt)
        width, height, _ = self.figure.canvas.get_renderer().get_text_width_height_descent(
            line or " ", properties, False
        )
        return width / self.figure.dpi, height / self.figure.dpi


def legend_above(canvas: Canvas, axes: Any, names: Sequence[tuple[int, str]], kind: str) -> None:
    """A legend of styles above the axes. ``kind``: bar (colour and hatch) or mark (colour and
    shape)."""
    from matplotlib.patches import Patch  # optional: [figures]

    if kind == "mark":
        mark_legend_above(canvas, axes, [(mark_style(style), name) for style, name in names])
    else:
        _legend(
            canvas,
            axes,
            [Patch(**bar_style(style)) for style, _ in names],
            [name for _, name in names],
        )


def mark_legend_above(
    canvas: Canvas, axes: Any, marks: Sequence[tuple[Mapping[str, Any], str]]
) -> None:
    """A legend of marks above the axes."""
    from matplotlib.lines import Line2D  # optional: [figures]

    _legend(
        canvas,
        axes,
        [Line2D([], [], linestyle="none", **style) for style, _ in marks],
        [name for _, name in marks],
    )


def _legend(canvas: Canvas, axes: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    """A legend above the axes with as many columns as fit."""
    available = canvas.look.width_in * 0.8
    texts = [canvas.shortened(name, available - 0.4) for name in names]
    columns = max(
        (count for count in range(1, len(texts) + 1) if _rows_fit(canvas, texts, count, available)),
        default=1,
    )
    axes.legend(
        handles,
        texts,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        frameon=False,
        borderpad=0.1,
        borderaxespad=0.15,
        handlelength=1.4,
        handletextpad=0.45,
        columnspacing=0.9,
        labelspacing=0.25,
    )


def legend_rows(look: Look, names: Sequence[tuple[int, str]]) -> int:
    """How many lines a legend will need, estimated from the number of letters."""
    letters = sum(len(name) + 5 for _, name in names) * look.small_pt * 0.55 / PT_PER_IN
    return 0 if not names else max(1, -(-int(letters * 100) // int(look.width_in * 100)))


def _rows_fit(canvas: Canvas, texts: Sequence[str], columns: int, available: float) -> bool:
    rows = -(-len(texts) // columns)  # a legend is filled column by column
    widths = [
        max(
            (canvas.width_of(text) for text in texts[column * rows : (column + 1) * rows]),
            default=0.0,
        )
        + 0.31
        for column in range(columns)
    ]
    return sum(widths) <= available


def bar_style(style: int) -> dict[str, Any]:
    """Fill, hatch and edge of a bar."""
    return {
        "facecolor": COLOURS[style % len(COLOURS)],
        "hatch": HATCHES[style % len(HATCHES)],
        "edgecolor": INK,
        "linewidth": 0.5,
    }


def mark_style(style: int, fill: int = 0) -> dict[str, Any]:
    """Shape and colour of a mark; ``fill`` 0 is solid, 1 hollow, 2 half, 3 with a light face."""
    colour = COLOURS[style % len(COLOURS)]
    face = {0: colour, 1: "#ffffff", 2: colour, 3: GRID}[fill % 4]
    half = {"fillstyle": "left", "markerfacecoloralt": "#ffffff"} if fill % 4 == 2 else {}
    return {
        "marker": MARKERS[style % len(MARKERS)],
        "markerfacecolor": face,
        "markeredgecolor": colour if fill else INK,
        "markeredgewidth": 0.9 if fill else 0.4,
        **half,
    }


def spans_decade(values: Sequence[float]) -> bool:
    """Whether positive values span a factor of ten or more."""
    return bool(values) and min(values) > 0 and max(values) >= DECADE * min(values)


def number_text(value: float) -> str:
    """A tick label: without powers of ten from 0.001 to 999 999."""
    if value == 0:
        return "0"
    return (
        f"{value:,.0f}".replace(",", "\u2009")
        if abs(value) >= 1e4 and abs(value) < 1e6
        else f"{value:.6g}"
    )


def logarithmic_ticks(axis: Any, low: float, high: float) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, or at powers of ten over more than two decades, as
    plain numbers."""
    # optional: [figures]
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

    factors = (1, 2, 5) if high / low < 100 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in factors]
    shown = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
    if len(shown) < 2:
        shown = [
            factor * 10.0**power
            for power in powers
            for factor in range(1, 10)
            if low <= factor * 10.0**power <= high
        ] or [low, high]
    axis.set_major_locator(FixedLocator(shown))
    axis.set_major_formatter(FixedFormatter([number_text(float(f"{tick:.6g}")) for tick in shown]))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def plain_ticks(axis: Any, count: int) -> None:
    """At most ``count`` round linear ticks, written by :func:`number_text`."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # optional: [figures]

    axis.set_major_locator(MaxNLocator(nbins=count, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number_text(round(value, 9))))


def thin_ticks(canvas: Canvas, axis: Any) -> None:
    """Leaves out every second tick until no two of the axis' labels overlap, and ticks whose labels
    the figure's edge would cut."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator  # optional: [figures]

    while True:
        canvas.figure.draw_without_rendering()
        low, high = sorted(axis.get_view_interval())
        ticks = [
            tick
            for tick in axis.get_major_ticks()
            if low * (1 - 1e-9) <= tick.get_loc() <= high * (1 + 1e-9) and tick.label1.get_text()
        ]
        boxes = [canvas.extent(tick.label1) for tick in ticks]
        inside = [
            tick
            for tick, box in zip(ticks, boxes, strict=True)
            if box[2] <= canvas.figure.bbox.x1 and box[3] <= canvas.figure.bbox.y1
        ]
        if len(inside) == len(ticks) and (
            len(ticks) <= MIN_TICKS
            or not any(overlap(_wider(one), other) for one, other in pairwise(boxes))
        ):
            return
        shown = inside if len(inside) < len(ticks) else ticks[::2]
        kept = [(tick.get_loc(), tick.label1.get_text()) for tick in shown]
        axis.set_major_locator(FixedLocator([place for place, _ in kept]))
        axis.set_major_formatter(FixedFormatter([text for _, text in kept]))
        axis.set_minor_locator(NullLocator())


def _wider(box: Box) -> Box:
    """The box with a little space to its right and left."""
    return box[0] - TICK_GAP_PX, box[1], box[2] + TICK_GAP_PX, box[3]
