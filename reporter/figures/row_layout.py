"""Lays out rows over a value axis: bars, stacked bars, connected marks and boxes."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reporter.data.quantities import quantity
from reporter.data.text import digits
from reporter.figures.labels import broken
from reporter.figures.look import BASE, Cell, Look, write_axis
from reporter.figures.model import Estimate, Marks, Row, Rows
from reporter.figures.scales import Scale
from reporter.figures.svg import Canvas

TEXT_GAP, LABEL_GAP, LABEL_LINE = 8.0, 10.0, 14.0
"""Between a mark and its text, a label and the axis; from one line of a label to the next."""
FOLDED_LINE, FOLDED_BASE, FOLDED_BAR = 17.0, 13.0, 22.0
"""Of a label above its bar, and what its bar takes."""
SUB_ROW, SUB_REST, LABEL_REST, HEADING, TITLE_UP = 15.0, 4.0, 6.0, 34.0, 10.0
HALF, SHARE, BAR = 11.0, 0.37, 0.94
"""Half of a bar's height: at most HALF, and SHARE of a row; of bars beside one another each takes
BAR of its part."""
LEAST_PLOT = 0.3
"""Of the width that labels leave: it is not given to texts."""


@dataclass(frozen=True)
class _Plot:
    """Where rows are drawn: ``half`` is half of a mark's height."""

    left: float
    right: float
    scale: Scale
    half: float

    def at(self, value: float) -> float:
        """The coordinate of a value; below the axis' lowest tick, its left edge."""
        return self.left + max(self.scale.share(value), 0.0) * (self.right - self.left)


@dataclass(frozen=True)
class _Placed:
    """A row with the lines of its label and its texts; the centre of its marks is at ``y``."""

    row: Row
    label: tuple[str, ...]
    texts: tuple[str, ...]
    y: float = 0.0


def lay_rows(canvas: Canvas, panel: Rows, look: Look, cell: Cell) -> float:
    """Draws the rows; returns where they end. Without a label column, labels are left out."""
    lines = _lines(panel, look, cell.label)
    width = cell.label
    if look.is_paper:
        width = max((look.measure(text) for line in lines for text in line.label), default=0.0)
    left = cell.left + (width + LABEL_GAP if width > 0 and not look.is_folded else 0.0)
    sub_rows = max(len(panel.series), 1) if panel.marks is Marks.BARS else 1
    pitch = max(look.row, SUB_REST + SUB_ROW * sub_rows, *map(_label_height, lines))
    half = min(HALF * sub_rows, SHARE * pitch)
    plot = _Plot(left, _right(panel, lines, look, left, cell.right), panel.scale, half)
    top = cell.top + (0.0 if panel.has_axis else HEADING)
    placed, headings, bottom = _place(lines, look, pitch, top)
    if panel.has_axis:
        for tick in panel.scale.ticks:
            canvas.line(plot.at(tick), top - 4, plot.at(tick), bottom + 4, "grid")
    else:
        titles = broken(panel.axis, look.measure, cell.right - left - LABEL_GAP)
        for index, title in enumerate(reversed(titles)):
            canvas.text(plot.left, top - TITLE_UP - LABEL_LINE * index, title, "axis")
    if look.is_paper or not panel.has_axis:
        canvas.line(plot.at(0.0), top, plot.at(0.0), bottom, "edge")
    for heading, y in headings:
        canvas.text(0.0, y + BASE, heading, "axis heading")
    for line in placed:
        _write_label(canvas, line, look, plot)
        _draw(canvas, panel, line.row, plot, line.y)
        _write_texts(canvas, panel, line, look, plot)
    if not panel.has_axis:
        return bottom
    ticks = [(plot.at(tick), text) for tick, text in panel.scale.labels]
    return write_axis(canvas, look, ticks, panel.axis, (plot.left, plot.right, bottom))


def _lines(panel: Rows, look: Look, width: float) -> list[_Placed]:
    """The rows with their labels broken to a width; above bars, the texts take some of it."""
    texts = [_texts(panel, row) for row in panel.rows]
    if look.is_folded:
        width -= max(look.measure(" / ".join(each)) for each in texts)
    return [
        _Placed(row, broken(row.label, look.measure, width) if width > 0 else (), each)
        for row, each in zip(panel.rows, texts, strict=True)
    ]


