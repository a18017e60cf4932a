"""Types that all figures share, and charts with one row per entry."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from reference_impls.contract import WAITING
from reporter.data.frames import Frames
from reporter.data.framework_names import framework_name
from reporter.data.quantities import quantity
from reporter.data.selection import Selection, choose
from reporter.data.studies import StudyRecord
from reporter.figures.narrow import FoldedRows, fold_rows
from reporter.figures.svg import Canvas, Scale

MAX_ROWS = 40
MAX_LETTERS = 36
"""Of a line of a row's label, left of the axis."""
LETTER = 6.6
"""Width of a letter of a label, in user units."""
UNITS = {
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
    "J": "joules",
    "kJ": "kilojoules",
    "MJ": "megajoules",
    "GJ": "gigajoules",
}
WIDTH, LEFT, RIGHT, TOP, BOTTOM, STEP = 900, 270, 70, 34, 44, 34


@dataclass(frozen=True)
class Context:
    """The page of a figure: ``root`` is the relative path to the site's root, ``colours`` are the
    numbers of the frameworks' colours.

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

    canvas: Canvas
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @cached_property
    def svg(self) -> str:
        """The figure's document."""
        return self.canvas.svg()


@dataclass(frozen=True)
class NotDrawn:
    """The reason why a figure cannot be drawn."""

    reason: str


def without_parts(entries: Mapping[str, Mapping[str, Any]]) -> NotDrawn:
    """Why no entry has the parts of an epoch."""
    is_split = all(entry["timing"] == WAITING for entry in entries.values())
    return NotDrawn(
        "no run has finished two"
        f" epochs{'' if is_split else ' in synchronised timing, the one that takes their parts'}"
    )


@dataclass(frozen=True)
class Caption:
    """A figure's caption. ``name`` is used in its file name and anchor; ``about`` states what is
    drawn, units and error bars."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class Chart(Caption):
    """A figure that pages show: ``draw`` makes it from frames.

    ``pages`` are the kinds of pages that show it: board, comparison, device, figures (all of a
    board), machine (one board of a device), study. ``position`` is its place on each of them:
    charts are shown in ascending order. Charts of entries have multiples of 10, which leaves room
    between them; charts of one study come first, from 1. A page of entries leaves out a chart whose
    table has fewer than ``min_rows`` rows: one bar compares with nothing.
    """

    pages: frozenset[str]
    draw: Callable[[Frames, Context], Drawing | NotDrawn]
    position: int
    min_rows: int = 2


@dataclass(frozen=True)
class StudyCharts:
    """The charts of one kind of study: ``make`` returns those of a study; ``with_entries``:
    followed by the charts of its entries."""

    kind: str
    make: Callable[[StudyRecord], tuple[Chart, ...]]
    with_entries: bool


def choose_rows(
    order: Mapping[str, float], entries: Mapping[str, Mapping[str, Any]], max_rows: int
) -> Selection:
    """The entries with a row of their own, ascending by value, and those that share one with others
    of their framework."""
    return choose(order, lambda name: str(entries[name]["framework"]), max_rows)


@dataclass(frozen=True)
class Rows:
    """A chart with one row per entry, labels on the left and a value axis below; ``first`` is the
    place of its first row on the canvas."""

    canvas: Canvas
    scale: Scale
    first: int = 0

    def y(self, index: int) -> float:
        """The vertical centre of a row."""
        return TOP + (self.first + index) * STEP + STEP / 2

    def name(self, index: int, text: str, target: str) -> None:
        """Writes a row's label, linked to its evidence, on up to two lines."""
        with self.canvas.link(target):
            name_on_lines(self.canvas, LEFT - 10, self.y(index), text, MAX_LETTERS)

    def share(
        self,
        chosen: Selection,
        values: Mapping[str, float],
        unit: str,
        context: Context,
        first: int | None = None,
    ) -> None:
        """Draws the shared rows from the row ``first`` on, by default below the chosen ones.

        Each has a band from the lowest to the highest value, with a mark at the median.
        """
        for index, group in enumerate(
            chosen.groups, start=len(chosen.ids) if first is None else first
        ):
            numbers, y = [values[name] for name in group.ids], self.y(index)
            low, middle, high = min(numbers), statistics.median(numbers), max(numbers)
            style, label = context.colour(group.name), range_text(numbers, unit)
            self.canvas.text(LEFT - 10, y + 4.5, group.label, "name", "end", MAX_LETTERS)
            self.canvas.rect(
                self.scale.at(low),
                y - 6,
                max(self.scale.at(high) - self.scale.at(low), 1),
                12,
                f"c{style} faint",
                f"{group.label}: {label}",
            )
            self.canvas.line(
                self.scale.at(middle), y - 9, self.scale.at(middle), y + 9, f"l{style} curve"
            )
            self._beside(self.scale.at(low), self.scale.at(high), y, label)

    def _beside(self, left: float, right: float, y: float, label: str) -> None:
        """Writes a label behind a mark or band; before it where it would be cut."""
        fits = right + 10 + LETTER * len(label) <= WIDTH
        self.canvas.text(
            right + 10 if fits else left - 10, y + 4.5, label, "tick", "start" if fits else "end"
        )

    def value(self, left: float, right: float, index: int, text: str) -> None:
        """Writes a row's value beside its mark, which reaches from ``left`` to ``right``."""
        self._beside(left, right, self.y(index), text)

    def share_as_text(self, chosen: Selection, values: Mapping[str, float], unit: str) -> None:
        """Writes the shared rows below the chosen ones, each with its lowest and highest value,
        where the axis does not show these values."""
        for index, group in enumerate(chosen.groups, start=len(chosen.ids)):
            self.canvas.text(
                LEFT - 10, self.y(index) + 4.5, group.label, "name", "end", MAX_LETTERS
            )
            self.canvas.text(
                LEFT + 6,
                self.y(index) + 4.5,
                range_text([values[name] for name in group.ids], unit),
                "tick",
            )


