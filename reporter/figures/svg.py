"""Shapes and text of a drawing, and the drawing as SVG; escapes all strings and formats numbers
deterministically."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile
from xml.sax.saxutils import escape, quoteattr

import numpy as np

SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    ((-1.3, -0.45), (1.3, -0.45), (1.3, 0.45), (-1.3, 0.45)),
    ((-0.45, -1.3), (0.45, -1.3), (0.45, 1.3), (-0.45, 1.3)),
)
"""The mark of each number of a colour, as corners in radii; the first is a circle."""

Point = tuple[float, float]
GRID, SPAN, FRONT = "grid", "span", "front"
MANY, TENTH = 12, 0.1
"""The styles of a grid's lines, of shaded columns and of the front, which site.js reads; another
path of more points than MANY is written as steps; the last digit of coordinates."""


@dataclass(frozen=True)
class Shape:
    """A rectangle (from ``points[0]`` to ``points[1]``), a mark (of ``radius`` around a point),
    small round dots, a line, several lines or rectangles (of two points each), a path or a polygon.
    ``name``: its id, for :class:`Stretched`."""

    kind: str
    points: tuple[Point, ...]
    style: str
    tip: str = ""
    radius: float = 0.0
    name: str = ""

    def svg(self) -> str:
        """The element."""
        name, attributes = self._element()
        end = f"><title>{escape(self.tip)}</title></{name}>" if self.tip else "/>"
        own = f" id={quoteattr(self.name)}" if self.name else ""
        return f"<{name} {attributes}{_class(self.style)}{own}{end}"

    def _element(self) -> tuple[str, str]:
        (x, y), (right, bottom) = self.points[0], self.points[-1]
        if self.kind == "rect":
            size = {"width": max(right - x, 0.0), "height": max(bottom - y, 0.0)}
            return "rect", _attributes(x=x, y=y, **size)
        if self.kind == "line":
            return "line", _attributes(x1=x, y1=y, x2=right, y2=bottom)
        if self.kind in ("lines", "rects"):
            draw = _straight if self.kind == "lines" else _box
            return "path", f'd="{"".join(map(draw, self.points[::2], self.points[1::2]))}"'
        if self.kind == "dots":
            places = {f"M{across:.0f} {down:.0f}h.01" for across, down in self.points}
            return "path", f'd="{"".join(sorted(places))}"'
        if self.kind == "dot":
            corners = SHAPES[int(self.style[1]) % len(SHAPES)]
            if not corners:
                return "circle", _attributes(cx=x, cy=y, r=self.radius)
            outline = [(x + self.radius * a, y + self.radius * b) for a, b in corners]
            return replace(self, kind="polygon", points=tuple(outline))._element()
        is_short = self.style == FRONT or len(self.points) <= MANY
        way = _way(self.points) if is_short else _steps(self.points)
        return "path", f'd="M{way}{"Z" if self.kind == "polygon" else ""}"'


@dataclass(frozen=True)
class Words:
    """A line of text, from ``x``, around it or up to it (``anchor``) on the base line ``y``;
    ``is_upright``: turned to the left."""

    x: float
    y: float
    text: str
    style: str
    anchor: str
    is_upright: bool = False

    def svg(self) -> str:
        """The element."""
        anchor = "" if self.anchor == "start" else self.anchor
        style = _class(f"{self.style} {anchor}".strip())
        return f"<text {_attributes(x=self.x, y=self.y)}{style}>{escape(self.text)}</text>"


@dataclass(frozen=True)
class Stretched:
    """The shape or group ``name`` of another drawing of the page, stretched and then shifted,
    across and down."""

    name: str
    factors: Point
    shifts: Point

    def svg(self) -> str:
        """The element."""
        (across, down), (x, y) = self.factors, self.shifts
        where = f'transform="matrix({across:.5g} 0 0 {down:.5g} {x:.5g} {y:.5g})"'
        if self.factors == (1.0, 1.0):
            where = _attributes(x=x, y=y)
        return f"<use href={quoteattr(f'#{self.name}')} {where}/>"


@dataclass(frozen=True)
class Tag:
    """The beginning or the end of a link or a group."""

    text: str

    def svg(self) -> str:
        """The tag."""
        return self.text


Part = Shape | Stretched | Words | Tag


@dataclass
class Canvas:
    """Collects shapes in user units.

    Colours come from the page's style sheet through classes (``c0`` … ``c7`` fill, ``l0`` …
    stroke); the same figure serves light and dark. ``has_tips``: shapes keep their tooltips.
    """

    width: float
    has_tips: bool = True
    height: float = 0.0
    parts: list[Part] = field(default_factory=list)

    def rect(
        self, left: float, top: float, right: float, bottom: float, style: str, tip: str = ""
    ) -> None:
        """A filled rectangle with an optional tooltip."""
        self._add("rect", [(left, top), (right, bottom)], style, tip)

    def dot(self, x: float, y: float, style: str, tip: str = "", radius: float = 4.5) -> None:
        """A filled mark with an optional tooltip. Its shape is that of the number in its style:
        colours are not all that tells marks apart."""
        self._add("dot", [(x, y)], style, tip, radius)

    def dots(self, points: Iterable[Point], style: str) -> None:
        """Small round marks without tooltips as one shape; those at one place are one mark."""
        self._add("dots", list(points), style)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A straight line."""
        self._add("line", [(x1, y1), (x2, y2)], style)

    def path(
        self, points: Sequence[Point], style: str, closed: bool = False, tip: str = ""
    ) -> None:
        """A polyline or, if ``closed``, a polygon."""
        self._add("polygon" if closed else "path", points, style, tip)

    def _add(
        self, kind: str, points: Sequence[Point], style: str, tip: str = "", radius: float = 0.0
    ) -> None:
        """Adds a shape; nothing without points."""
        if points:
            shown = tip if self.has_tips else ""
            self.parts.append(Shape(kind, tuple(points), style, shown, radius))

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "start") -> None:
        """A line of text."""
        self.parts.append(Words(x, y, text, style, anchor))

    def upright(self, x: float, y: float, text: str, style: str) -> None:
        """A line of text turned to the left, around ``y``."""
        self.parts.append(Words(x, y, text, style, "middle", True))

    @contextmanager
    def link(self, target: str, name: str = "") -> Iterator[None]:
        """Links the shapes drawn inside to ``target``, if there is one; ``name`` is the accessible
        name of a link without text."""
        label = f" aria-label={quoteattr(name)}" if name else ""
        with self._tags("a", f" href={quoteattr(target)}{label}" if target else ""):
            yield

    @contextmanager
    def group(self, data: Mapping[str, str]) -> Iterator[None]:
        """Groups the shapes drawn inside, if there are ``data``: attributes for the page's
        script."""
        with self._tags("g", "".join(f" data-{key}={quoteattr(data[key])}" for key in data)):
            yield

    @contextmanager
    def _tags(self, name: str, attributes: str) -> Iterator[None]:
        self.parts += [Tag(f"<{name}{attributes}>")] if attributes else []
        yield
        self.parts += [Tag(f"</{name}>")] if attributes else []

    def svg(self, title: str, description: str) -> str:
        """The SVG document."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {coordinate_text(self.width)}'
            f' {coordinate_text(self.height)}" role="graphics-document" '
            f"aria-label={quoteattr(title)}><title>{escape(title)}</title><desc>{escape(description)}</desc>"
            f"{''.join(part.svg() for part in _joined(self.parts))}</svg>"
        )


def share_paths(canvas: Canvas, other: Canvas, name: str) -> None:
    """Show long paths of ``canvas``, which get names that begin with ``name``, in ``other``, too,
    where that has the same ones stretched."""
    for each in (canvas, other):
        each.parts = list(_joined(each.parts))
    pairs = zip(_long_paths(canvas), _long_paths(other), strict=False)
    for number, ((place, shape), (other_place, same)) in enumerate(pairs):
        found = _stretched(shape, same, f"{name}-{number}")
        if found is not None:
            canvas.parts[place] = replace(shape, name=found.name)
            other.parts[other_place] = found
    _share_numbers(canvas, other, f"{name}-y")


def _share_numbers(canvas: Canvas, other: Canvas, name: str) -> None:
    """As :func:`share_paths`, the numbers of a vertical axis."""
    (first, numbers), (other_first, same) = map(_numbers, (canvas, other))
    if not numbers or [each.text for each in numbers] != [each.text for each in same]:
        return
    shifts = np.array(
        [(after.x - each.x, after.y - each.y) for each, after in zip(numbers, same, strict=True)]
    )
    if np.ptp(shifts, axis=0).max() > TENTH:
        return
    canvas.parts[first : first + len(numbers)] = [
        Tag(f"<g id={quoteattr(name)}>"),
        *numbers,
        Tag("</g>"),
    ]
    shift_x, shift_y = shifts[0].tolist()
    other.parts[other_first : other_first + len(same)] = [
        Stretched(name, (1.0, 1.0), (shift_x, shift_y))
    ]


def _numbers(canvas: Canvas) -> tuple[int, list[Words]]:
    """The first texts that end at an axis, one after the other, and where they begin."""
    begins = [place for place, part in enumerate(canvas.parts) if _is_number(part)]
    first = begins[0] if begins else 0
    found = takewhile(_is_number, canvas.parts[first:])
    return first, [part for part in found if isinstance(part, Words)]


def _is_number(part: Part) -> bool:
    return isinstance(part, Words) and (part.style, part.anchor) == ("tick", "end")


def _long_paths(canvas: Canvas) -> list[tuple[int, Shape]]:
    """Their places among the parts, and they."""
    return [
        (place, part)
        for place, part in enumerate(canvas.parts)
        if isinstance(part, Shape)
        and (part.kind == "lines" or part.style.endswith((" curve", " area")))
        and len(part.points) > MANY
    ]


def _stretched(shape: Shape, other: Shape, name: str) -> Stretched | None:
    """What makes a path of another one; None where they differ in more than their stretch."""
    if (shape.style, len(shape.points)) != (other.style, len(other.points)):
        return None
    before, after = np.array(shape.points), np.array(other.points)
    sizes, sizes_after = np.ptp(before, axis=0), np.ptp(after, axis=0)
    # a level line keeps its height: nothing is drawn of what is stretched by 0
    factors = np.where(sizes_after < TENTH, 1.0, sizes_after / np.maximum(sizes, TENTH))
    shifts = after[0] - factors * before[0]
    if np.abs(factors * before + shifts - after).max() > TENTH:
        return None
    return Stretched(name, tuple(factors.tolist()), tuple(shifts.tolist()))


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts; a grid's lines that follow one another are one shape, and so are two spans or more
    without tooltips."""
    for kind, group in groupby(parts, _joined_kind):
        found = list(group)
        shapes = [part for part in found if isinstance(part, Shape)]
        if not kind or (kind == "rects" and len(found) == 1):
            yield from found
        else:
            points = tuple(point for shape in shapes for point in shape.points)
            yield Shape(kind, points, shapes[0].style)