def _texts(panel: Rows, row: Row) -> tuple[str, ...]:
    """What is written behind a row's marks: its values in the panel's unit, of a stacked bar the
    total."""
    if row.texts or panel.marks is Marks.BOXES:
        return row.texts
    is_stacked = panel.marks is Marks.STACKED
    values = [row.total] if is_stacked else [one.value for one in row.values]
    return tuple(quantity(value, panel.unit)[0] for value in values)


def _label_height(line: _Placed) -> float:
    return LABEL_REST + LABEL_LINE * len(line.label)


def _right(panel: Rows, lines: Sequence[_Placed], look: Look, left: float, limit: float) -> float:
    """The right edge of the plot: behind each mark there is room for its text."""
    edges = [limit - look.margin]
    for line in () if look.is_folded else lines:
        width = max((look.measure(text) for text in line.texts), default=0.0)
        share = panel.scale.share(max(_reach(panel, line.row), panel.scale.ticks[0]))
        edges.append(left + (limit - left - width - TEXT_GAP) / max(share, LEAST_PLOT))
    return max(min(edges), left + LEAST_PLOT * (limit - left))


def _reach(panel: Rows, row: Row) -> float:
    """The highest value that a row draws."""
    ends = [one.ends[1] for one in row.values]
    return max(row.total if panel.marks is Marks.STACKED else 0.0, *row.singles, *ends, 0.0)


def _place(
    lines: Sequence[_Placed], look: Look, pitch: float, y: float
) -> tuple[list[_Placed], list[tuple[str, float]], float]:
    """The rows at their places, the headings, and where the rows end."""
    placed, headings, last = list[_Placed](), list[tuple[str, float]](), ""
    for line in lines:
        if line.row.heading != last:
            last = line.row.heading
            headings.append((last, y + look.row / 2))
            y += look.row
        lead = FOLDED_LINE * len(line.label) if look.is_folded else 0.0
        bar = FOLDED_BAR if look.is_folded else pitch
        placed.append(replace(line, y=y + lead + bar / 2))
        y += lead + pitch
    return placed, headings, y


def _write_label(canvas: Canvas, line: _Placed, look: Look, plot: _Plot) -> None:
    count = len(line.label)
    with canvas.link(line.row.link if count else ""):
        for index, text in enumerate(line.label):
            style = "more" if index else "name"
            if look.is_folded:
                y = line.y - FOLDED_BAR / 2 - FOLDED_LINE * (count - index) + FOLDED_BASE
                canvas.text(plot.left, y, text, style)
            else:
                y = line.y + BASE + LABEL_LINE * (index - (count - 1) / 2)
                canvas.text(plot.left - LABEL_GAP, y, text, style, "end")


def _write_texts(canvas: Canvas, panel: Rows, line: _Placed, look: Look, plot: _Plot) -> None:
    if look.is_folded and line.texts:
        y = line.y - FOLDED_BAR / 2 - FOLDED_LINE * len(line.label) + FOLDED_BASE
        canvas.text(look.width - 6, y, " / ".join(line.texts), "tick", "end")
        return
    ends = [one.ends[1] for one in line.row.values]
    if len(line.texts) != len(ends):
        ends = [_reach(panel, line.row)] * len(line.texts)
    for text, end, y in zip(line.texts, ends, _centres(len(line.texts), plot, line.y), strict=True):
        canvas.text(plot.at(max(end, 0.0)) + TEXT_GAP, y + BASE, text, "tick")


def _centres(count: int, plot: _Plot, y: float) -> list[float]:
    """The centres of a row's bars or texts, which share its height."""
    return [y + plot.half * (2 * (index + 0.5) / count - 1) for index in range(count)]


def _draw(canvas: Canvas, panel: Rows, row: Row, plot: _Plot, y: float) -> None:
    if row.is_group and row.values and (panel.marks is not Marks.STACKED or len(row.values) == 1):
        _draw_bands(canvas, panel, row, plot, y)
    else:
        _DRAW[panel.marks](canvas, panel, row, plot, y)


def _styles(panel: Rows, row: Row) -> list[str]:
    """The style of each value: its series' one, else the row's."""
    if len(row.values) == len(panel.series):
        return [series.style for series in panel.series]
    return [row.style] * len(row.values)


def _stroke(style: str) -> str:
    return f"l{style[1]}"


def _tips(panel: Rows, row: Row) -> tuple[str, ...]:
    """What the marks tell: the row, the series and the value."""
    names = [f", {series.name}" for series in panel.series] or [""]
    return row.tips or tuple(
        f"{row.label}{name}: {digits(one.value)} {panel.unit}".rstrip()
        for name, one in zip(names, row.values, strict=False)
    )


