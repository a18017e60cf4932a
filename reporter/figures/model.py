"""What a figure consists of, before anything is drawn: panels of numbers with labels, axes and
scales.

A style is a class of the page's style sheet: ``c0`` … ``c7`` fill, ``l0`` … stroke in the colours
of frameworks, ``p0`` … fill in those of parts; papers have a colour, a mark, a dash and a hatch for
each number.
"""

import enum
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reporter.figures.scales import Scale

Point = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its error bar; None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def around(cls, value: float, spread: float | None) -> "Estimate":
        """A value with its spread to each side, if there is one."""
        return cls(value) if spread is None else cls(value, value - spread, value + spread)

    @classmethod
    def between_quartiles(cls, values: Sequence[float]) -> "Estimate":
        """The median of two values or more, with the lower and the upper quartile."""
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(middle, low, high)

    @classmethod
    def of_all(cls, values: Sequence[float]) -> "Estimate":
        """The median of some values, with the lowest and the highest."""
        return cls(statistics.median(values), min(values), max(values))

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest point that is drawn."""
        drawn = [end for end in (self.value, self.low, self.high) if end is not None]
        return min(drawn), max(drawn)

    def times(self, factor: float) -> "Estimate":
        """The same in another unit."""
        ends = (None if end is None else end * factor for end in (self.low, self.high))
        return Estimate(self.value * factor, *ends)


@dataclass(frozen=True)
class LegendEntry:
    """An entry of a legend: a square, or a mark, of a style."""

    style: str
    name: str
    is_mark: bool = False


class Marks(enum.Enum):
    """How the values of a row are drawn: bars beside one another (marks on a logarithmic axis), a
    stacked bar, connected dots, or a line with a band between the ends."""

    BARS = "bars"
    STACKED = "stacked"
    DOTS = "dots"
    BANDS = "bands"


@dataclass(frozen=True)
class PlotRow:
    """A row: its label and an estimate for each series of the panel. ``style`` is that of a panel
    with one series; rows that follow one another may share a ``heading``.

    ``texts`` are written behind the marks, ``tips`` are the marks' tooltips; empty: the values in
    the panel's unit. ``singles`` are drawn as thin marks. ``is_group``: the row represents several
    entries, from the lowest to the highest. ``shaded`` is the part of a bar that is darker.
    """

    label: str
    values: tuple[Estimate, ...]
    style: str = "p2"
    link: str = ""
    texts: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    singles: tuple[float, ...] = ()
    is_group: bool = False
    shaded: float | None = None
    heading: str = ""

    @property
    def total(self) -> float:
        """The sum of the values."""
        return sum(one.value for one in self.values)


@dataclass(frozen=True)
class Rows:
    """Rows over a value axis.

    ``axis`` names quantity and unit; without ``has_axis`` it stands above the rows. ``series`` are
    the styles and names of a row's values; none for a single one.
    """

    axis: str
    scale: Scale
    rows: tuple[PlotRow, ...]
    series: tuple[LegendEntry, ...] = ()
    marks: Marks = Marks.BARS
    unit: str = ""
    names: tuple[LegendEntry, ...] = ()
    has_axis: bool = True

    @property
    def legend(self) -> tuple[LegendEntry, ...]:
        """What the legend explains: the names, else the series; of stacked ones those that some
        row has a part of."""
        if self.names or self.marks is not Marks.STACKED:
            return self.names or self.series
        parts = {place for row in self.rows for place, one in enumerate(row.values) if one.value}
        return tuple(one for place, one in enumerate(self.series) if place in parts)

    @property
    def estimates(self) -> Iterable[Estimate]:
        """Every drawn estimate that is of one entry."""
        return (one for row in self.rows if not row.is_group for one in row.values)


@dataclass(frozen=True)
class Line:
    """A line through points, (x, estimate), ascending. Its ``label``, if there is one, is written
    at its end, with marks at the points.

    ``is_band``: the ends of the estimates are a band, no error bars. ``style``: ``l0 curve``, which
    may be dashed (``weak``, ``projected``), ``front`` or ``join``.
    """

    points: tuple[tuple[float, Estimate], ...]
    style: str
    label: str = ""
    tip: str = ""
    is_band: bool = False


@dataclass(frozen=True)
class Dot:
    """A point: ``label`` is written beside it; ``name`` is the accessible name of its link,
    ``data`` are attributes for the page's script. The style's ``f1`` to ``f3`` are hollow, half and
    light marks."""

    x: Estimate
    y: Estimate
    style: str
    label: str = ""
    tip: str = ""
    link: str = ""
    name: str = ""
    size: float = 4.5
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Span:
    """A shaded range of the horizontal axis; its label is written where there is room."""

    start: float
    stop: float
    label: str
    tip: str = ""


@dataclass(frozen=True)
class Plane:
    """Lines and dots over two value axes, which name quantity and unit. ``crowds`` are (style,
    points) of small dots without label and link."""

    x_axis: str
    y_axis: str
    x: Scale
    y: Scale
    lines: tuple[Line, ...] = ()
    dots: tuple[Dot, ...] = ()
    legend: tuple[LegendEntry, ...] = ()
    crowds: tuple[tuple[str, tuple[Point, ...]], ...] = ()
    spans: tuple[Span, ...] = ()

    @property
    def estimates(self) -> Iterable[Estimate]:
        """Every drawn estimate that is of one entry."""
        yield from (one for line in self.lines if not line.is_band for _, one in line.points)
        yield from (one for dot in self.dots for one in (dot.x, dot.y))


@dataclass(frozen=True)
class Polygon:
    """A polygon of a radar: distances from the centre along the axes, 0 to 1, and tooltips of its
    corners."""

    label: str
    style: int
    shares: tuple[float, ...]
    tips: tuple[str, ...]
    link: str = ""


@dataclass(frozen=True)
class Radar:
    """Polygons over several axes, each from 0 at the centre to 1 at the rim."""

    axes: tuple[str, ...]
    polygons: tuple[Polygon, ...]
    legend: tuple[LegendEntry, ...]
    estimates: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class Keys:
    """What short keys in the panels above stand for: (key, meaning), a line each."""

    meanings: tuple[tuple[str, str], ...]
    legend: tuple[LegendEntry, ...] = ()
    estimates: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows of text; the first column names the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[LegendEntry, ...] = ()
    estimates: tuple[Estimate, ...] = ()


Panel: TypeAlias = Rows | Plane | Radar | Keys | Table


@dataclass(frozen=True)
class Plot:
    """A figure of a page: its panels, ``columns`` beside one another, its data as a table (its text
    alternative), and an optional note."""

    panels: tuple[Panel, ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    columns: int = 1


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper: panels from top to bottom, and what the caption says of them.

    ``ids`` are the entries that are drawn. ``about`` says what is drawn; ``error_bars`` what they
    mean, or that there are none. ``sensor_of`` is the energy or power figure whose instrument the
    caption names.
    """

    panels: tuple[Panel, ...]
    ids: tuple[str, ...]
    about: str
    error_bars: str
    notes: tuple[str, ...] = ()
    sensor_of: str | None = None

    @property
    def is_table(self) -> bool:
        """Whether it is drawn as a table."""
        return any(isinstance(panel, Table) for panel in self.panels)


@dataclass(frozen=True)
class Missing:
    """Why a figure cannot be drawn, as the end of a sentence: "no entry has ..."."""

    reason: str


def dot(place: Point, style: str, tip: str, link: str = "", name: str = "") -> Dot:
    """A dot without error bars."""
    return Dot(Estimate(place[0]), Estimate(place[1]), style, "", tip, link, name)


def line_through(points: Iterable[Point], style: str, tip: str = "") -> Line:
    """A line without error bars."""
    return Line(tuple((x, Estimate(y)) for x, y in points), style, tip=tip)
