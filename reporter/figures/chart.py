"""Types that all figures share, and charts with one row per entry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reporter.data.frames import Frames
from reporter.data.studies import StudyRecord
from reporter.figures.svg import Canvas, Scale, tick_text

MAX_ROWS = 40
WIDTH, LEFT, RIGHT, TOP, BOTTOM, STEP = 900, 270, 70, 34, 44, 34


@dataclass(frozen=True)
class Context:
    """The page of a figure: ``root`` is the relative path to the site's root, ``colours`` are the numbers of the frameworks' colours."""

    root: str
    colours: Mapping[str, int] = field(default_factory=dict)

    def colour(self, framework: str) -> int:
        """The framework's number in the style sheet's classes c0, c1, …"""
        return self.colours.get(framework, 7)

    def entry(self, entry_id: str) -> str:
        """The relative address of an entry's page."""
        return f"{self.root}entries/{entry_id}.html"


@dataclass(frozen=True)
class Drawing:
    """A drawn figure, with its data as a table (its text alternative) and an optional note."""

    svg: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class NotDrawn:
    """The reason why a figure cannot be drawn."""

    reason: str


@dataclass(frozen=True)
class Caption:
    """A figure's caption. ``name`` is used in its file name and anchor; ``about`` states what is drawn, units and error bars."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class Chart(Caption):
    """A figure that pages show: ``draw`` makes it from frames.

    ``pages`` are the kinds of pages that show it: board, comparison, device, front, study. ``position`` is its place on each of them: charts are
    shown in ascending order. Charts of entries have multiples of 10, which leaves room between them; charts of one study come first, from 1.
    """

    pages: frozenset[str]
    draw: Callable[[Frames, Context], Drawing | NotDrawn]
    position: int


@dataclass(frozen=True)
class StudyCharts:
    """The charts of one kind of study: ``make`` returns those of a study; ``with_entries``: followed by the charts of its entries."""

    kind: str
    make: Callable[[StudyRecord], tuple[Chart, ...]]
    with_entries: bool


def shortest(order: Mapping[str, float]) -> tuple[list[str], str]:
    """The ids in ascending order of their values, at most MAX_ROWS, and a note if some are omitted."""
    ids = sorted(order, key=lambda name: (order[name], name))
    omitted = len(ids) - MAX_ROWS
    return ids[:MAX_ROWS], f"The first {MAX_ROWS} of {len(ids)}; the table has all." if omitted > 0 else ""


@dataclass(frozen=True)
class Rows:
    """A chart with one row per entry, labels on the left and a value axis below."""

    canvas: Canvas
    scale: Scale

    def y(self, index: int) -> float:
        """The vertical centre of a row."""
        return TOP + index * STEP + STEP / 2

    def name(self, index: int, text: str, target: str) -> None:
        """Writes a row's label, linked to its evidence, on up to two lines."""
        with self.canvas.link(target):
            name_on_lines(self.canvas, LEFT - 10, self.y(index), text, 38)


def rows_chart(title: str, description: str, count: int, scale: Scale, axis: str) -> Rows:
    """An empty chart of ``count`` rows with its axis; the scale runs from LEFT to WIDTH - RIGHT."""
    height = TOP + count * STEP + BOTTOM
    canvas = Canvas(WIDTH, height, title, description)
    for tick in scale.ticks:
        x = scale.at(tick)
        canvas.line(x, TOP - 4, x, height - BOTTOM + 4, "grid")
        canvas.text(x, height - BOTTOM + 20, tick_text(tick), "tick", "middle")
    canvas.text((scale.start + scale.stop) / 2, height - 6, axis, "axis", "middle")
    return Rows(canvas, scale)


def name_on_lines(canvas: Canvas, x: float, y: float, text: str, max_length: int) -> None:
    """Writes a right-aligned label, vertically centred at ``y``; labels longer than ``max_length`` are broken between two parts."""
    first, rest = text, ""
    while len(first) > max_length and " · " in first:
        first, _, last = first.rpartition(" · ")
        rest = f"{last} · {rest}" if rest else last
    canvas.text(x, y + (-2.5 if rest else 4.5), first, "name", "end", max_length)
    if rest:
        canvas.text(x, y + 11.5, rest, "more", "end", max_length + 4)


def legend(canvas: Canvas, names: Sequence[tuple[str, str]], x: float = LEFT, y: float = 10) -> None:
    """Draws a legend: a coloured square per (style, name)."""
    for style, name in names:
        canvas.rect(x, y, 12, 12, style)
        canvas.text(x + 17, y + 10.5, name, "tick")
        x += 42 + 6.6 * len(name)


def frameworks_legend(canvas: Canvas, entries: Sequence[Mapping[str, Any]], context: Context) -> None:
    """Draws a legend of the entries' frameworks."""
    legend(canvas, [(f"c{context.colour(name)}", name) for name in sorted({str(entry["framework"]) for entry in entries})])
