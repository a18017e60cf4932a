"""What a figure of a paper consists of: panels of numbers with labels, before anything is drawn."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its error bar; None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest point that is drawn."""
        return min(self.value, self.value if self.low is None else self.low), max(
            self.value, self.value if self.high is None else self.high
        )


@dataclass(frozen=True)
class Bar:
    """A row: its label and an estimate for each series of the panel. ``style`` colours the bar of a
    panel with one series.

    ``note`` is written behind the bar's value. ``is_group``: the row represents several entries,
    from the lowest to the highest.
    """

    label: str
    values: tuple[Estimate, ...]
    style: int = 0
    note: str = ""
    is_group: bool = False


@dataclass(frozen=True)
class BarGroup:
    """Rows under a common heading; an empty heading takes no space."""

    heading: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Bars:
    """Horizontal bars: ``axis`` names quantity and unit. ``series`` are the legend's names, stacked
    or beside one another; none for a single series.

    Values of a panel that is not stacked and that spans a decade become marks on a logarithmic
    axis: a bar's length means nothing there.
    """

    axis: str
    groups: tuple[BarGroup, ...]
    series: tuple[str, ...] = ()
    is_stacked: bool = False

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return tuple(
            one
            for group in self.groups
            for bar in group.bars
            if not bar.is_group
            for one in bar.values
        )


@dataclass(frozen=True)
class Line:
    """A line with its label, which is written at its end; points are (x, estimate), ascending."""

    label: str
    style: int
    points: tuple[tuple[float, Estimate], ...]
    is_faint: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines over a numeric axis. ``is_doubling``: x has powers of two. ``reference`` is a thin line
    without label, such as linear speed-up."""

    x_axis: str
    y_axis: str
    lines: tuple[Line, ...]
    is_doubling: bool = False
    is_from_zero: bool = True
    reference: tuple[tuple[float, float], ...] = ()

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return tuple(one for line in self.lines if not line.is_faint for _, one in line.points)


@dataclass(frozen=True)
class Box:
    """A row of a distribution: all its values."""

    label: str
    style: int
    values: tuple[float, ...]


@dataclass(frozen=True)
class Boxes:
    """Distributions, one row each: a mark per value, a box between the quartiles, a line at the
    median."""

    axis: str
    groups: tuple[tuple[str, tuple[Box, ...]], ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return ()


@dataclass(frozen=True)
class Dot:
    """A point of a scatter: ``key`` is written beside it (short), ``fill`` is its level of a
    highlighted property: 0 solid, 1 hollow, 2 half."""

    x: Estimate
    y: Estimate
    style: int
    key: str = ""
    fill: int = 0


@dataclass(frozen=True)
class Scatter:
    """Points, with the Pareto front of each style if ``has_front``; ``legend`` are (style, name),
    ``fills`` (level, name)."""

    x_axis: str
    y_axis: str
    dots: tuple[Dot, ...]
    legend: tuple[tuple[int, str], ...]
    fills: tuple[tuple[int, str], ...] = ()
    has_front: bool = True

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return tuple(one for dot in self.dots for one in (dot.x, dot.y))


@dataclass(frozen=True)
class Radar:
    """Polygons over several axes, each from 0 at the centre to 1 at the rim; ``polygons`` are
    (label, style, shares)."""

    axes: tuple[str, ...]
    polygons: tuple[tuple[str, int, tuple[float, ...]], ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return ()


@dataclass(frozen=True)
class Keys:
    """What short keys in the panels above stand for: (key, meaning), a line each."""

    meanings: tuple[tuple[str, str], ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return ()


@dataclass(frozen=True)
class Table:
    """Rows of text; the first column names the row."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every drawn estimate."""
        return ()


Panel: TypeAlias = Bars | Lines | Boxes | Scatter | Radar | Keys | Table


@dataclass(frozen=True)
class PaperFigure:
    """Panels from top to bottom, and what the caption says of them.

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


@dataclass(frozen=True)
class Missing:
    """Why a figure cannot be drawn, as the end of a sentence: "no entry has ..."."""

    reason: str
