"""Draws a figure for a paper with Matplotlib, in a fixed size; the bytes depend on the data
only."""

import importlib.util
import io
import shlex
import sys
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from reporter.figures.labels import SIZE
from reporter.figures.layout import lay_out
from reporter.figures.look import AXIS_HEIGHT
from reporter.figures.look import DrawingLook as Widths
from reporter.figures.model import Panel, PaperFigure
from reporter.figures.svg import Canvas, Shape, Words
from reporter.papers.style import (
    PaperLook,
    fill_style,
    line_style,
    mark_style,
    matplotlib_settings,
    text_style,
)
from suite.errors import SuiteError
from suite.files.paths import checkout

NO_DATES: Mapping[str, Mapping[str, Any]] = {
    "svg": {"Date": None, "Creator": "edge-training-suite"},
    "pdf": {
        "CreationDate": None,
        "ModDate": None,
        "Creator": "edge-training-suite",
        "Producer": None,
    },
    "png": {"Software": "edge-training-suite"},
}
PT_PER_IN, PLANE_IN, ROW, MARGIN, EDGE = 72.0, 2.0, 21.0, 6.0, 3.0
"""Height of a plane with its axis; units of a row, right of rows, and left and right of all."""
LABEL_SHARE, MIN_PERMILLE, PT_PER_RADIUS = 0.4, 400, 0.89
"""The most of a figure's width that labels of rows take; the least height of rows and planes in a
figure of a given height, in thousandths of what they have without one; the size of marks."""
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def refuse_without_matplotlib() -> None:
    """Raise SuiteError with the command that installs Matplotlib, where it is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        place = checkout()
        extra = (
            "'edge-training-suite[figures]'"
            if place is None
            else f"--editable {shlex.quote(f'{place}[figures]')}"
        )
        raise SuiteError(
            "Figures are drawn with Matplotlib, which is not installed here; install it with:"
            f" {sys.executable} -m pip install {extra}"
        )


def render_figure(figure: PaperFigure, title: str, look: PaperLook, file_format: str) -> bytes:
    """The figure as a file of ``file_format``. Raises SuiteError if Matplotlib or the font is
    missing."""
    drawn = paint_figure(figure, look)
    import matplotlib  # optional: [figures]

    output = io.BytesIO()
    metadata = {**NO_DATES[file_format], **({"Title": title} if file_format != "png" else {})}
    with matplotlib.rc_context(dict(matplotlib_settings(look))):
        drawn.savefig(output, format=file_format, metadata=metadata)
    return output.getvalue()


def paint_figure(figure: PaperFigure, look: PaperLook) -> Any:
    """The figure as one of Matplotlib."""
    refuse_without_matplotlib()
    import matplotlib  # optional: [figures]
    from matplotlib import font_manager  # optional: [figures]
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # optional: [figures]
    from matplotlib.figure import Figure  # optional: [figures]
    from matplotlib.transforms import Affine2D  # optional: [figures]

    _refuse_unknown_font(font_manager, look.font)
    with matplotlib.rc_context(dict(matplotlib_settings(look))):
        drawn = Figure(figsize=(look.width_in, 1.0))
        FigureCanvasAgg(drawn)
        canvas = _laid_out(figure, look, drawn)
        unit_in = look.width_in / (canvas.width + 2 * EDGE)
        drawn.set_size_inches(look.width_in, canvas.height * unit_in)
        to_inches = Affine2D().translate(EDGE, -canvas.height).scale(unit_in, -unit_in)
        place = {"transform": to_inches + drawn.dpi_scale_trans}
        for order, part in enumerate(canvas.parts):
            artist = _artist(part, look, unit_in * PT_PER_IN, {**place, "zorder": order})
            if artist is not None:
                drawn.add_artist(artist)
    return drawn


def _laid_out(figure: PaperFigure, look: PaperLook, drawn: Any) -> Canvas:
    """The panels as shapes, as high as they need or, with a given height, stretched to it."""
    from matplotlib.font_manager import FontProperties  # optional: [figures]

    unit_in = look.small_pt / SIZE / PT_PER_IN
    font = FontProperties(family=look.font, size=look.small_pt)

    @cache
    def measure(text: str) -> float:
        renderer = drawn.canvas.get_renderer()
        width, _, _ = renderer.get_text_width_height_descent(text, font, False)
        return float(width) / float(drawn.dpi) / unit_in

    width, plane = look.width_in / unit_in - 2 * EDGE, PLANE_IN / unit_in - AXIS_HEIGHT
    widths = Widths(width, measure, LABEL_SHARE * width, MARGIN, 0.0, ROW, plane, is_paper=True)
    if look.height_in is None:
        return lay_out(figure.panels, widths)
    return _of_height(figure.panels, widths, look.height_in, unit_in)


def _of_height(panels: Sequence[Panel], widths: Widths, height_in: float, unit_in: float) -> Canvas:
    """The panels with the highest rows and planes that fit into a height. Raises SuiteError where
    not even the lowest ones do."""

    def stretched(permille: int) -> Canvas:
        row, plane = (permille / 1000 * usual for usual in (widths.row, widths.plane))
        return lay_out(panels, replace(widths, row=row, plane=plane))

    height = height_in / unit_in
    sizes = range(MIN_PERMILLE, round(1000 * height / ROW))
    fitting = bisect(sizes, height, key=lambda permille: stretched(permille).height)
    canvas = stretched(sizes[max(fitting - 1, 0)])
    if canvas.height > height + 1.0:
        raise SuiteError(
            f"The figure needs a height of {canvas.height * unit_in:.2f}in or more; choose another"
            " --height, or leave it out."
        )
    canvas.height = height
    return canvas


def _artist(part: object, look: PaperLook, unit_pt: float, place: Mapping[str, Any]) -> Any:
    """A shape or a text as an artist of Matplotlib; None for links and groups."""
    from matplotlib.lines import Line2D  # optional: [figures]
    from matplotlib.patches import Polygon  # optional: [figures]
    from matplotlib.text import Text  # optional: [figures]

    if isinstance(part, Words):
        classes, turned = part.style.split(), {"rotation": 90, "va": "center"}
        is_title = "axis" in classes and "heading" not in classes
        return Text(
            part.x,
            part.y,
            part.text,
            fontsize=SIZE * unit_pt * (look.size_pt / look.small_pt if is_title else 1.0),
            ha=ANCHORS[part.anchor],
            **(turned if part.is_upright else {"va": "baseline"}),
            **text_style(classes),
            **place,
        )
    if not isinstance(part, Shape):
        return None
    classes, points = part.style.split(), list(part.points)
    number = int(part.style[1]) if part.style[1:2].isdigit() else None
    if part.kind == "rect":
        (left, top), (right, bottom) = points
        points = [(left, top), (right, top), (right, bottom), (left, bottom)]
    if part.kind == "rect" or "area" in classes:
        return Polygon(points, **fill_style(number or 0, classes), **place)
    xs, ys = zip(*points, *(points[:1] if part.kind == "polygon" else ()), strict=True)
    if part.kind == "dot":
        size_pt = PT_PER_RADIUS * part.radius
        return Line2D(xs, ys, markersize=size_pt, **mark_style(number or 0, classes), **place)
    return Line2D(xs, ys, **line_style(number, classes, xs[0] == xs[-1]), **place)


def _refuse_unknown_font(font_manager: Any, name: str) -> None:
    try:
        Path(font_manager.findfont(name, fallback_to_default=False))
    except ValueError:
        names = sorted({font.name for font in font_manager.fontManager.ttflist})
        some = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        raise SuiteError(
            f"There is no font {name!r} on this machine; choose one of: {some} (fc-list shows them"
            " all)."
        ) from None
