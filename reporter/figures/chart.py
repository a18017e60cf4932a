"""What every figure shares: its registration, its answer, and charts made of one row per entry."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reporter.data.frames import Frames
from reporter.data.studies import StudyRecord
from reporter.figures.svg import Canvas, Scale, tick_text

MOST_ROWS = 40
WIDTH, LEFT, RIGHT, TOP, BOTTOM, STEP = 900, 270, 70, 34, 44, 34


@dataclass(frozen=True)
class Context:
    """Where the figure will stand: ``root`` leads from the page to the site's top, ``colours`` gives every framework its own."""

    root: str
    colours: Mapping[str, int] = field(default_factory=dict)

    def colour(self, framework: str) -> int:
        """The number in the classes c0, c1, … of the style sheet."""
        return self.colours.get(framework, 7)

    def entry(self, entry_id: str) -> str:
        """The address of an entry's page."""
        return f"{self.root}entries/{entry_id}.html"


@dataclass(frozen=True)
class Drawing:
    """A figure and the same in words and numbers: the table is its text alternative."""

    svg: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class NotDrawn:
    """Why there is nothing to draw."""

    reason: str


@dataclass(frozen=True)
class Caption:
    """What a figure is called: ``name`` is its file's and anchor's, ``about`` says how to read it."""

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
    """The ids in ascending order of their numbers, no more than fit a figure, and a sentence on what was left out."""
    ids = sorted(order, key=lambda name: (order[name], name))
    left_out = len(ids) - MOST_ROWS
    return ids[:MOST_ROWS], f"The first {MOST_ROWS} of {len(ids)}; the table has all." if left_out > 0 else ""


@dataclass(frozen=True)
class Rows:
    """A chart with one row per entry, its names on the left and a value axis below."""

    canvas: Canvas
    scale: Scale

    def y(self, index: int) -> float:
        """The middle of a row."""
        return TOP + index * STEP + STEP / 2

    def name(self, index: int, text: str, target: str) -> None:
        """A row's name, linked to its evidence, on two lines where one is too short."""
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


def name_on_lines(canvas: Canvas, x: float, y: float, text: str, longest: int) -> None:
    """A name that ends at ``x``, around the middle of its row; one of parts is broken before the part that would not fit."""
    first, rest = text, ""
    while len(first) > longest and " · " in first:
        first, _, last = first.rpartition(" · ")
        rest = f"{last} · {rest}" if rest else last
    canvas.text(x, y + (-2.5 if rest else 4.5), first, "name", "end", longest)
    if rest:
        canvas.text(x, y + 11.5, rest, "more", "end", longest + 4)


def legend(canvas: Canvas, names: Sequence[tuple[str, str]], x: float = LEFT, y: float = 10) -> None:
    """Coloured squares with names, as (style, name)."""
    for style, name in names:
        canvas.rect(x, y, 12, 12, style)
        canvas.text(x + 17, y + 10.5, name, "tick")
        x += 42 + 6.6 * len(name)


def frameworks_legend(canvas: Canvas, entries: Sequence[Mapping[str, Any]], context: Context) -> None:
    """The colours of the frameworks that occur."""
    legend(canvas, [(f"c{context.colour(name)}", name) for name in sorted({str(entry["framework"]) for entry in entries})])
