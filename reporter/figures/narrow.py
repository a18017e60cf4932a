"""Figures for narrow screens: the same shapes at other places, so that text keeps its size and
nobody scrolls sideways.

A row's label stands above its bar, its value at the label's end; a plane's plot is squeezed, and
labels that find no room are left to the table.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from reporter.figures.svg import Canvas, Part, Point, Shape, Tag, Words, number

WIDTH, MARGIN, EDGE = 380.0, 6.0, 12.0
"""Of a narrow figure, in user units, which are about pixels on a phone; left of everything; right
of the plot."""
LETTER, LINE = 7.4, 15.0
"""Width of a letter and height of a line of text."""
LEGEND_LINE, LABEL_LINE, BASE, CUT, GAP = 18.0, 17.0, 13.0, 6.0, 8.0
"""Height of a line of the legend and of a row's label; from its top to its base; what is cut above
and below a row's bar; between rows."""
AXIS = 46.0
"""Left of a plane's plot, for the numbers of its vertical axis."""
DISTANCES = range(0, 8)
"""Lines between a label and its point."""
FEW = 12
"""Points of a path that is drawn in whole units; a longer one is a curve, which would have
steps."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True)
class FoldedRows:
    """Where a chart of ``count`` rows has its rows and its plot."""

    top: float
    step: float
    count: int
    left: float
    right: float

    @property
    def bottom(self) -> float:
        """Below the last row."""
        return self.top + self.count * self.step

    def row(self, y: float) -> int:
        """The row at a height; above the first that one, below the last their number."""
        return min(max(int((y - self.top) // self.step), 0), self.count)


@dataclass(frozen=True)
class FoldedPlane:
    """The plot of a chart with two value axes."""

    left: float
    right: float
    top: float
    bottom: float


def fold_rows(canvas: Canvas, rows: FoldedRows) -> Canvas:
    """A chart of rows for a narrow screen."""
    legend = _Legend.of(canvas.parts, rows.top)
    on_two_lines = {
        rows.row(part.y)
        for part in canvas.parts
        if isinstance(part, Words) and part.style == "more"
    }
    leads = [LABEL_LINE * (1 + (row in on_two_lines)) for row in range(rows.count)]
    pitches = [lead + rows.step - 2 * CUT + GAP for lead in leads]
    starts = [
        rows.top + LEGEND_LINE * max(0, legend.lines - 1) + sum(pitches[:row])
        for row in range(rows.count + 1)
    ]

    def across(x: float) -> float:
        return _squeezed(x, rows.left, rows.right, MARGIN)

    def along(y: float) -> float:
        row = rows.row(y)
        if y < rows.top or row == rows.count:
            return y + starts[row] - rows.top - row * rows.step
        return (
            starts[row]
            + leads[row]
            + min(max(y - rows.top - row * rows.step - CUT, 0.0), rows.step - 2 * CUT)
        )

    values: dict[int, list[Words]] = {}
    for part in canvas.parts:
        if isinstance(part, Words) and rows.top <= part.y < rows.bottom and part.x > rows.left:
            values.setdefault(rows.row(part.y), []).append(part)

    def place(words: Words) -> Words | None:
        row = rows.row(words.y)
        if rows.top <= words.y < rows.bottom and words.x <= rows.left:
            return replace(
                words,
                x=MARGIN,
                y=starts[row] + BASE + LABEL_LINE * (words.style == "more"),
                anchor="start",
            )
        if words in values.get(row, ()):
            text = " / ".join(each.text for each in values[row])
            return (
                replace(words, x=WIDTH - MARGIN, y=starts[row] + BASE, text=text, anchor="end")
                if words == values[row][0]
                else None
            )
        return replace(words, x=across(words.x), y=along(words.y))

    return _folded(canvas, along(canvas.height), _Places(across, along, legend), place)


def fold_plane(canvas: Canvas, plot: FoldedPlane) -> Canvas:
    """A chart with two value axes for a narrow screen."""
    legend = _Legend.of(canvas.parts, plot.top)
    down = LEGEND_LINE * legend.lines

    def across(x: float) -> float:
        return _squeezed(x, plot.left, plot.right, AXIS)

    def along(y: float) -> float:
        return y + down

    marks = [
        (across(x), along(y))
        for part in canvas.parts
        if isinstance(part, Shape) and part.kind == "dot"
        for x, y in part.points
    ]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in marks]
    taken += [
        (
            across(min(a[0], b[0])) - 2,
            along(min(a[1], b[1])) - 2,
            across(max(a[0], b[0])) + 2,
            along(max(a[1], b[1])) + 2,
        )
        for part in canvas.parts
        if isinstance(part, Shape) and part.style == "front"
        for a, b in pairwise(part.points)
    ]
    owners = _owners(canvas.parts)
    window = (AXIS, plot.top + down, WIDTH - EDGE, plot.bottom + down)

    def place(words: Words) -> Words | None:
        moved = replace(words, x=across(words.x), y=along(words.y))
        if words.style != "name" or not marks:
            return moved
        x, y = owners[id(words)]
        mark = across(x), along(y)
        box = next(
            (
                box
                for box in _boxes(*mark, LETTER * len(words.text))
                if _within(box, window) and not covers(box, taken)
            ),
            None,
        )
        if box is not None and any(
            distance(each, box) < distance(mark, box) for each in marks if each != mark
        ):
            return None  # it would stand beside another point
        if box is None:
            return None
        taken.append(box)
        return replace(words, x=box[0], y=box[3] - 4, anchor="start")

    # lines to labels, which are elsewhere here
    parts = [
        part for part in canvas.parts if not (isinstance(part, Shape) and part.style == "join")
    ]
    return _folded(
        replace(canvas, parts=parts), canvas.height + down, _Places(across, along, legend), place
    )


def _owners(parts: Iterable[Part]) -> dict[int, Point]:
    """The point of each label by the label's identity: where the line before it begins, else the
    nearest one."""
    dots = [
        point
        for part in parts
        if isinstance(part, Shape) and part.kind == "dot"
        for point in part.points
    ]
    found: dict[int, Point] = {}
    join: Shape | None = None
    for part in parts:
        if isinstance(part, Words) and part.style == "name" and dots:
            box = _box(part)
            found[id(part)] = (
                min(dots, key=lambda dot: distance(dot, box)) if join is None else join.points[0]
            )
        join = part if isinstance(part, Shape) and part.style == "join" else None
    return found


@dataclass
class _Legend:
    """A legend in lines: where each of its parts is moved, by the part's identity."""

    moved: dict[int, Point] = field(default_factory=dict)
    lines: int = 0

    @classmethod
    def of(cls, parts: Iterable[Part], top: float) -> "_Legend":
        """The legend above ``top``: marks or squares, each followed by its name."""
        legend, x, mark = cls(), MARGIN, None
        for part in parts:
            if isinstance(part, Shape) and part.kind in ("rect", "dot") and part.points[0][1] < top:
                mark = part
            elif (
                isinstance(part, Words)
                and part.y < top
                and part.style == "tick"
                and mark is not None
            ):
                start = mark.points[0][0] - mark.radius
                width = part.x - start + LETTER * len(part.text)
                if legend.lines == 0 or x + width > WIDTH:
                    legend.lines, x = legend.lines + 1, MARGIN
                legend.moved[id(mark)] = legend.moved[id(part)] = (
                    x - start,
                    LEGEND_LINE * (legend.lines - 1),
                )
                x, mark = x + width + 2 * EDGE, None
        return legend