def _draw_bands(canvas: Canvas, panel: Rows, row: Row, plot: _Plot, y: float) -> None:
    """From the lowest to the highest value, with a mark at the median."""
    centres, half = _centres(len(row.values), plot, y), plot.half / len(row.values)
    for one, style, tip, middle in zip(
        row.values, _styles(panel, row), _tips(panel, row), centres, strict=True
    ):
        (low, high), at = map(plot.at, one.ends), plot.at(one.value)
        top, bottom = middle - 0.6 * half, middle + 0.6 * half
        canvas.rect(low, top, max(high, low + 1), bottom, f"{style} faint", tip)
        canvas.line(
            at, middle - 0.9 * half, at, middle + 0.9 * half, f"{_stroke(style)} curve median"
        )


def _draw_bars(canvas: Canvas, panel: Rows, row: Row, plot: _Plot, y: float) -> None:
    centres, half = _centres(len(row.values), plot, y), BAR * plot.half / max(len(row.values), 1)
    for one, style, tip, middle in zip(
        row.values, _styles(panel, row), _tips(panel, row), centres, strict=True
    ):
        zero, end = plot.at(0.0), plot.at(one.value)
        if panel.scale.logarithmic:
            canvas.line(zero, middle, end, middle, "grid")
            canvas.dot(end, middle, style, tip)
        else:
            canvas.rect(min(zero, end), middle - half, max(zero, end), middle + half, style, tip)
        if row.shaded is not None:
            part, begin = plot.at(row.shaded), zero
            if panel.scale.logarithmic:
                begin, part = part - 1, part + 1
            tip = f"baseload: {quantity(row.shaded, panel.unit)[0]}"
            canvas.rect(begin, middle - half, part, middle + half, "idle", tip)
        _draw_error(canvas, one, plot, middle)


def _draw_error(canvas: Canvas, one: Estimate, plot: _Plot, y: float) -> None:
    if one.low is not None and one.high is not None:
        canvas.line(plot.at(one.low), y, plot.at(one.high), y, "error")


def _draw_stack(canvas: Canvas, panel: Rows, row: Row, plot: _Plot, y: float) -> None:
    zero = x = plot.at(0.0)
    for one, style, tip in zip(row.values, _styles(panel, row), _tips(panel, row), strict=True):
        end = x + plot.at(max(one.value, 0.0)) - zero
        style = f"{style} faint" if row.is_group else style
        canvas.rect(x, y - plot.half, end, y + plot.half, style, tip)
        x = end
    for one in row.values[-1:]:
        _draw_error(canvas, one, plot, y)


def _draw_dots(canvas: Canvas, panel: Rows, row: Row, plot: _Plot, y: float) -> None:
    styles = _styles(panel, row)
    if len(row.values) > 1:
        ends = [plot.at(one.value) for one in row.values]
        canvas.line(min(ends), y, max(ends), y, "join")
    for one, style in zip(row.values, styles, strict=True):
        if one.low is not None:
            low, high = map(plot.at, one.ends)
            canvas.rect(low, y - 0.4 * plot.half, high, y + 0.4 * plot.half, f"{style} faint")
    _draw_singles(canvas, row, plot, y, 0.8)
    for one, style, tip in zip(row.values, styles, _tips(panel, row), strict=True):
        canvas.dot(plot.at(one.value), y, style, tip)


def _draw_box(canvas: Canvas, panel: Rows, row: Row, plot: _Plot, y: float) -> None:
    low, middle, high = statistics.quantiles(row.singles, n=4, method="inclusive")
    left, right, half, tip = plot.at(low), plot.at(high), plot.half, (*row.tips, "")[0]
    canvas.rect(
        left, y - 0.9 * half, max(right, left + 1), y + 0.9 * half, f"{row.style} faint", tip
    )
    at, style = plot.at(middle), _stroke(row.style)
    canvas.line(at, y - 1.1 * half, at, y + 1.1 * half, f"{style} curve median")
    _draw_singles(canvas, row, plot, y, 0.5)


def _draw_singles(canvas: Canvas, row: Row, plot: _Plot, y: float, share: float) -> None:
    for value in row.singles:
        at, reach = plot.at(value), share * plot.half
        canvas.line(at, y - reach, at, y + reach, _stroke(row.style))


_DRAW: Mapping[Marks, Callable[[Canvas, Rows, Row, _Plot, float], None]] = {
    Marks.BARS: _draw_bars,
    Marks.STACKED: _draw_stack,
    Marks.DOTS: _draw_dots,
    Marks.BOXES: _draw_box,
}
