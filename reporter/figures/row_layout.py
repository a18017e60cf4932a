"""Lays out rows over a value axis: bars, stacked bars, connected marks and bands."""

from collections.abc import Sequence
from dataclasses import dataclass

from reporter.data.quantities import quantity
from reporter.data.text import significant
from reporter.figures.labels import wrap_text
from reporter.figures.look import BASE, MARGIN, DrawingLook, PanelCell, write_axis
from reporter.figures.model import Estimate, Marks, PlotRow, Rows
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


def lay_rows(canvas: Canvas, panel: Rows, look: DrawingLook, cell: PanelCell) -> float:
    """Draws the rows; returns where they end. Without a label column, labels are left out."""
    texts, width, left = [_texts(panel, row) for row in panel.rows], cell.label, cell.left
    if look.is_folded:
        width -= max(look.measure(" / ".join(each)) for each in texts)
    labels = [wrap_text(row.label, look.measure, width) if width else () for row in panel.rows]
    if look.is_paper:
        width = max(look.measure(line) for label in labels for line in label)
    if width and not look.is_folded:
        left += width + LABEL_GAP
    sub_rows = max(len(panel.series), 1) if panel.marks is Marks.BARS else 1
    lines = max(map(len, labels)) if not look.is_folded else 0
    pitch = max(look.row, SUB_REST + SUB_ROW * sub_rows, LABEL_REST + LABEL_LINE * lines)
    right = _right(panel, texts, look, left, cell.right)
    plot = _Plot(canvas, panel, look, left, right, min(HALF * sub_rows, SHARE * pitch))
    top = cell.top + (0.0 if panel.has_axis else HEADING)
    centres, bottom = _centres(panel, labels, look, pitch, top)
    plot.draw_axis(top, bottom, cell.right)
    heading = ""
    for row, label, text, y in zip(panel.rows, labels, texts, centres, strict=True):
        if row.heading != heading:
            heading = row.heading
            canvas.text(0.0, y - (pitch + look.row) / 2 + BASE, heading, "axis heading")
        plot.write_label(row, label, y)
        plot.draw(row, y)
        plot.write_texts(row, text, y, len(label))
    if not panel.has_axis:
        return bottom
    ticks = [(plot.coordinate(tick), text) for tick, text in panel.scale.labels]
    return write_axis(canvas, look, ticks, panel.axis, (left, right, bottom))


def _texts(panel: Rows, row: PlotRow) -> tuple[str, ...]:
    """What is written behind a row's marks: its values in the panel's unit, of a stacked bar the
    total."""
    if row.texts or panel.marks is Marks.BANDS:
        return row.texts
    is_stacked = panel.marks is Marks.STACKED
    values = [row.total] if is_stacked else [one.value for one in row.values]
    return tuple(quantity(value, panel.unit)[0] for value in values)


def _right(
    panel: Rows, texts: Sequence[Sequence[str]], look: DrawingLook, left: float, limit: float
) -> float:
    """The right edge of the plot: behind each mark there is room for its text."""
    edges = [limit - look.margin]
    for row, of_row in zip(panel.rows, texts, strict=True) if not look.is_folded else ():
        room = limit - left - TEXT_GAP - max(map(look.measure, of_row), default=0.0)
        edges.append(left + room / max(panel.scale.share(_reach(panel, row)), LEAST_PLOT))
    return max(min(edges), left + LEAST_PLOT * (limit - left))


def _reach(panel: Rows, row: PlotRow) -> float:
    """The highest value that a row draws, at least the axis' lowest tick."""
    total = row.total if panel.marks is Marks.STACKED else 0.0
    return max(panel.scale.ticks[0], total, *row.singles, *(one.ends[1] for one in row.values))


def _centres(
    panel: Rows, labels: Sequence[Sequence[str]], look: DrawingLook, pitch: float, y: float
) -> tuple[list[float], float]:
    """The centres of the rows' marks, below headings and, folded, below labels; where rows end."""
    centres, heading = list[float](), ""
    for row, label in zip(panel.rows, labels, strict=True):
        y += look.row * (row.heading != heading) + FOLDED_LINE * len(label) * look.is_folded
        heading = row.heading
        centres.append(y + (FOLDED_BAR if look.is_folded else pitch) / 2)
        y += pitch
    return centres, y


Mark = tuple[Estimate, str, str]
"""A value with its style and tooltip."""