@dataclass(frozen=True)
class _Places:
    """Where a narrow figure has what the wide one has at ``x`` and ``y``."""

    across: Callable[[float], float]
    along: Callable[[float], float]
    legend: _Legend

    def of_shape(self, shape: Shape) -> Shape:
        """Without its tooltip: narrow screens have no pointer."""
        if (by := self.legend.moved.get(id(shape))) is not None:
            return replace(
                shape, points=tuple((x + by[0], y + by[1]) for x, y in shape.points), tip=""
            )
        (x, y), (width, height) = shape.points[0], shape.size
        size = (
            (self.across(x + width) - self.across(x), self.along(y + height) - self.along(y))
            if shape.kind == "rect"
            else shape.size
        )
        points = tuple((self.across(x), self.along(y)) for x, y in shape.points)
        # fewer bytes, and dots at one place are one dot
        if len(points) <= FEW or shape.kind == "dots":
            points = tuple((float(round(x)), float(round(y))) for x, y in points)
        return replace(shape, points=points, size=size, tip="")

    def of_tag(self, tag: Tag) -> Tag:
        """With the places that the page's script draws a front through."""
        if "across" not in tag.data:
            return tag
        places = {
            "across": number(self.across(float(tag.data["across"]))),
            "down": number(self.along(float(tag.data["down"]))),
        }
        return replace(tag, data={**tag.data, **places})


def _folded(
    canvas: Canvas, height: float, places: _Places, place: Callable[[Words], Words | None]
) -> Canvas:
    parts: list[Part] = []
    ticks: list[Box] = []
    for part in canvas.parts:
        if isinstance(part, Shape):
            parts.append(places.of_shape(part))
        elif isinstance(part, Tag):
            parts.append(places.of_tag(part))
        elif (by := places.legend.moved.get(id(part))) is not None:
            parts.append(replace(part, x=part.x + by[0], y=part.y + by[1]))
        elif (moved := place(part)) is not None:
            inside = _inside(replace(moved, x=round(moved.x), y=round(moved.y)))
            box = _box(inside)
            if inside.style != "tick" or not covers(box, ticks):
                parts.append(inside)
                ticks.append(box)
    return Canvas(WIDTH, height, canvas.title, canvas.description, parts=parts)


def _squeezed(x: float, left: float, right: float, start: float) -> float:
    """A place in the plot from ``start`` to the right edge; outside the plot, distances remain."""
    if x <= left:
        return max(start + x - left, MARGIN if start == MARGIN else 0.0)
    return (
        start
        + (min(x, right) - left) / (right - left) * (WIDTH - EDGE - start)
        + max(x - right, 0.0)
    )


def _box(words: Words) -> Box:
    width = LETTER * len(words.text)
    left = words.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor]
    return left, words.y - LINE + 4, left + width, words.y + 4


def _inside(words: Words) -> Words:
    """The words, moved to within the figure's edges."""
    left, _, right, _ = _box(words)
    return replace(words, x=words.x - max(0.0, right - WIDTH + 1) + max(0.0, 1 - left))


def distance(point: Point, box: Box) -> float:
    """From a point to the nearest edge of a box; 0 within it."""
    across = max(box[0] - point[0], 0.0, point[0] - box[2])
    return math.hypot(across, max(box[1] - point[1], 0.0, point[1] - box[3]))


def _boxes(x: float, y: float, width: float) -> Iterator[Box]:
    """Places for a label of that width beside a point, the nearest first."""
    for distance in DISTANCES:
        for top in (y + 7 + distance * LINE, y - 7 - LINE - distance * LINE):
            for left in (x + 8, x - 8 - width, x - width / 2):
                yield left, top, left + width, top + LINE


def _within(box: Box, window: Box) -> bool:
    return (
        box[0] >= window[0] and box[1] >= window[1] and box[2] <= window[2] and box[3] <= window[3]
    )


def covers(box: Box, others: Sequence[Box]) -> bool:
    """Whether the box overlaps one of the others."""
    return any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in others
    )