def range_text(values: Sequence[float], unit: str) -> str:
    """The lowest and the highest value, each in the unit that suits it: "7.1 min to 22.2 h"; one
    value where they are written alike."""
    return " to ".join(
        dict.fromkeys(quantity(value, unit)[0] for value in (min(values), max(values)))
    )


def folded(count: int) -> Callable[[Canvas], Canvas]:
    """How a chart of ``count`` rows is drawn on a narrow screen."""
    return partial(fold_rows, rows=FoldedRows(TOP, STEP, count, LEFT, WIDTH - RIGHT))


def rows_chart(title: str, description: str, count: int, scale: Scale, axis: str) -> Rows:
    """An empty chart of ``count`` rows with its axis; the scale runs from LEFT to WIDTH - RIGHT."""
    height = TOP + count * STEP + BOTTOM
    canvas = Canvas(WIDTH, height, title, description, folded(count))
    for tick, text in scale.labels:
        x = scale.at(tick)
        canvas.line(x, TOP - 4, x, height - BOTTOM + 4, "grid")
        canvas.text(x, height - BOTTOM + 20, text, "tick", "middle")
    canvas.text((scale.start + scale.stop) / 2, height - 6, axis, "axis", "middle")
    return Rows(canvas, scale)


def name_on_lines(canvas: Canvas, x: float, y: float, text: str, max_length: int) -> None:
    """Writes a right-aligned label, vertically centred at ``y``; labels longer than ``max_length``
    are broken between two parts."""
    first, rest = text, ""
    while len(first) > max_length and " · " in first:
        first, _, last = first.rpartition(" · ")
        rest = f"{last} · {rest}" if rest else last
    canvas.text(x, y + (-2.5 if rest else 4.5), first, "name", "end", max_length)
    if rest:
        canvas.text(x, y + 11.5, rest, "more", "end", max_length + 2)


def legend(
    canvas: Canvas, names: Sequence[tuple[str, str]], x: float = LEFT, y: float = 10
) -> None:
    """Draws a legend: a coloured square per (style, name)."""
    for style, name in names:
        canvas.rect(x, y, 12, 12, style)
        canvas.text(x + 17, y + 10.5, name, "tick")
        x += 42 + LETTER * len(name)


def frameworks_legend(
    canvas: Canvas, entries: Sequence[Mapping[str, Any]], context: Context, x: float = LEFT
) -> None:
    """Draws a legend of the entries' frameworks: mark and name."""
    for name in sorted({str(entry["framework"]) for entry in entries}):
        canvas.dot(x + 6, 16, f"c{context.colour(name)}", radius=5)
        canvas.text(x + 17, 20.5, framework_name(name), "tick")
        x += 42 + LETTER * len(framework_name(name))
