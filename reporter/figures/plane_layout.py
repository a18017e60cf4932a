"""Lays out lines and dots over two value axes, and radars."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reporter.figures.labels import LINE, around, broken, placed, shortened, spread
from reporter.figures.look import BASE, Cell, Look, thinned, write_axis
from reporter.figures.model import Dot, Line, Plane, Point, Radar, Span
from reporter.figures.svg import Canvas, number

ROUNDING = 0.05
"""Coordinates are rounded to one decimal."""
TITLE_IN, TITLE_UP = 6.0, 14.0
"""Where the title of a vertical axis is: from the left edge, and above the plot."""
NEAR, BEGIN, LABEL_SHARE, LABEL_LINES = 6.0, 18.0, 0.3, 3
"""Right of the plot: where the leaders of lines' labels bend and where the labels begin; the most
of a drawing's width, and lines, that a label takes."""
MANY, SHOWN = 12, 8
"""A line of more points than MANY has marks at about SHOWN of them."""
MAX_DOT_LABEL = 290.0
RINGS, RADIUS, RADIUS_SHARE, RIM = (0.25, 0.5, 0.75, 1.0), 165.0, 0.23, 21.5
"""Of a radar: rings, the most of its radius and of a drawing's width, from the rim to titles."""

Path = list[Point]


@dataclass(frozen=True)
class _Plot:
    """Where a plane is drawn."""

    panel: Plane
    left: float
    right: float
    top: float
    bottom: float

    def across(self, x: float) -> float:
        """The horizontal coordinate of a value."""
        return self.left + self.panel.x.share(x) * (self.right - self.left)

    def at(self, x: float, y: float) -> Point:
        """The coordinates of a point; also beyond the ends of the axes."""
        return self.across(x), self.bottom + self.panel.y.share(y) * (self.top - self.bottom)

    def inside(self, path: Path) -> Path:
        """The points of a path, in coordinates, that lie in the plot."""
        return [
            (x, y)
            for x, y in self._with_crossings(path)
            if self.top - ROUNDING <= y <= self.bottom + ROUNDING
        ]

    def clamped(self, path: Path) -> Path:
        """The path clamped to the top and bottom edges of the plot."""
        return [(x, max(self.top, min(y, self.bottom))) for x, y in self._with_crossings(path)]

    def _with_crossings(self, path: Path) -> Path:
        """The path with additional points where it crosses the top or the bottom edge."""
        found = list(path[:1])
        for (x, y), (next_x, next_y) in pairwise(path):
            crossed = sorted(
                (edge - y) / (next_y - y)
                for edge in (self.top, self.bottom)
                if min(y, next_y) < edge < max(y, next_y)
            )
            found += [
                *((x + share * (next_x - x), y + share * (next_y - y)) for share in crossed),
                (next_x, next_y),
            ]
        return found


def lay_plane(canvas: Canvas, panel: Plane, look: Look, cell: Cell) -> float:
    """Draws the plane; returns where it ends."""
    labels = [
        broken(line.label, look.measure, LABEL_SHARE * look.width, LABEL_LINES)
        for line in panel.lines
    ]
    wide = max((look.measure(text) for lines in labels for text in lines), default=0.0)
    heights = sum(LINE * len(lines) + 1 for lines in labels) if wide else 0.0
    height, titles = max(cell.height, heights), [panel.y_axis]
    left = cell.left + cell.label
    if look.is_paper:
        titles = [
            line for part in panel.y_axis.split("\n") for line in broken(part, look.measure, height)
        ]
        left = LINE * len(titles) + max(look.measure(text) for _, text in panel.y.labels) + 12.0
    beside = wide + BEGIN if wide else (cell.right - cell.left) / 30
    plot = _Plot(panel, left, cell.right - beside, cell.top, cell.top + height)
    for span in panel.spans:
        _draw_span(canvas, span, plot, look)
    _draw_grid(canvas, plot, look)
    for index, text in enumerate(titles):
        if look.is_paper:
            canvas.upright(LINE * (index + 0.8), (plot.top + plot.bottom) / 2, text, "axis")
        else:
            canvas.text(cell.left + TITLE_IN, plot.top - TITLE_UP, text, "axis")
    for line in panel.lines:
        _draw_line(canvas, line, plot)
    for style, points in panel.crowds:
        canvas.dots([plot.at(*point) for point in points], f"{style} dots faint")
    for dot in panel.dots:
        _draw_dot(canvas, dot, plot)
    _label_dots(canvas, plot, look)
    _label_lines(canvas, plot, labels)
    ticks = [(plot.across(tick), text) for tick, text in panel.x.labels]
    return write_axis(canvas, look, ticks, panel.x_axis, (plot.left, plot.right, plot.bottom))


def _draw_span(canvas: Canvas, span: Span, plot: _Plot, look: Look) -> None:
    left, right = plot.across(span.start), plot.across(span.stop)
    if right - left > 1:
        canvas.rect(left, plot.top, right, plot.bottom, "span", span.tip)
    if right - left > look.measure(span.label) + NEAR:
        canvas.text((left + right) / 2, plot.top + LINE, span.label, "tick", "middle")


