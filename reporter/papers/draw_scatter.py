"""Points with error bars, keys beside them and Pareto fronts."""

from collections.abc import Callable
from typing import Any

from reporter.figures.time_energy import pareto_front
from reporter.papers.canvas import PT_PER_IN, Canvas, legend_above, legend_rows, logarithmic_ticks, mark_style, plain_ticks, spans_decade
from reporter.papers.labels import Wanted, beside
from reporter.papers.model import Dot, Scatter
from reporter.papers.style import COLOURS, INK, SOFT, Look

FILL_STYLE = 6
KEY_IN = 0.125


def scatter_extra_in(panel: Scatter, look: Look) -> float:
    """The height of what stands above and below the plane: legends, and a line for each key."""
    rows = legend_rows(look, panel.legend) + legend_rows(look, panel.fills)
    return look.size_pt / 7.5 * (0.16 * rows + KEY_IN * len(panel.keys))


def draw_scatter(canvas: Canvas, axes: Any, panel: Scatter) -> Callable[[], None]:
    """Draws the panel; the returned function writes the keys once the axes have their size."""
    xs, ys = [dot.x.value for dot in panel.dots], [dot.y.value for dot in panel.dots]
    for axis, values in (("x", [end for dot in panel.dots for end in dot.x.ends]), ("y", [end for dot in panel.dots for end in dot.y.ends])):
        _scale(axes, axis, values)
    for dot in panel.dots:
        axes.plot([dot.x.value], [dot.y.value], linestyle="none", zorder=3, **mark_style(dot.style, dot.fill))
        _error_bars(axes, dot)
    axes.set_xlabel(panel.x_axis)
    axes.set_ylabel(panel.y_axis)
    axes.grid()
    if panel.has_front:
        _fronts(axes, panel)
    _legends(canvas, axes, panel)
    if panel.keys:
        _write_meanings(canvas, axes, panel)

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
        margin = 0.08 * (max(values) - min(values)) or 0.1 * abs(max(values)) or 1.0
        limit(min(values) - margin, max(values) + margin)
        plain_ticks(one, 5)


def _error_bars(axes: Any, dot: Dot) -> None:
    colour = COLOURS[dot.style % len(COLOURS)]
    for one, horizontal in ((dot.x, True), (dot.y, False)):
        if one.low is not None and one.high is not None:
            error = {"xerr" if horizontal else "yerr": [[max(one.value - one.low, 0.0)], [max(one.high - one.value, 0.0)]]}
            axes.errorbar([dot.x.value], [dot.y.value], fmt="none", ecolor=colour, elinewidth=0.7, capsize=1.4, capthick=0.7, zorder=2, **error)


def _fronts(axes: Any, panel: Scatter) -> None:
    """The Pareto front of each style as steps, within what was measured."""
    for style in sorted({dot.style for dot in panel.dots}):
        points = {str(index): (dot.x.value, dot.y.value) for index, dot in enumerate(panel.dots) if dot.style == style}
        front = [points[name] for name in pareto_front(points)]
        if len(front) > 1:
            axes.step([x for x, _ in front], [y for _, y in front], where="post", color=COLOURS[style % len(COLOURS)], linewidth=0.9,
                      dashes=(3, 1.5), zorder=1.5)  # fmt: skip


def _legends(canvas: Canvas, axes: Any, panel: Scatter) -> None:
    """The legend of shapes above the plane, that of fills inside it above the other."""
    from matplotlib.lines import Line2D  # optional: [figures]

    if panel.legend:
        legend_above(canvas, axes, panel.legend, "mark")
    if panel.fills:
        first = axes.get_legend()
        handles = [Line2D([], [], linestyle="none", **mark_style(FILL_STYLE, level)) for level, _ in panel.fills]
        above = 1.0 + (0.17 * legend_rows(canvas.look, panel.legend) if panel.legend else 0.0) / 2.0
        axes.legend(handles, [name for _, name in panel.fills], loc="lower left", bbox_to_anchor=(0.0, above), ncols=len(panel.fills), frameon=False,
                    borderpad=0.1, borderaxespad=0.15, handletextpad=0.2, columnspacing=0.8)  # fmt: skip
        if first is not None:
            axes.add_artist(first)


def _write_meanings(canvas: Canvas, axes: Any, panel: Scatter) -> None:
    """The keys with what they stand for, below the horizontal axis."""
    lines = "\n".join(canvas.shortened(f"{key}  {meaning}", canvas.look.width_in * 0.86) for key, meaning in panel.keys)
    axes.annotate(lines, (0.0, 0.0), xycoords="axes fraction", xytext=(0, -canvas.look.size_pt * 3.6), textcoords="offset points", va="top", ha="left",
                  fontsize=canvas.look.small_pt, color=SOFT, annotation_clip=False, linespacing=1.15)  # fmt: skip


def _write_keys(canvas: Canvas, axes: Any, panel: Scatter, places: list[tuple[float, float]]) -> None:
    """Writes each key beside its point where it is clear of points and other keys; a key without such a place is left out."""
    dpi, size = canvas.figure.dpi, canvas.look.small_pt
    pixels = [tuple(map(float, axes.transData.transform(place))) for place in places]
    mark = 2.6 * dpi / PT_PER_IN
    taken = [(x - mark, y - mark, x + mark, y + mark) for x, y in pixels]
    frame = axes.get_window_extent(canvas.figure.canvas.get_renderer())
    keyed = [(dot, place) for dot, place in zip(panel.dots, pixels, strict=True) if dot.key]
    height = size * dpi / PT_PER_IN
    wanted = [Wanted(x, y, canvas.width_of(dot.key) * dpi, height, mark + 1.0) for dot, (x, y) in keyed]
    for (dot, _), found in zip(keyed, beside(wanted, taken, (frame.x0, frame.y0, frame.x1, frame.y1)), strict=True):
        if found is not None:
            axes.text(found[0], found[1], dot.key, transform=None, fontsize=size, color=INK, ha="left", va="bottom", in_layout=False, zorder=5,
                      clip_on=False)  # fmt: skip
