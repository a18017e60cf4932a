"""Types that all figures of pages share, and rows that represent entries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from reference_impls.contract import WAITING
from reporter.data.frames import Frames
from reporter.data.frames import Row as Entry
from reporter.data.quantities import quantity
from reporter.data.selection import Group, choose_rows
from reporter.data.studies import StudyRecord
from reporter.figures.layout import lay_out
from reporter.figures.look import NARROW, WIDE
from reporter.figures.model import Estimate, LegendEntry, Missing, Plot, PlotRow, Radar
from reporter.figures.svg import Canvas, share_paths

MAX_ROWS, COLOURS = 40, 8


@dataclass(frozen=True)
class Context:
    """The page of a figure: ``root`` is the relative path to the site's root, ``colours`` are the
    numbers of the frameworks' colours.

    ``max_rows``: how many rows a chart with a row per entry may have on this page.
    """

    root: str
    colours: Mapping[str, int] = field(default_factory=dict)
    max_rows: int = MAX_ROWS

    def colour(self, framework: object) -> int:
        """The framework's number in the style sheet's classes c0, c1, …"""
        return self.colours.get(str(framework), COLOURS - 1) % COLOURS

    def entry(self, entry_id: str, figure: str = "") -> str:
        """The relative address of an entry's page, and of a figure on it."""
        return f"{self.root}entries/{entry_id}.html{figure and f'#{figure}'}"

    def frameworks(self, entries: Sequence[Entry]) -> tuple[LegendEntry, ...]:
        """A legend of the entries' frameworks."""
        names = {str(one["framework"]): str(one["implementation_name"]) for one in entries}
        return tuple(
            LegendEntry(f"c{self.colour(name)}", names[name], is_mark=True)
            for name in sorted(names)
        )


@dataclass(frozen=True)
class Caption:
    """A figure's caption. ``name`` is used in its file name and anchor; ``about`` states what is
    drawn, units and error bars."""

    name: str
    title: str
    about: str


Described = tuple[Caption, Callable[[Context], Plot | Missing]]
"""A figure's caption, and what describes it for a page."""


@dataclass(frozen=True)
class Drawing:
    """A figure with its caption, drawn as SVG."""

    caption: Caption
    figure: Plot

    @cached_property
    def svg(self) -> str:
        """The document."""
        return self._canvases[0].svg(self.caption.title, self.caption.about)

    @cached_property
    def narrow(self) -> str:
        """The document for a narrow screen, which shows long paths of ``svg``, too; empty where the
        figure has one width only."""
        return "".join(
            canvas.svg(self.caption.title, self.caption.about) for canvas in self._canvases[1:]
        )

    @cached_property
    def _canvases(self) -> tuple[Canvas, ...]:
        wide = lay_out(self.figure.panels, WIDE, self.figure.columns)
        if self.figure.columns > 1 or isinstance(self.figure.panels[0], Radar):
            return (wide,)
        narrow = lay_out(self.figure.panels, NARROW)
        share_paths(wide, narrow, self.caption.name)
        return wide, narrow


@dataclass(frozen=True)
class Chart(Caption):
    """A figure that pages show: ``describe`` makes it from frames.

    ``pages`` are the kinds of pages that show it: board, comparison, device, figures (all of a
    board), machine (one board of a device), study. ``position`` is its place on each of them:
    charts are shown in ascending order, those of one study first. A page of entries leaves out a
    chart whose table has fewer than ``min_rows`` rows: one bar compares with nothing.
    """

    describe: Callable[[Frames, Context], Plot | Missing]
    pages: frozenset[str] = frozenset()
    position: int = 0
    min_rows: int = 2

    def draw(self, frames: Frames, context: Context) -> Drawing | Missing:
        """The figure, drawn; or why it cannot be."""
        found = self.describe(frames, context)
        return found if isinstance(found, Missing) else Drawing(self, found)


@dataclass(frozen=True)
class StudyCharts:
    """The charts of one kind of study: ``make`` returns those of a study, in order;
    ``with_entries``: followed by the charts of its entries."""

    kind: str
    make: Callable[[StudyRecord], tuple[Chart, ...]]
    with_entries: bool


def without_parts(entries: Mapping[str, Entry]) -> Missing:
    """Why no entry has the parts of an epoch."""
    is_split = all(entry["timing"] == WAITING for entry in entries.values())
    return Missing(
        "no run has finished two "
        f"epochs{'' if is_split else ' in synchronised timing, which times the parts of an epoch'}"
    )


def rows_of_entries(
    order: Mapping[str, float],
    entries: Mapping[str, Entry],
    row: Callable[[str], PlotRow],
    unit: str,
    context: Context,
    ids: Sequence[str] = (),
) -> tuple[tuple[PlotRow, ...], str]:
    """A row for each of the chosen entries, in the order of ``ids`` or ascending by value, then the
    rows that others of a framework share, and a sentence on the choice."""
    chosen = choose_rows(order, lambda name: str(entries[name]["framework"]), context.max_rows)
    own = [name for name in ids if name in chosen.ids] if ids else chosen.ids
    shared = (shared_row(group, order, unit, context) for group in chosen.groups)
    return (*map(row, own), *shared), chosen.note


def row_of(
    entry: Entry,
    values: tuple[Estimate, ...],
    context: Context,
    figure: str,
    text: str = "",
    tip: str = "",
) -> PlotRow:
    """An entry's row in the colour of its framework, with a link to a figure on its page."""
    return PlotRow(
        entry["label"],
        values,
        f"c{context.colour(entry['framework'])}",
        context.entry(entry["entry_id"], figure),
        (text,) if text else (),
        (tip,) if tip else (),
    )


def shared_row(group: Group, order: Mapping[str, float], unit: str, context: Context) -> PlotRow:
    """A row from the lowest to the highest value of a group, with a mark at the median."""
    values = [order[name] for name in group.ids]
    text = range_text(values, unit)
    return PlotRow(
        group.label,
        (Estimate.of_all(values),),
        f"c{context.colour(group.name)}",
        texts=(text,),
        tips=(f"{group.label}: {text}",),
        is_group=True,
    )


def range_text(values: Sequence[float], unit: str) -> str:
    """The lowest and the highest value, each in the unit that suits it: "7.1 min to 22.2 h"; one
    value where they are written alike."""
    return " to ".join(
        dict.fromkeys(quantity(value, unit)[0] for value in (min(values), max(values)))
    )
