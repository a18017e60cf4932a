"""Draws a figure for a paper with Matplotlib, in a fixed size; the bytes depend on the data
only."""

import importlib.util
import io
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reporter.papers.canvas import Canvas, thin_ticks
from reporter.papers.draw_bars import bars_height_in, draw_bars
from reporter.papers.draw_boxes import boxes_height_in, draw_boxes
from reporter.papers.draw_lines import draw_lines, lines_height_in
from reporter.papers.draw_radar import draw_radar
from reporter.papers.draw_scatter import (
    draw_scatter,
    keys_height_in,
    scatter_extra_in,
    write_meanings,
)
from reporter.papers.draw_table import draw_table, table_height_in
from reporter.papers.model import (
    Bars,
    Boxes,
    Keys,
    Lines,
    Panel,
    PaperFigure,
    Radar,
    Scatter,
    Table,
)
from reporter.papers.style import Look, settings
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
PLANE_HEIGHT_IN, RADAR_HEIGHT_IN, MARGIN_IN, GAP_IN = 2.0, 2.3, 0.02, 0.1
POLAR = "polar"


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


def render(figure: PaperFigure, title: str, look: Look, file_format: str) -> bytes:
    """The figure as a file of ``file_format``. Raises SuiteError if Matplotlib or the font is
    missing."""
    canvas = make_canvas(figure, look)
    try:
        output = io.BytesIO()
        metadata = {**NO_DATES[file_format], **({"Title": title} if file_format != "png" else {})}
        with canvas.settings():
            canvas.figure.savefig(output, format=file_format, metadata=metadata)
        return output.getvalue()
    finally:
        canvas.figure.clear()


def make_canvas(figure: PaperFigure, look: Look) -> Canvas:
    """The drawn figure, laid out; its canvas measures every text."""
    refuse_without_matplotlib()
    import matplotlib  # optional: [figures]
    from matplotlib import font_manager  # optional: [figures]
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # optional: [figures]
    from matplotlib.figure import Figure  # optional: [figures]

    _refuse_unknown_font(font_manager, look.font)
    planes = [panel for panel in figure.panels if not isinstance(panel, Keys)]
    keys = [panel for panel in figure.panels if isinstance(panel, Keys)]
    below_in = sum(keys_height_in(panel, look) for panel in keys)
    heights = [panel_height_in(panel, look) for panel in planes]
    height_in = (
        look.height_in or sum(heights) + GAP_IN * (len(heights) - 1) + 2 * MARGIN_IN + below_in
    )
    below = min(below_in / height_in, 0.8)
    with matplotlib.rc_context(dict(settings(look))):
        drawn = Figure(figsize=(look.width_in, height_in), layout="constrained")
        FigureCanvasAgg(drawn)
        engine: Any = drawn.get_layout_engine()
        engine.set(
            w_pad=MARGIN_IN,
            h_pad=MARGIN_IN,
            hspace=0.0,
            wspace=0.0,
            rect=(0.0, below, 1.0, 1.0 - below),
        )
        canvas = Canvas(drawn, look)
        axes = canvas.add_axes([_projection(panel) for panel in planes], heights)
        finish = [
            _DRAW[type(panel)](canvas, one, panel) for panel, one in zip(planes, axes, strict=True)
        ]
        canvas.lay_out()
        for last in finish:
            last()
        for one in (
            one
            for one, panel in zip(axes, planes, strict=True)
            if one.name != POLAR and not isinstance(panel, Table)
        ):
            thin_ticks(canvas, one.xaxis)
            thin_ticks(canvas, one.yaxis)
        for panel in keys:
            write_meanings(canvas, panel)
    return canvas


def panel_height_in(panel: Panel, look: Look) -> float:
    """The height that a panel asks for, with its axis and legend."""
    if isinstance(panel, Bars):
        return bars_height_in(panel, look)
    if isinstance(panel, Boxes):
        return boxes_height_in(panel, look)
    if isinstance(panel, Lines):
        return lines_height_in(panel, look)
    if isinstance(panel, Table):
        return table_height_in(panel, look)
    if isinstance(panel, Scatter):
        return PLANE_HEIGHT_IN + scatter_extra_in(panel, look)
    return RADAR_HEIGHT_IN * look.width_in / 3.3 if isinstance(panel, Radar) else PLANE_HEIGHT_IN


def _projection(panel: Panel) -> str | None:
    return POLAR if isinstance(panel, Radar) else None


_DRAW: Mapping[type, Callable[..., Callable[[], None]]] = {
    Bars: draw_bars,
    Lines: draw_lines,
    Boxes: draw_boxes,
    Scatter: draw_scatter,
    Radar: draw_radar,
    Table: draw_table,
}
"""How each kind of panel is drawn on axes; the returned function is called when the layout is
known."""


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
