"""Lays out lines and dots over two value axes, and radars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, starmap

from reporter.figures.labels import (
    LINE,
    line_box,
    place_labels,
    shorten_text,
    spread_boxes,
    wrap_text,
)
from reporter.figures.look import BASE, MARGIN, DrawingLook, PanelCell, thin_ticks, write_axis
from reporter.figures.model import Dot, Line, Plane, Point, Radar, Span
from reporter.figures.svg import SPAN, Canvas, coordinate_text

ROUNDING = 0.05
"""Coordinates are rounded to one decimal."""
TITLE_UP = 14.0
"""The title of a vertical axis above the plot."""
NEAR, BEGIN, LABEL_SHARE, LABEL_LINES = 6.0, 18.0, 0.3, 3
"""Right of the plot: where the leaders of lines' labels bend and where the labels begin; the most
of a drawing's width, and lines, that a label takes."""
MANY, SHOWN = 12, 8
"""A line of more points than MANY has marks at about SHOWN of them."""
MAX_DOT = 290.0
"""Width of a dot's label."""
RINGS, RADIUS, RADIUS_SHARE, RIM = (0.25, 0.5, 0.75, 1.0), 165.0, 0.23, 21.5
"""Of a radar: rings, the most of its radius and of a drawing's width, from the rim to titles."""

Path = list[Point]


def lay_plane(canvas: Canvas, panel: Plane, look: DrawingLook, cell: PanelCell) -> float:
    """Draws the plane; returns where it ends."""
    labels = [
        wrap_text(line.label, look.measure, LABEL_SHARE * look.width, LABEL_LINES)
        for line in panel.lines
    ]
    wide = max((look.measure(text) for lines in labels for text in lines), default=0.0)
    heights = [LINE * len(lines) + 1 for lines in labels] if wide else []
    left, height, titles = cell.left + cell.label, max(cell.height, sum(heights)), [panel.y_axis]
    if look.is_paper:
        titles = [
            line
            for part in panel.y_axis.split("\n")
            for line in wrap_text(part, look.measure, height)
        ]
        left = LINE * len(titles) + max(look.measure(text) for _, text in panel.y.labels) + 12.0
    right = cell.right - (wide + BEGIN if wide else (cell.right - cell.left) / 30)
    plot = _Plot(canvas, panel, look, left, right, cell.top, cell.top + height)
    for index, text in enumerate(titles):
        if look.is_paper:
            canvas.upright(LINE * (index + 0.8), cell.top + height / 2, text, "axis")
        else:
            canvas.text(cell.left + MARGIN, plot.top - TITLE_UP, text, "axis")
    plot.draw(labels)
    ticks = [(plot.point(tick)[0], text) for tick, text in panel.x.labels]
    return write_axis(canvas, look, ticks, panel.x_axis, (left, right, plot.bottom))


