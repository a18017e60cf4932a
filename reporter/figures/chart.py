"""Types that all figures share, and charts with one row per entry."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reporter.data.frames import Frames
from reporter.data.selection import Selection, choose
from reporter.data.studies import StudyRecord
from reporter.data.text import digits
from reporter.figures.svg import Canvas, Scale, tick_text

MAX_ROWS = 40
WIDTH, LEFT, RIGHT, TOP, BOTTOM, STEP = 900, 270, 70, 34, 44, 34


@dataclass(frozen=True)
class Context:
    """The page of a figure: ``root`` is the relative path to the site's root, ``colours`` are the numbers of the frameworks' colours.

    ``max_rows``: how many rows a chart with a row per entry may have on this page.
    """

    root: str
    colours: Mapping[str, int] = field(default_factory=dict)
    max_rows: int = MAX_ROWS

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

    ``pages`` are the kinds of pages that show it: board, comparison, device, figures (all of a board), machine (one
    board of a device), study. ``position`` is its place on
    each of them: charts are shown in ascending order. Charts of entries have multiples of 10, which leaves room between them; charts of one
    study come first, from 1. A page of entries leaves out a chart whose table has fewer than ``min_rows`` rows: one bar compares with nothing.
    """

    pages: frozenset[str]
    draw: Callable[[Frames, Context], Drawing | NotDrawn]
    position: int
    min_rows: int = 2


@dataclass(frozen=True)
class StudyCharts:
    """The charts of one kind of study: ``make`` returns those of a study; ``with_entries``: followed by the charts of its entries."""

    kind: str
    make: Callable[[StudyRecord], tuple[Chart, ...]]
    with_entries: bool


def choose_rows(order: Mapping[str, float], entries: Mapping[str, Mapping[str, Any]], context: Context) -> Selection:
    """The entries with a row of their own, ascending by value, and those that share one with others of their framework."""
    return choose(order, lambda name: str(entries[name]["framework"]), context.max_rows)


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

    def share(self, chosen: Selection, values: Mapping[str, float], unit: str, context: Context, first: int | None = None) -> None:
        """Draws the shared rows from the row ``first`` on, by default below the chosen ones.

        Each has a band from the lowest to the highest value, with a mark at the median.
        """
        for index, group in enumerate(chosen.groups, start=len(chosen.ids) if first is None else first):
            numbers, y = [values[name] for name in group.ids], self.y(index)
            low, middle, high = min(numbers), statistics.median(numbers), max(numbers)
            style = context.colour(group.name)
            label = f"{digits(low)} to {digits(high)}{unit}"
            self.canvas.text(LEFT - 10, y + 4.5, group.label, "name", "end", 38)
            self.canvas.rect(
                self.scale.at(low), y - 6, max(self.scale.at(high) - self.scale.at(low), 1), 12, f"c{style} faint", f"{group.label}: {label}"
            )
            self.canvas.line(self.scale.at(middle), y - 9, self.scale.at(middle), y + 9, f"l{style} curve")
            self.canvas.text(self.scale.at(high) + 10, y + 4.5, label, "tick")


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
