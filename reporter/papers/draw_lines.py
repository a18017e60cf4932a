"""Lines with their labels at their ends."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from reporter.papers.canvas import (
    LINE_SPACING,
    PT_PER_IN,
    Canvas,
    logarithmic_ticks,
    mark_style,
    number_text,
    plain_ticks,
    spans_decade,
)
from reporter.papers.labels import spread
from reporter.papers.model import Line, Lines
from reporter.papers.style import COLOURS, DASHES, FAINT, INK, SOFT, Look

LABEL_SHARE = 0.3
HEIGHT_IN = 2.0
NEAR_IN, LABEL_IN = 0.04, 0.13
"""Where the labels' leaders start and where the labels do, to the right of the axes."""


def lines_height_in(panel: Lines, look: Look) -> float:
    """The height of the panel: enough for its labels one below the other."""
    letters = look.width_in * LABEL_SHARE * PT_PER_IN / (look.small_pt * 0.55)
    rows = sum(math.ceil(len(line.label) / letters) for line in panel.lines)
    return max(HEIGHT_IN, rows * look.small_pt * LINE_SPACING / PT_PER_IN + 0.2)


def draw_lines(canvas: Canvas, axes: Any, panel: Lines) -> Callable[[], None]:
    """Draws the panel; the returned function writes the labels once the axes have their size."""
    for line in panel.lines:
        _draw_line(axes, line)
    if panel.reference:
        axes.plot(*zip(*panel.reference, strict=True), color=SOFT, linewidth=0.7, zorder=1)
    _scale_x(axes, panel)
    _scale_y(axes, panel)
    axes.set_xlabel(panel.x_axis)
    axes.set_ylabel(panel.y_axis)
    axes.grid()
    texts = [_label(canvas, axes, line) for line in panel.lines]

    def finish() -> None:
        _place(canvas, axes, panel.lines, texts)

    return finish


def _draw_line(axes: Any, line: Line) -> None:
    xs = [x for x, _ in line.points]
    ys = [one.value for _, one in line.points]
    alpha = FAINT if line.is_faint else 1.0
    many = len(line.points) > 12
    dashes = (
        {"dashes": DASHES[line.style % len(DASHES)]} if DASHES[line.style % len(DASHES)] else {}
    )
    axes.plot(
        xs,
        ys,
        color=COLOURS[line.style % len(COLOURS)],
        alpha=alpha,
        zorder=3,
        markevery=max(1, len(xs) // 8) if many else 1,
        **mark_style(line.style),
        **dashes,
    )
    ended = [(x, one) for x, one in line.points if one.low is not None and one.high is not None]
    if line.is_faint and ended:
        axes.fill_between(
            [x for x, _ in ended],
            [one.low for _, one in ended],
            [one.high for _, one in ended],
            color=COLOURS[line.style % len(COLOURS)],
            alpha=0.15,
            linewidth=0,
        )
    elif ended:
        below = [max(one.value - float(one.low or 0.0), 0.0) for _, one in ended]
        above = [max(float(one.high or 0.0) - one.value, 0.0) for _, one in ended]
        axes.errorbar(
            [x for x, _ in ended],
            [one.value for _, one in ended],
            yerr=[below, above],
            fmt="none",
            ecolor=COLOURS[line.style % len(COLOURS)],
            elinewidth=0.8,
            capsize=1.8,
            capthick=0.8,
            zorder=2,
        )


def _scale_x(axes: Any, panel: Lines) -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator  # optional: [figures]

    values = sorted({x for line in panel.lines for x, _ in line.points})
    if panel.is_doubling:
        axes.set_xscale("log", base=2)
        shown = values if len(values) <= 7 else values[:: -(-len(values) // 7)]
        shown = _apart(shown, values)
        axes.xaxis.set_major_locator(FixedLocator(shown))
        axes.xaxis.set_major_formatter(FixedFormatter([number_text(value) for value in shown]))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        plain_ticks(axes.xaxis, 6)
        if len(values) <= 8 and all(value == int(value) for value in values):
            axes.xaxis.set_major_locator(FixedLocator(values))


def _apart(shown: Sequence[float], values: Sequence[float]) -> list[float]:
    """Ticks that are a tenth of the axis apart, on a logarithmic axis."""
    width = math.log(values[-1] / values[0]) if values[-1] > values[0] else 1.0
    kept: list[float] = []
    for value in shown:
        if not kept or math.log(value / kept[-1]) >= 0.1 * width:
            kept.append(value)
    return kept


def _scale_y(axes: Any, panel: Lines) -> None:
    ends = [end for line in panel.lines for _, one in line.points for end in one.ends]
    values = [one.value for line in panel.lines for _, one in line.points]
    if panel.is_from_zero and spans_decade(values):
        low, high = min(end for end in (*ends, *values) if end > 0), max(ends)
        low = max(low, min(values) / 2)
        axes.set_yscale("log")
        axes.set_ylim(low / 1.25, high * 1.25)
        logarithmic_ticks(axes.yaxis, low / 1.25, high * 1.25)
    elif panel.is_from_zero:
        axes.set_ylim(
            min(0.0, *ends),
            (max(*ends, *(y for _, y in panel.reference)) if panel.reference else max(ends)) * 1.06
            or 1.0,
        )
        plain_ticks(axes.yaxis, 5)
    else:
        margin = 0.06 * (max(ends) - min(ends)) or 1.0
        axes.set_ylim(min(ends) - margin, max(ends) + margin)
        plain_ticks(axes.yaxis, 5)


def _label(canvas: Canvas, axes: Any, line: Line) -> Any:
    """The label at its wanted height; it reserves its width beside the axes."""
    text = canvas.wrapped(line.label, canvas.look.width_in * LABEL_SHARE, 3)
    return axes.annotate(
        text,
        (1.0, line.points[-1][1].value),
        xycoords=("axes fraction", "data"),
        xytext=(LABEL_IN * PT_PER_IN, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=canvas.look.small_pt,
        color=INK,
        annotation_clip=False,
        linespacing=0.95,
    )


def _place(canvas: Canvas, axes: Any, lines: Sequence[Line], texts: Sequence[Any]) -> None:
    """Moves the labels apart and draws a leader from the end of each line to its label."""
    boxes = [canvas.extent(text) for text in texts]
    wanted = [
        float(
            axes.transData.transform(
                (0.0 if axes.get_xscale() == "linear" else 1.0, line.points[-1][1].value)
            )[1]
        )
        for line in lines
    ]
    gap = 0.015 * canvas.figure.dpi
    frame = axes.get_window_extent(canvas.figure.canvas.get_renderer())
    top = min(frame.y1 + 0.08 * canvas.figure.dpi, canvas.figure.bbox.y1)
    centres = spread(
        wanted, [box[3] - box[1] + gap for box in boxes], frame.y0 - 0.3 * canvas.figure.dpi, top
    )
    for line, text, start, centre in zip(lines, texts, wanted, centres, strict=True):
        text.set_position((LABEL_IN * PT_PER_IN, (centre - start) / canvas.figure.dpi * PT_PER_IN))
        end = axes.transData.transform((line.points[-1][0], line.points[-1][1].value))
        near, label = (
            frame.x1 + NEAR_IN * canvas.figure.dpi,
            frame.x1 + (LABEL_IN - 0.015) * canvas.figure.dpi,
        )
        points = [
            canvas.in_figure(*point)
            for point in ((float(end[0]), start), (near, start), (label, centre))
        ]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            transform=canvas.figure.transFigure,
            color=COLOURS[line.style % len(COLOURS)],
            linewidth=0.5,
            clip_on=False,
            in_layout=False,
            zorder=1.5,
        )