@dataclass(frozen=True)
class _Plot:
    """Where a plane is drawn."""

    canvas: Canvas
    panel: Plane
    look: DrawingLook
    left: float
    right: float
    top: float
    bottom: float

    def point(self, x: float, y: float = 0.0) -> Point:
        """The coordinates of a point; also beyond the ends of the axes."""
        across, up = self.panel.x.share(x), self.panel.y.share(y)
        return (
            self.left + across * (self.right - self.left),
            self.bottom + up * (self.top - self.bottom),
        )

    def clamped(self, path: Path) -> Path:
        """The path clamped to the top and bottom edges of the plot."""
        return [(x, max(self.top, min(y, self.bottom))) for x, y in self._with_crossings(path)]

    def _with_crossings(self, path: Path) -> Path:
        """The path with additional points where it crosses the top or the bottom edge."""
        if all(self.top <= y <= self.bottom for _, y in path):
            return path
        found = list(path[:1])
        for (x, y), (next_x, next_y) in pairwise(path):
            crossed = sorted(
                (edge - y) / (next_y - y)
                for edge in (self.top, self.bottom)
                if min(y, next_y) < edge < max(y, next_y)
            )
            found += [(x + share * (next_x - x), y + share * (next_y - y)) for share in crossed]
            found.append((next_x, next_y))
        return found

    def draw(self, labels: Sequence[tuple[str, ...]]) -> None:
        """Everything but the axes' titles and the numbers of the horizontal one; ``labels`` are the
        lines of those of lines."""
        for span in self.panel.spans:
            left, right = self.point(span.start)[0], self.point(span.stop)[0]
            if right - left > 1:
                self.canvas.rect(left, self.top, right, self.bottom, SPAN, span.tip)
        for span in self.panel.spans:
            self._label_span(span)
        self._grid()
        for line in self.panel.lines:
            self._line(line)
        for style, points in self.panel.crowds:
            self.canvas.dots(starmap(self.point, points), f"{style} dots faint")
        for dot in self.panel.dots:
            self._dot(dot)
        self._label_dots()
        self._label_lines(labels)

    def _label_span(self, span: Span) -> None:
        left, right = self.point(span.start)[0], self.point(span.stop)[0]
        if right - left > self.look.measure(span.label) + NEAR:
            middle, y = (left + right) / 2, self.top + LINE
            self.canvas.text(middle, y, span.label, "tick", "middle")

    def _grid(self) -> None:
        for x, _ in map(self.point, self.panel.x.ticks):
            self.canvas.line(x, self.top, x, self.bottom, "grid")
        numbers = [(self.point(0.0, tick)[1], text) for tick, text in self.panel.y.labels]
        for y, _ in numbers:
            self.canvas.line(self.left, y, self.right, y, "grid")
        for y, text in thin_ticks(numbers, lambda _: LINE):
            self.canvas.text(self.left - NEAR, y + BASE, text, "tick", "end")
        if self.look.is_paper:
            corner = (self.left, self.bottom)
            self.canvas.path([(self.left, self.top), corner, (self.right, self.bottom)], "edge")

    def _line(self, line: Line) -> None:
        stroke, fill = line.style.partition(" ")[0], f"c{line.style[1]}"
        ends = [(x, *one.ends) for x, one in line.points if one.low is not None]
        if line.is_band:
            upper = self.clamped([self.point(x, high) for x, _, high in ends])
            lower = self.clamped([self.point(x, low) for x, low, _ in ends])
            self.canvas.path([*upper, *reversed(lower)], f"{fill} area", closed=True)
        else:
            for x, low, high in ends:
                self._error((x, low), (x, high), stroke)
        path = [self.point(x, one.value) for x, one in line.points]
        inside = [
            (x, y)
            for x, y in self._with_crossings(path)
            if self.top - ROUNDING <= y <= self.bottom + ROUNDING
        ]
        self.canvas.path(inside, line.style, tip=line.tip)
        if line.label:
            step = max(1, len(path) // SHOWN) if len(path) > MANY else 1
            for place in path[::step]:
                self.canvas.dot(*place, fill)
        elif len(path) == 1:
            self.canvas.dot(*path[0], fill, radius=2)

    def _error(self, low: Point, high: Point, stroke: str) -> None:
        first, *_, last = self.clamped([self.point(*low), self.point(*high)])
        self.canvas.line(*first, *last, f"{stroke} error")

    def _dot(self, dot: Dot) -> None:
        (left, right), (low, high), stroke = dot.x.ends, dot.y.ends, f"l{dot.style[1]}"
        if dot.x.low is not None:
            self._error((left, dot.y.value), (right, dot.y.value), stroke)
        if dot.y.low is not None:
            self._error((dot.x.value, low), (dot.x.value, high), stroke)
        x, y = self.point(dot.x.value, dot.y.value)
        data = (
            {**dict(dot.data), "across": coordinate_text(x), "down": coordinate_text(y)}
            if dot.data
            else {}
        )
        with self.canvas.group(data), self.canvas.link(dot.link, dot.name):
            self.canvas.dot(x, y, dot.style, dot.tip, dot.size)

    def _label_dots(self) -> None:
        """Writes labels beside their dots, or with lines to them; a label without a place is left
        out."""
        points = [self.point(dot.x.value, dot.y.value) for dot in self.panel.dots]
        labels = [shorten_text(dot.label, self.look.measure, MAX_DOT) for dot in self.panel.dots]
        every = [*points, *(self.point(*one) for _, crowd in self.panel.crowds for one in crowd)]
        taken = [(x - NEAR, y - NEAR, x + NEAR, y + NEAR) for x, y in every]
        for dot in self.panel.dots:
            left, right = dot.x.ends
            taken.append(line_box(self.point(left, dot.y.value), self.point(right, dot.y.value)))
        for line in (line for line in self.panel.lines if "front" in line.style):
            path = self.clamped([self.point(x, one.value) for x, one in line.points])
            taken += starmap(line_box, pairwise(path))
        labelled = [pair for pair in zip(points, labels, strict=True) if pair[1]]
        places = place_labels(
            [(point, self.look.measure(text)) for point, text in labelled],
            every,
            taken,
            (self.left, self.top, self.right, self.bottom),
        )
        for (_, text), place in zip(labelled, places, strict=True):
            if place is not None:
                for begin, end in [place.join] if place.join else []:
                    self.canvas.line(*begin, *end, "join")
                self.canvas.text(place.box[0], place.box[3] - BASE, text, "name")

    def _label_lines(self, labels: Sequence[tuple[str, ...]]) -> None:
        """Writes labels to the right of the plot near the ends of their lines, one below the other,
        with leaders."""
        labelled = [pair for pair in zip(self.panel.lines, labels, strict=True) if pair[0].label]
        ends = [self.point(line.points[-1][0], line.points[-1][1].value) for line, _ in labelled]
        heights = [LINE * len(lines) + 1 for _, lines in labelled]
        # up, since labels may go below the plot, and not above it
        low, high = -self.bottom - 2 * LINE, LINE / 2 - self.top
        centres = spread_boxes([-y for _, y in ends], heights, low, high)
        begin = self.right + BEGIN
        for (line, lines), (x, y), centre in zip(labelled, ends, centres, strict=True):
            leader = [(x, y), (self.right + NEAR, y), (begin - 2, -centre)]
            self.canvas.path(leader, f"{line.style.partition(' ')[0]} leader")
            for index, text in enumerate(lines):
                middle = -centre + LINE * (index - (len(lines) - 1) / 2)
                self.canvas.text(begin, middle + BASE, text, "name")


def lay_radar(canvas: Canvas, panel: Radar, look: DrawingLook, cell: PanelCell) -> float:
    """Draws the polygons; returns where they end."""
    radius, count = min(RADIUS, RADIUS_SHARE * look.width), len(panel.axes)
    room = look.width / 2 - radius - RIM
    titles = [
        [line for part in title.split("\n") for line in wrap_text(part, look.measure, room, 3)]
        for title in panel.axes
    ]
    high = LINE * max(map(len, titles))
    centre = look.width / 2, cell.top + high + RIM + radius

    def at(index: int, share: float, beyond: float = 0.0) -> Point:
        angle, reach = 2 * math.pi * index / count - math.pi / 2, share * radius + beyond
        x, y = reach * math.cos(angle), reach * math.sin(angle)
        return centre[0] + x, centre[1] + y

    for ring in RINGS:
        canvas.path([at(index, ring) for index in range(count)], "ring", closed=True)
        canvas.text(centre[0] + BASE, centre[1] - ring * radius - 3, f"{ring:g}", "tick")
    for index, lines in enumerate(titles):
        canvas.line(*centre, *at(index, 1.0), "grid")
        _write_rim(canvas, lines, at(index, 1.0, RIM), centre, radius)
    for polygon in panel.polygons:
        points = [at(index, share) for index, share in enumerate(polygon.shares)]
        canvas.path(points, f"c{polygon.style} area", closed=True)
        canvas.path(points, f"l{polygon.style} curve", closed=True)
        with canvas.link(polygon.link, polygon.label):
            for point, tip in zip(points, polygon.tips, strict=True):
                canvas.dot(*point, f"c{polygon.style}", tip)
    return centre[1] + radius + RIM + high


def _write_rim(
    canvas: Canvas, lines: Sequence[str], place: Point, centre: Point, radius: float
) -> None:
    """A title beyond the rim, aligned away from the circle."""
    (x, y), last = place, len(lines) - 1
    anchor = "middle" if abs(x - centre[0]) < 0.24 * radius else "start" if x > centre[0] else "end"
    above = 1.0 if y < centre[1] - radius / 2 else 0.0 if y > centre[1] + radius / 2 else 0.5
    for index, line in enumerate(lines):
        canvas.text(x, y + BASE + LINE * (index - above * last), line, "axis", anchor)