def _draw_grid(canvas: Canvas, plot: _Plot, look: Look) -> None:
    for tick in plot.panel.x.ticks:
        x = plot.across(tick)
        canvas.line(x, plot.top, x, plot.bottom, "grid")
    numbers = [(-plot.at(0.0, tick)[1], text) for tick, text in plot.panel.y.labels]
    for y, _ in numbers:
        canvas.line(plot.left, -y, plot.right, -y, "grid")
    for y, text in thinned(numbers, lambda _: LINE):
        canvas.text(plot.left - NEAR, -y + BASE, text, "tick", "end")
    if look.is_paper:
        canvas.path(
            [(plot.left, plot.top), (plot.left, plot.bottom), (plot.right, plot.bottom)], "edge"
        )


def _draw_line(canvas: Canvas, line: Line, plot: _Plot) -> None:
    ends = [(x, one.ends) for x, one in line.points if one.low is not None]
    stroke, fill = line.style.partition(" ")[0], f"c{line.style[1]}"
    if line.is_band:
        upper, lower = ([plot.at(x, both[end]) for x, both in ends] for end in (1, 0))
        outline = [*plot.clamped(upper), *reversed(plot.clamped(lower))]
        canvas.path(outline, f"{fill} area", closed=True)
    else:
        for x, (low, high) in ends:
            _draw_error(canvas, plot, (x, low), (x, high), stroke)
    path = [plot.at(x, one.value) for x, one in line.points]
    canvas.path(plot.inside(path), line.style, tip=line.tip)
    if line.label:
        step = max(1, len(path) // SHOWN) if len(path) > MANY else 1
        for place in path[::step]:
            canvas.dot(*place, fill)
    elif len(path) == 1:
        canvas.dot(*path[0], fill, radius=2)


def _draw_error(canvas: Canvas, plot: _Plot, low: Point, high: Point, stroke: str) -> None:
    ends = plot.clamped([plot.at(*low), plot.at(*high)])
    canvas.line(*ends[0], *ends[-1], f"{stroke} error")


def _draw_dot(canvas: Canvas, dot: Dot, plot: _Plot) -> None:
    x, y, stroke = dot.x.value, dot.y.value, f"l{dot.style[1]}"
    if dot.x.low is not None:
        _draw_error(canvas, plot, (dot.x.ends[0], y), (dot.x.ends[1], y), stroke)
    if dot.y.low is not None:
        _draw_error(canvas, plot, (x, dot.y.ends[0]), (x, dot.y.ends[1]), stroke)
    across, down = plot.at(x, y)
    data = {**dict(dot.data), "across": number(across), "down": number(down)} if dot.data else {}
    with canvas.group(data), canvas.link(dot.link, dot.name):
        canvas.dot(across, down, dot.style, dot.tip, dot.size)


def _label_dots(canvas: Canvas, plot: _Plot, look: Look) -> None:
    """Writes labels beside their dots, or with lines to them; a label without a place is left
    out."""
    points = [plot.at(dot.x.value, dot.y.value) for dot in plot.panel.dots]
    points += [plot.at(*point) for _, crowd in plot.panel.crowds for point in crowd]
    taken = [(x - NEAR, y - NEAR, x + NEAR, y + NEAR) for x, y in points]
    for dot in plot.panel.dots:
        low, high = dot.x.ends
        taken.append(around(plot.at(low, dot.y.value), plot.at(high, dot.y.value)))
    for line in plot.panel.lines:
        path = plot.clamped([plot.at(x, one.value) for x, one in line.points])
        taken += [around(*pair) for pair in pairwise(path)] if "front" in line.style else []
    labelled = [
        (shortened(dot.label, look.measure, MAX_DOT_LABEL), point)
        for dot, point in zip(plot.panel.dots, points, strict=False)
        if dot.label
    ]
    found = placed(
        [(point, look.measure(text)) for text, point in labelled],
        points,
        taken,
        (plot.left, plot.top, plot.right, plot.bottom),
    )
    for (text, _), place in zip(labelled, found, strict=True):
        if place is not None:
            if place.join is not None:
                canvas.line(*place.join[0], *place.join[1], "join")
            canvas.text(place.box[0], place.box[3] - BASE, text, "name")


def _label_lines(canvas: Canvas, plot: _Plot, labels: Sequence[tuple[str, ...]]) -> None:
    """Writes labels to the right of the plot near the ends of their lines, one below the other,
    with leaders."""
    labelled = [
        (line, lines) for line, lines in zip(plot.panel.lines, labels, strict=True) if line.label
    ]
    ends = [plot.at(line.points[-1][0], line.points[-1][1].value) for line, _ in labelled]
    heights = [LINE * len(lines) + 1 for _, lines in labelled]
    up = spread([-y for _, y in ends], heights, -plot.bottom - 2 * LINE, -plot.top + LINE / 2)
    for (line, lines), (x, y), centre in zip(labelled, ends, up, strict=True):
        begin = plot.right + BEGIN
        leader = [(x, y), (plot.right + NEAR, y), (begin - 2, -centre)]
        canvas.path(leader, f"{line.style.partition(' ')[0]} leader")
        for index, text in enumerate(lines):
            middle = -centre + LINE * (index - (len(lines) - 1) / 2)
            canvas.text(begin, middle + BASE, text, "name")


def lay_radar(canvas: Canvas, panel: Radar, look: Look, cell: Cell) -> float:
    """Draws the polygons; returns where they end."""
    radius, count = min(RADIUS, RADIUS_SHARE * look.width), len(panel.axes)
    room = look.width / 2 - radius - RIM
    titles = [
        [line for part in title.split("\n") for line in broken(part, look.measure, room, 3)]
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
