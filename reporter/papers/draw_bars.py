"""Horizontal bars, stacked bars and, over a decade, marks on a logarithmic axis."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from reporter.data.text import digits
from reporter.papers.canvas import (
    PT_PER_IN,
    Canvas,
    bar_style,
    legend_above,
    legend_rows,
    logarithmic_ticks,
    mark_style,
    plain_ticks,
    spans_decade,
)
from reporter.papers.model import Bar, Bars
from reporter.papers.style import FAINT, INK, SOFT, Look

ROW_IN, SUB_ROW_IN, LINE_IN, AXIS_IN = 0.155, 0.12, 0.11, 0.36
LABEL_SHARE = 0.4


def bars_height_in(panel: Bars, look: Look) -> float:
    """The height of the panel: its rows, headings, axis and legend."""
    scale = look.size_pt / 7.5
    rows = sum(len(group.bars) for group in panel.groups)
    headings = sum(bool(group.heading) for group in panel.groups)
    names = tuple(enumerate(panel.series))
    labels = [bar.label for group in panel.groups for bar in group.bars]
    two_lines = any(
        len(label) * look.small_pt * 0.52 / PT_PER_IN > look.width_in * LABEL_SHARE
        for label in labels
    )
    each = max(ROW_IN + SUB_ROW_IN * (_sub_rows(panel) - 1), ROW_IN + LINE_IN * two_lines)
    return scale * (
        rows * each + headings * (ROW_IN + 0.02) + AXIS_IN + 0.16 * legend_rows(look, names)
    )


def draw_bars(canvas: Canvas, axes: Any, panel: Bars) -> Callable[[], None]:
    """Draws the panel; the returned function fits the numbers at the bars' ends into the axes once
    these have their size."""
    rows, headings, last = _places(panel)
    is_log = not panel.is_stacked and spans_decade(
        [end for bar, _ in rows for one in bar.values for end in one.ends]
    )
    for bar, y in rows:
        _draw_row(axes, panel, bar, y, is_log)
    axes.set_ylim(last, -0.6)
    axes.set_yticks(
        [y for _, y in rows],
        [canvas.wrapped(bar.label, canvas.look.width_in * LABEL_SHARE) for bar, _ in rows],
        linespacing=0.95,
    )
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(not is_log)
    axes.set_xlabel(panel.axis)
    axes.grid(axis="x")
    names = tuple(enumerate(panel.series))
    if names:
        legend_above(canvas, axes, names, "mark" if is_log else "bar")
    _limit(axes, [one for bar, _ in rows for one in _reaches(panel, bar)], is_log)
    if any(min(one.ends) < 0 for bar, _ in rows for one in bar.values) and not is_log:
        axes.axvline(0, color=INK, linewidth=0.6)
    numbers = [_number(canvas, axes, panel, bar, y, is_log) for bar, y in rows]
    texts = [text for of_row in numbers for text in of_row]

    def finish() -> None:
        write_headings(canvas, axes, headings)
        _make_room(canvas, axes, texts, is_log)

    return finish


def _sub_rows(panel: Bars) -> int:
    return 1 if panel.is_stacked or not panel.series else len(panel.series)


def _places(panel: Bars) -> tuple[list[tuple[Bar, float]], list[tuple[str, float]], float]:
    """The vertical place of every bar and heading, from the top, and where the axis ends."""
    rows, headings, y = [], [], 0.0
    for group in panel.groups:
        if group.heading:
            headings.append((group.heading, y - 0.05))
            y += 0.95
        for bar in group.bars:
            rows.append((bar, y))
            y += 1.0
    return rows, headings, y - 0.4


def _draw_row(axes: Any, panel: Bars, bar: Bar, y: float, is_log: bool) -> None:
    sub_rows = _sub_rows(panel)
    height = 0.8 / sub_rows
    left = 0.0
    for index, one in enumerate(bar.values):
        style = index if panel.series else bar.style
        place = y if panel.is_stacked or sub_rows == 1 else y - 0.4 + height * (index + 0.5)
        if is_log:
            axes.plot([one.value], [place], linestyle="none", zorder=3, **mark_style(style))
        else:
            alpha = FAINT if bar.is_group else 1.0
            axes.barh(
                place,
                one.value,
                height=height * 0.94,
                left=left,
                zorder=2,
                **{**bar_style(style), "alpha": alpha},
            )
        if one.low is not None and one.high is not None:
            low = max(one.low, one.value * 0.02) if is_log else one.low
            axes.errorbar(
                (
                    (one.value if not panel.is_stacked else left + one.value)
                    if not bar.is_group
                    else (low + one.high) / 2
                ),
                place,
                xerr=_error(panel, bar, left, one.value, low, one.high),
                fmt="none",
                ecolor=INK,
                elinewidth=0.8,
                capsize=1.8,
                capthick=0.8,
                zorder=4,
            )
        if panel.is_stacked:
            left += one.value


def _error(
    panel: Bars, bar: Bar, left: float, value: float, low: float, high: float
) -> list[list[float]]:
    """The lengths of an error bar to the left and to the right of where it starts; a stacked bar's
    is that of its total."""
    if bar.is_group:
        return [[(high - low) / 2], [(high - low) / 2]]
    middle = left + value if panel.is_stacked else value
    return [[max(middle - low, 0.0)], [max(high - middle, 0.0)]]


def _reaches(panel: Bars, bar: Bar) -> list[float]:
    """The points of a bar that must be within the axis."""
    total = sum(one.value for one in bar.values)
    ends = [end for one in bar.values for end in one.ends]
    return (
        [total, *(end for one in bar.values if one.high is not None for end in one.ends)]
        if panel.is_stacked
        else ends
    )


def _limit(axes: Any, ends: Sequence[float], is_log: bool) -> None:
    if is_log:
        positive = [end for end in ends if end > 0]
        axes.set_xscale("log")
        axes.set_xlim(min(positive) / 1.3, max(positive) * 1.3)
        logarithmic_ticks(axes.xaxis, min(positive) / 1.3, max(positive) * 1.3)
    else:
        axes.set_xlim(min(0.0, *ends) * 1.05, max(*ends, 0.0) * 1.03 or 1.0)
        plain_ticks(axes.xaxis, 5)


def _number(canvas: Canvas, axes: Any, panel: Bars, bar: Bar, y: float, is_log: bool) -> list[Any]:
    """The bar's value as text, to the right of bar and error bar."""
    sub_rows, height, texts = _sub_rows(panel), 0.8 / _sub_rows(panel), []
    values = (
        [(sum(one.value for one in bar.values), max(_reaches(panel, bar)))]
        if panel.is_stacked
        else [(one.value, one.ends[1]) for one in bar.values]
    )
    for index, (value, end) in enumerate(values):
        place = y if sub_rows == 1 else y - 0.4 + height * (index + 0.5)
        note = f" ({bar.note})" if bar.note and index == len(values) - 1 else ""
        text = axes.annotate(
            f"{digits(value)}{note}",
            (max(end, 0.0), place),
            xytext=(3.0, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=canvas.look.small_pt,
            color=INK,
            annotation_clip=False,
            in_layout=False,
            zorder=5,
        )
        texts.append(text)
    return texts


def write_headings(canvas: Canvas, axes: Any, headings: Sequence[tuple[str, float]]) -> None:
    """Headings start at the figure's left edge and may be as long as the figure is wide."""
    for text, y in headings:
        axes.text(
            0.004,
            y,
            canvas.shortened(text, canvas.look.width_in * 0.98),
            transform=_left_edge(canvas, axes),
            va="center",
            ha="left",
            fontsize=canvas.look.small_pt,
            fontweight="normal",
            style="italic",
            color=SOFT,
            in_layout=False,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
            zorder=6,
        )


def _left_edge(canvas: Canvas, axes: Any) -> Any:
    from matplotlib.transforms import blended_transform_factory  # optional: [figures]

    return blended_transform_factory(canvas.figure.transFigure, axes.transData)


def _make_room(canvas: Canvas, axes: Any, texts: Sequence[Any], is_log: bool) -> None:
    """Extends the axis to the right until every number is inside the figure."""
    low, high = axes.get_xlim()
    box = axes.get_window_extent(canvas.figure.canvas.get_renderer())
    scale: Callable[[float], float] = math.log if is_log else float
    back: Callable[[float], float] = math.exp if is_log else float
    needed = scale(high)
    for text in texts:
        extent = canvas.extent(text)
        beyond = extent[2] - extent[0] + (3.0 + 2.0) * canvas.figure.dpi / PT_PER_IN
        share = beyond / box.width
        end = scale(max(text.xy[0], low if is_log else 0.0))
        needed = max(needed, scale(low) + (end - scale(low)) / max(1.0 - share, 0.2))
    axes.set_xlim(low, back(needed))
    if is_log:
        logarithmic_ticks(axes.xaxis, low, back(needed))
