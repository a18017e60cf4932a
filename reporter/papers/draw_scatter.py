"""Points with error bars, keys beside them and Pareto fronts."""

from collections.abc import Callable
from typing import Any

from reporter.figures.time_energy import pareto_front
from reporter.papers.canvas import (
    LINE_SPACING,
    PT_PER_IN,
    Canvas,
    legend_rows,
    logarithmic_ticks,
    mark_legend_above,
    mark_style,
    plain_ticks,
    spans_decade,
)
from reporter.papers.labels import Box, Wanted, beside
from reporter.papers.model import Dot, Keys, Scatter
from reporter.papers.style import COLOURS, INK, SOFT, Look

FILL_STYLE = 6
MARGIN_IN = 0.03


def scatter_extra_in(panel: Scatter, look: Look) -> float:
    """The height of the legend above the plane."""
    return look.size_pt / 7.5 * 0.16 * legend_rows(look, (*panel.legend, *panel.fills))


def draw_scatter(canvas: Canvas, axes: Any, panel: Scatter) -> Callable[[], None]:
    """Draws the panel; the returned function writes the keys once the axes have their size."""
    xs, ys = [dot.x.value for dot in panel.dots], [dot.y.value for dot in panel.dots]
    for axis, values in (
        ("x", [end for dot in panel.dots for end in dot.x.ends]),
        ("y", [end for dot in panel.dots for end in dot.y.ends]),
    ):
        _scale(axes, axis, values)
    for dot in panel.dots:
        axes.plot(
            [dot.x.value],
            [dot.y.value],
            linestyle="none",
            zorder=3,
            **mark_style(dot.style, dot.fill),
        )
        _error_bars(axes, dot)
    axes.set_xlabel(panel.x_axis)
    axes.set_ylabel(panel.y_axis)
    axes.grid()
    if panel.has_front:
        _fronts(axes, panel)
    _legends(canvas, axes, panel)

    def finish() -> None:
        _write_keys(canvas, axes, panel, list(zip(xs, ys, strict=True)))

    return finish


def _scale(axes: Any, axis: str, values: list[float]) -> None:
    positive = [value for value in values if value > 0]
    one = getattr(axes, f"{axis}axis")
    limit = getattr(axes, f"set_{axis}lim")
    if spans_decade(values):
        getattr(axes, f"set_{axis}scale")("log")
        limit(min(positive) / 1.3, max(positive) * 1.3)
        logarithmic_ticks(one, min(positive) / 1.3, max(positive) * 1.3)
    else:
        margin = max(0.08 * (max(values) - min(values)), 0.05 * abs(max(values))) or 1.0
        limit(min(values) - margin, max(values) + margin)
        plain_ticks(one, 5)


def _error_bars(axes: Any, dot: Dot) -> None:
    colour = COLOURS[dot.style % len(COLOURS)]
    for one, horizontal in ((dot.x, True), (dot.y, False)):
        if one.low is not None and one.high is not None:
            error = {
                "xerr" if horizontal else "yerr": [
                    [max(one.value - one.low, 0.0)],
                    [max(one.high - one.value, 0.0)],
                ]
            }
            axes.errorbar(
                [dot.x.value],
                [dot.y.value],
                fmt="none",
                ecolor=colour,
                elinewidth=0.7,
                capsize=1.4,
                capthick=0.7,
                zorder=2,
                **error,
            )


def _fronts(axes: Any, panel: Scatter) -> None:
    """The Pareto front of each style as steps, within what was measured."""
    for style in sorted({dot.style for dot in panel.dots}):
        points = {
            str(index): (dot.x.value, dot.y.value)
            for index, dot in enumerate(panel.dots)
            if dot.style == style
        }
        front = [points[name] for name in pareto_front(points)]
        if len(front) > 1:
            axes.step(
                [x for x, _ in front],
                [y for _, y in front],
                where="post",
                color=COLOURS[style % len(COLOURS)],
                linewidth=0.9,
                dashes=(3, 1.5),
                zorder=1.5,
            )


def _legends(canvas: Canvas, axes: Any, panel: Scatter) -> None:
    """One legend above the plane: shapes and colours, then fills."""
    marks = [(mark_style(style), name) for style, name in panel.legend]
    marks += [
        ({**mark_style(FILL_STYLE, level), "marker": "o"}, name) for level, name in panel.fills
    ]
    if marks:
        mark_legend_above(canvas, axes, marks)


def write_meanings(canvas: Canvas, panel: Keys) -> None:
    """Writes what keys stand for at the bottom of the figure."""
    height = float(canvas.figure.bbox.height) / canvas.figure.dpi
    for index, (key, meaning) in enumerate(reversed(panel.meanings)):
        text = canvas.shortened(f"{key}  {meaning}", canvas.look.width_in * 0.97)
        canvas.figure.text(
            0.012,
            (MARGIN_IN + index * canvas.line_height()) / height,
            text,
            fontsize=canvas.look.small_pt,
            color=SOFT,
            va="bottom",
            ha="left",
        )


def keys_height_in(panel: Keys, look: Look) -> float:
    """The height of the lines."""
    return len(panel.meanings) * look.small_pt * LINE_SPACING / PT_PER_IN + 2 * MARGIN_IN


def _bars_box(axes: Any, dot: Dot) -> Box:
    """The box of a point's horizontal error bar; the vertical one is within reach of the mark or
    crosses it."""
    left, right = (axes.transData.transform((end, dot.y.value)) for end in dot.x.ends)
    return (float(left[0]), float(left[1]) - 2.0, float(right[0]), float(right[1]) + 2.0)


def _write_keys(
    canvas: Canvas, axes: Any, panel: Scatter, places: list[tuple[float, float]]
) -> None:
    """Writes each key beside its point where it is clear of points and other keys; a key without
    such a place is left out."""
    dpi, size = canvas.figure.dpi, canvas.look.small_pt
    pixels = [tuple(map(float, axes.transData.transform(place))) for place in places]
    mark = 2.6 * dpi / PT_PER_IN
    taken = [(x - mark, y - mark, x + mark, y + mark) for x, y in pixels] + [
        _bars_box(axes, dot) for dot in panel.dots
    ]
    frame = axes.get_window_extent(canvas.figure.canvas.get_renderer())
    keyed = [(dot, place) for dot, place in zip(panel.dots, pixels, strict=True) if dot.key]
    height = size * dpi / PT_PER_IN
    wanted = [
        Wanted(x, y, canvas.width_of(dot.key) * dpi, height, mark + 1.0) for dot, (x, y) in keyed
    ]
    for (dot, _), found in zip(
        keyed, beside(wanted, taken, (frame.x0, frame.y0, frame.x1, frame.y1)), strict=True
    ):
        if found is not None:
            axes.text(
                *canvas.in_figure(*found),
                dot.key,
                transform=canvas.figure.transFigure,
                fontsize=size,
                color=INK,
                ha="left",
                va="bottom",
                in_layout=False,
                zorder=5,
                clip_on=False,
            )