@dataclass(frozen=True)
class _Plot:
    """Where rows are drawn; ``half`` is half of a bar's height."""

    canvas: Canvas
    panel: Rows
    look: DrawingLook
    left: float
    right: float
    half: float

    def coordinate(self, value: float) -> float:
        """The coordinate of a value; below the axis' lowest tick, its left edge."""
        return self.left + max(self.panel.scale.share(value), 0.0) * (self.right - self.left)

    def draw_axis(self, top: float, bottom: float, limit: float) -> None:
        """The grid, or the title above the rows, and the line from which bars begin."""
        if self.panel.has_axis:
            for x in map(self.coordinate, self.panel.scale.ticks):
                self.canvas.line(x, top - 4, x, bottom + 4, "grid")
        else:
            titles = wrap_text(self.panel.axis, self.look.measure, limit - self.left - LABEL_GAP)
            for index, title in enumerate(reversed(titles)):
                self.canvas.text(self.left, top - TITLE_UP - LABEL_LINE * index, title, "axis")
        if self.look.is_paper or not self.panel.has_axis:
            self.canvas.line(self.coordinate(0.0), top, self.coordinate(0.0), bottom, "edge")

    def write_label(self, row: PlotRow, label: Sequence[str], y: float) -> None:
        """A row's label, linked to its evidence: beside its bar or, folded, above it."""
        count = len(label)
        with self.canvas.link(row.link if count else ""):
            for index, text in enumerate(label):
                style, place = "more" if index else "name", index - (count - 1) / 2
                if self.look.is_folded:
                    up = self.above(y, count - index)
                    self.canvas.text(self.left, up, text, style)
                else:
                    x, down = self.left - LABEL_GAP, y + BASE + LABEL_LINE * place
                    self.canvas.text(x, down, text, style, "end")

    def above(self, y: float, lines: int) -> float:
        """The base of a line of text above a folded bar."""
        return y - FOLDED_BAR / 2 - FOLDED_LINE * lines + FOLDED_BASE

    def write_texts(self, row: PlotRow, texts: Sequence[str], y: float, lines: int) -> None:
        """Texts behind a row's marks or, folded, at the end of its label."""
        if self.look.is_folded and texts:
            text, right = " / ".join(texts), self.look.width - MARGIN
            self.canvas.text(right, self.above(y, lines), text, "tick", "end")
            return
        ends = [max(one.ends[1], 0.0) for one in row.values]
        if len(texts) != len(ends):
            ends = [_reach(self.panel, row)] * len(texts)
        for text, end, centre in zip(texts, ends, self.centres(y, len(texts)), strict=True):
            self.canvas.text(self.coordinate(end) + TEXT_GAP, centre + BASE, text, "tick")

    def centres(self, y: float, count: int) -> list[float]:
        """The centres of a row's bars or texts, which share its height."""
        return [y + self.half * (2 * (index + 0.5) / count - 1) for index in range(count)]

    def draw(self, row: PlotRow, y: float) -> None:
        """A row's marks."""
        styles, names = [row.style] * len(row.values), [""] * len(row.values)
        if len(row.values) == len(self.panel.series):
            styles = [series.style for series in self.panel.series]
            names = [f", {series.name}" for series in self.panel.series]
        tips = row.tips or [
            f"{row.label}{name}: {significant(one.value)} {self.panel.unit}".rstrip()
            for name, one in zip(names, row.values, strict=True)
        ]
        marks = list(zip(row.values, styles, tips, strict=True))
        kind = self.panel.marks
        if kind is Marks.STACKED and not (row.is_group and len(marks) == 1):
            self._stack(row, marks, y)
        elif kind is Marks.BARS and not row.is_group:
            for mark, centre in zip(marks, self.centres(y, len(marks)), strict=True):
                self._bar(row, *mark, centre, BAR * self.half / len(marks))
        else:
            self._bands(row, marks, y)

    def _stack(self, row: PlotRow, marks: Sequence[Mark], y: float) -> None:
        zero = x = self.coordinate(0.0)
        for one, style, tip in marks:
            end = x + self.coordinate(max(one.value, 0.0)) - zero
            style += " faint" if row.is_group else ""
            self.canvas.rect(x, y - self.half, end, y + self.half, style, tip)
            x = end
            self._error(one, y)

    def _bar(
        self, row: PlotRow, one: Estimate, style: str, tip: str, y: float, half: float
    ) -> None:
        zero, end, is_log = (
            self.coordinate(0.0),
            self.coordinate(one.value),
            self.panel.scale.logarithmic,
        )
        if is_log:
            self.canvas.line(zero, y, end, y, "grid")
            self.canvas.dot(end, y, style, tip)
        else:
            self.canvas.rect(min(zero, end), y - half, max(zero, end), y + half, style, tip)
        if row.shaded is not None:
            part, tip = (
                self.coordinate(row.shaded),
                f"baseload: {quantity(row.shaded, self.panel.unit)[0]}",
            )
            left, right = (part - 1, part + 1) if is_log else (zero, part)
            self.canvas.rect(left, y - half, right, y + half, "idle", tip)
        self._error(one, y)

    def _error(self, one: Estimate, y: float) -> None:
        if one.low is not None and one.high is not None:
            self.canvas.line(self.coordinate(one.low), y, self.coordinate(one.high), y, "error")

    def _bands(self, row: PlotRow, marks: Sequence[Mark], y: float) -> None:
        """From the low to the high end of each value, with a line or a dot at the value; dots of
        one row are connected."""
        is_dots = self.panel.marks is Marks.DOTS and not row.is_group
        share, centres = 0.4 if is_dots else 0.7, self.centres(y, len(marks))
        if is_dots and len(marks) > 1:
            centres, ends = [y] * len(marks), [self.coordinate(one.value) for one, _, _ in marks]
            self.canvas.line(min(ends), y, max(ends), y, "join")
        for (one, style, tip), centre in zip(marks, centres, strict=True):
            at, half, stroke = self.coordinate(one.value), self.half / len(marks), f"l{style[1]}"
            if one.low is not None:
                low, high = map(self.coordinate, one.ends)
                down, up = centre + share * half, centre - share * half
                told = "" if is_dots else tip
                self.canvas.rect(low, up, max(high, low + 1), down, f"{style} faint", told)
            for x in map(self.coordinate, row.singles):
                self.canvas.line(x, centre - share * half, x, centre + share * half, stroke)
            if is_dots:
                self.canvas.dot(at, centre, style, tip)
            else:
                self.canvas.line(at, centre - half, at, centre + half, f"{stroke} curve median")