def _joined_kind(part: Part) -> str:
    if not isinstance(part, Shape) or part.tip or part.style not in (GRID, SPAN):
        return ""
    return f"{part.kind}s" if part.kind in ("line", "rect") else ""


def _straight(begin: Point, end: Point) -> str:
    """A line as a path; most are level or upright."""
    (x, y), (right, bottom) = (tuple(map(coordinate_text, point)) for point in (begin, end))
    if x == right or y == bottom:
        return f"M{x} {y}V{bottom}" if x == right else f"M{x} {y}H{right}"
    return f"M{_way((begin, end))}"


def _box(begin: Point, end: Point) -> str:
    """A rectangle as a path."""
    x, y, right, bottom = map(coordinate_text, (*begin, *end))
    return f"M{x} {y}H{right}V{bottom}H{x}z"


def _way(points: Iterable[Point]) -> str:
    """The corners of a path."""
    return "L".join(f"{coordinate_text(across)} {coordinate_text(down)}" for across, down in points)


def _steps(points: Sequence[Point]) -> str:
    """A path of many points: its first one and the steps to the others, half as long as their
    places. Steps are between rounded places, so that nothing adds up; one that goes on level is
    part of the next."""
    places = np.rint(np.multiply(points, 10)).astype(int)
    across, down = np.diff(places, axis=0).T
    goes_on = (across[:-1] * across[1:] > 0) & (down[:-1] == 0) & (down[1:] == 0)
    kept = places[np.concatenate(([True], ~goes_on, [True]))]
    steps = np.diff(kept, axis=0).ravel().tolist()
    texts = "".join(f" {each / 10:g}" if each >= 0 else f"{each / 10:g}" for each in steps)
    texts = texts.replace(" 0.", " .").replace("-0.", "-.")
    return f"{coordinate_text(points[0][0])} {coordinate_text(points[0][1])}l{texts.lstrip()}"


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


def _attributes(**values: float) -> str:
    return " ".join(f'{name}="{coordinate_text(value)}"' for name, value in values.items())


def coordinate_text(value: float) -> str:
    """A coordinate with one decimal, without trailing zeros."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text not in ("-0.0", "0.0") else "0"
