"""SVG as text, with scales; escapes all strings and formats numbers deterministically."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from reporter.data.quantities import scale_of

DECADE = 10.0
"""Values that span a decade have a logarithmic axis."""
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


@dataclass(frozen=True)
class Shape:
    """A rectangle (of ``size`` from ``points[0]``), a mark (of ``radius`` around it), small round
    dots, a line, or a path."""

    kind: str
    points: tuple[Point, ...]
    style: str
    tip: str = ""
    size: Point = (0.0, 0.0)
    radius: float = 0.0
    closed: bool = False

    def svg(self) -> str:
        """The element."""
        name, attributes, style = self._element()
        end = f"><title>{escape(self.tip)}</title></{name}>" if self.tip else "/>"
        return f"<{name} {attributes}{_class(style)}{end}"

    def _element(self) -> tuple[str, str, str]:
        x, y = self.points[0]
        corners: tuple[Point, ...] = ()
        if self.kind == "rect":
            width, height = (max(each, 0) for each in self.size)
            return (
                "rect",
                (
                    f'x="{number(x)}" y="{number(y)}" width="{number(width)}"'
                    f' height="{number(height)}"'
                ),
                self.style,
            )
        if self.kind == "line":
            x2, y2 = self.points[1]
            return (
                "line",
                f'x1="{number(x)}" y1="{number(y)}" x2="{number(x2)}" y2="{number(y2)}"',
                self.style,
            )
        if self.kind == "dots":
            places = sorted(
                {f"M{number(across)} {number(down)}h.01" for across, down in self.points}
            )
            return "path", f'd="{"".join(places)}"', f"{self.style} dots faint"
        if self.kind == "dot":
            corners = SHAPES[int(self.style[1]) % len(SHAPES)] if self.style[1:2].isdigit() else ()
            if not corners:
                return (
                    "circle",
                    f'cx="{number(x)}" cy="{number(y)}" r="{number(self.radius)}"',
                    self.style,
                )
        points = [
            (x + self.radius * across, y + self.radius * down) for across, down in corners
        ] or self.points
        way = (
            "M"
            + "L".join(f"{number(across)} {number(down)}" for across, down in points)
            + ("Z" if corners or self.closed else "")
        )
        return "path", f'd="{way}"', self.style


@dataclass(frozen=True)
class Words:
    """A line of text."""

    x: float
    y: float
    text: str
    style: str
    anchor: str

    def svg(self) -> str:
        """The element."""
        return (
            f'<text x="{number(self.x)}" y="{number(self.y)}"{_class(self.style)}'
            f"{_anchor(self.anchor)}>{escape(self.text)}</text>"
        )


@dataclass(frozen=True)
class Tag:
    """The beginning or the end of a link or a group; ``data`` are a group's data attributes."""

    text: str
    data: Mapping[str, str] = field(default_factory=dict)

    def svg(self) -> str:
        """The tag."""
        return (
            self.text
            + "".join(f" data-{key}={quoteattr(value)}" for key, value in self.data.items())
            + ">"
        )


Part = Shape | Words | Tag


@dataclass
class Canvas:
    """Collects shapes in user units; :meth:`svg` returns the document.

    Colours come from the page's style sheet through classes (``c0`` … ``c7`` fill, ``l0`` …
    stroke); the same figure serves light and dark. ``fold`` makes the same figure for a narrow
    screen; None where it has one width only.
    """

    width: float
    height: float
    title: str
    description: str
    fold: "Callable[[Canvas], Canvas] | None" = field(default=None, compare=False)
    parts: list[Part] = field(default_factory=list)

    def rect(
        self, x: float, y: float, width: float, height: float, style: str, tip: str = ""
    ) -> None:
        """A filled rectangle with an optional tooltip."""
        self.parts.append(Shape("rect", ((x, y),), style, tip, size=(width, height)))

    def dot(self, x: float, y: float, style: str, tip: str = "", radius: float = 4.5) -> None:
        """A filled mark with an optional tooltip. Its shape is that of the number in its style:
        colours are not all that tells marks apart."""
        self.parts.append(Shape("dot", ((x, y),), style, tip, radius=radius))

    def dots(self, points: Iterable[Point], style: str) -> None:
        """Small round marks without tooltips as one shape; those at one place are one mark."""
        if places := tuple(points):
            self.parts.append(Shape("dots", places, style))

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A straight line."""
        self.parts.append(Shape("line", ((x1, y1), (x2, y2)), style))

    def path(
        self, points: Sequence[Point], style: str, closed: bool = False, tip: str = ""
    ) -> None:
        """A polyline or, if ``closed``, a polygon."""
        self.parts.append(Shape("path", tuple(points), style, tip, closed=closed))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        style: str = "",
        anchor: str = "start",
        max_length: int = 60,
    ) -> None:
        """A line of text, truncated to ``max_length`` characters."""
        self.parts.append(
            Words(
                x,
                y,
                text if len(text) <= max_length else text[: max_length - 1] + "…",
                style,
                anchor,
            )
        )

    @contextmanager
    def link(self, target: str, name: str = "") -> Iterator[None]:
        """Links the shapes drawn inside to ``target``; ``name`` is the accessible name of a link
        without text."""
        self.parts.append(
            Tag(f"<a href={quoteattr(target)}" + (f" aria-label={quoteattr(name)}" if name else ""))
        )
        yield
        self.parts.append(Tag("</a"))

    @contextmanager
    def group(self, **data: str) -> Iterator[None]:
        """Groups the shapes drawn inside; ``data`` become data attributes for the page's script."""
        self.parts.append(Tag("<g", data))
        yield
        self.parts.append(Tag("</g"))

    def svg(self) -> str:
        """The SVG document."""
        label = quoteattr(f"{self.title}. {self.description}")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(self.width)}'
            f' {number(self.height)}" role="graphics-document" '
            f"aria-label={label}><title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
            f"{''.join(part.svg() for part in self.parts)}</svg>"
        )

    def narrow(self) -> str:
        """The document for a narrow screen; empty where there is none."""
        return "" if self.fold is None else self.fold(self).svg()


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


def _anchor(anchor: str) -> str:
    return "" if anchor == "start" else f' text-anchor="{anchor}"'


def tick_text(value: float) -> str:
    """A tick label: thousands are grouped from 10 000, powers of ten are used from 10⁹."""
    return f"{value:,.0f}".replace(",", "\u202f") if 1e4 <= abs(value) < 1e9 else f"{value:g}"


def number(value: float) -> str:
    """A coordinate with one decimal, without trailing zeros."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text not in ("-0.0", "0.0") else "0"


@dataclass(frozen=True)
class Scale:
    """Maps values to coordinates from ``start`` to ``stop``; ``ticks`` are values that span the
    drawn ones, round in the axis' ``unit``.

    ``unit_size`` is how much of the values' own unit that is; ``unit`` is empty where the axis has
    the values' unit.
    """

    ticks: tuple[float, ...]
    start: float
    stop: float
    logarithmic: bool = False
    unit_size: float = 1.0
    unit: str = ""

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The ticks with their texts."""
        return tuple(
            (tick, tick_text(float(f"{tick / self.unit_size:.12g}"))) for tick in self.ticks
        )

    def at(self, value: float) -> float:
        """The coordinate of a value."""
        low, high = self.ticks[0], self.ticks[-1]
        share = (
            math.log(max(value, low) / low) / math.log(high / low)
            if self.logarithmic
            else (value - low) / (high - low)
        )
        return self.start + share * (self.stop - self.start)


def linear(values: Sequence[float], start: float, stop: float, about: int = 6) -> Scale:
    """A linear scale that includes 0, to the next round value above the highest."""
    high, low = max([*values, 0.0]), min([*values, 0.0])
    if high == low:
        return Scale((0.0, 1.0), start, stop)
    step = _round_step((high - low) / about)
    lowest, highest = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(
        tuple(round(index * step, 12) for index in range(lowest, highest + 1)), start, stop
    )


def close(values: Sequence[float], start: float, stop: float, about: int = 6) -> Scale:
    """A linear scale that need not include 0: for positions, not for bars."""
    high, low = max(values), min(values)
    if high == low:
        return linear(values, start, stop, about)
    step = _round_step((high - low) / about)
    lowest, highest = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(
        tuple(round(index * step, 12) for index in range(lowest, highest + 1)), start, stop
    )


def logarithmic(values: Sequence[float], start: float, stop: float) -> Scale:
    """A logarithmic scale of positive values; ticks at 1, 2, 5 times powers of ten, or at powers of
    ten over more than three decades."""
    low, high = (
        math.floor(math.log10(min(values)) + 1e-9),
        math.ceil(math.log10(max(values)) - 1e-9),
    )
    factors = (1, 2, 5) if high - low <= 3 else (1,)
    every = sorted(
        round(factor * 10.0**power, 12) for power in range(low, high + 1) for factor in factors
    )
    below = [tick for tick in every if tick <= min(values)] or every[:1]
    above = [tick for tick in every if tick >= max(values)] or every[-1:]
    chosen = tuple(tick for tick in every if below[-1] <= tick <= above[0])
    return Scale(chosen if len(chosen) > 1 else (chosen[0], chosen[0] * 10), start, stop, True)


Make = Callable[[Sequence[float], float, float], Scale]


def fitting(values: Sequence[float], start: float, stop: float) -> Scale:
    """A logarithmic scale of positive values that span a decade, else a linear one from 0."""
    return (
        logarithmic(values, start, stop) if spans_a_decade(values) else linear(values, start, stop)
    )


def spans_a_decade(values: Sequence[float]) -> bool:
    """Whether positive values differ by a factor of ten or more."""
    return min(values) > 0 and max(values) / min(values) >= DECADE


def in_units(
    values: Sequence[float], unit: str, start: float, stop: float, make: Make = fitting
) -> Scale:
    """The scale that ``make`` returns, in a multiple of the unit that suits the values: minutes or
    hours instead of seconds."""
    positive = [value for value in values if value > 0] or [1.0]
    size, shown = scale_of(
        math.sqrt(min(positive) * max(positive)) if spans_a_decade(positive) else max(positive),
        unit,
    )
    found = make([value / size for value in values], start, stop)
    return Scale(
        tuple(tick * size for tick in found.ticks), start, stop, found.logarithmic, size, shown
    )


def doubling(values: Sequence[float], start: float, stop: float) -> Scale:
    """A logarithmic scale of positive values with at most ten intervals between ticks, at powers of
    two."""
    low, high = math.floor(math.log2(min(values)) + 1e-9), math.ceil(math.log2(max(values)) - 1e-9)
    step = 1 + (high - low) // 10
    steps = max(1, math.ceil((high - low) / step))
    return Scale(
        tuple(2.0 ** (low + index * step) for index in range(steps + 1)), start, stop, True
    )


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-12))
