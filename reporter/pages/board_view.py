"""The component that shows a leaderboard: its sentence, and one table that is its chart, by time,
energy and memory. The front page, a board's page, a device's and the demonstration's have it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reporter.board.boards import ENERGIES, Leaderboard, LeaderboardRow
from reporter.board.columns import Cell
from reporter.board.dot_chart import (
    GROUPS,
    SETTING,
    DotChart,
    DotRow,
    energy_charts,
    memory_chart,
    time_chart,
)
from reporter.data.entry_scores import SCORE_S
from reporter.data.instrument_names import instrument_words
from reporter.data.machine_names import machine_title, profile_of
from reporter.data.missed import TIME_TO_TARGET
from reporter.data.shown_replications import SELF_REPORTED
from reporter.data.words import submitter_title
from reporter.pages.headlines import (
    Headline,
    energy_and_memory_sentences,
    headline,
    quantity_words,
)
from suite.catalog.scoring import load_scoring

POWER, NOT_MEASURED = "mean_power_w", "not measured"
MAX_SETTINGS = 20
"""Entries of a board on which each setting can have a row of its own."""


@dataclass(frozen=True)
class View:
    """The charts that a reader sees at once: one of times or memory, or one of energies for each
    instrument. ``measure`` and ``by`` are what the reader chose."""

    measure: str
    by: str
    charts: tuple[DotChart, ...]


@dataclass(frozen=True)
class LeaderboardView:
    """A board with its sentence and its views; ``own`` are the rows that a page is about,
    ``curves`` is its figure of accuracy against time, ``others`` are its sentences of energy and
    memory."""

    board: Leaderboard
    headline: Headline
    views: tuple[View, ...]
    own: frozenset[str] = frozenset()
    curves: str = ""
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def measures(self) -> tuple[str, ...]:
        """What can be chosen: time, energy, memory."""
        return tuple(dict.fromkeys(view.measure for view in self.views))

    @property
    def groups(self) -> tuple[str, ...]:
        """What can have a row of its own."""
        return tuple(dict.fromkeys(view.by for view in self.views))

    @property
    def level(self) -> str:
        """The confidence of verdicts: "99 %"."""
        return load_scoring().pair_confidence

    def quantity(self, chart: DotChart) -> str:
        """The name of the quantity over its column."""
        return quantity_words(self.board, None) if chart.column is self.board.time else chart.title

    def end_cell(self, chart: DotChart, entry: LeaderboardRow) -> tuple[Cell, str] | None:
        """What stands at the end of an entry's row: its energy with mean power and instrument, in a
        table of energies its time."""
        column = self.board.time if chart.column is self.board.energy else self.board.energy
        cell = None if column is None else entry.cell(column.figure)
        if cell is None or not cell.raw:
            return None
        return cell, power_by_instrument(entry) if cell.column.is_energy else cell.around

    def settings(self, chart: DotChart, row: DotRow) -> list[list[object]]:
        """What a script shows in the row where filters leave out its best entry but not these,
        without those that an earlier one of the same setting beats in power, too: id (see
        :attr:`entries`), value, the row's texts, its dot."""
        least: dict[str, float] = {}
        found: list[list[object]] = []
        for entry, cell in row.members:
            watts, key = entry.value(POWER) or math.inf, GROUPS[SETTING](entry)
            is_beaten, least[key] = watts >= least.get(key, math.nan), watts
            if entry is row.best or is_beaten:
                continue
            beside, dot = self.end_cell(chart, entry), chart.axis.dot(cell)
            said = (beside[0].quantity, beside[1]) if beside else ("", NOT_MEASURED)
            setting = " · ".join((*_setting(entry, row.name), *_marks(entry)))
            texts = (setting, cell.quantity, cell.around, *said)
            place = dot and (dot.at, dot.low, dot.high)
            found.append([entry.entry_id, cell.raw, texts, place])
        return found

    @property
    def entries(self) -> dict[str, list[object]]:
        """What a script finds and filters an entry by in all tables, by id: words, power,
        system, time, energy of what that time is of, is it provisional."""
        charts = [chart for view in self.views for chart in view.charts]
        every = [entry for chart in charts for row in chart.rows for entry, _ in row.members]
        time, energy = self.board.time.figure, self.board.energy
        figures = (time, ENERGIES[time] if energy and energy.figure == ENERGIES[time] else "")
        return {
            entry.entry_id: [
                found_by(entry),
                self.value(entry, POWER),
                entry.system,
                *(self.value(entry, figure) for figure in figures),
                int(not entry.is_confirmed),
            ]
            for entry in {entry.entry_id: entry for entry in every}.values()
        }

    def details(self, row: DotRow) -> Iterator[str]:
        """What stands below a row's name: the rest of its setting, and what marks its entry."""
        best = row.best
        yield from _setting(best, row.name)
        if best.is_nominated:
            yield "nominated before the runs"
        if row.of > 1:
            yield f"best of {row.of}"
        yield from _marks(best)

    def measured(self, row: DotRow) -> str:
        """The measured time beside an expected one; empty where that is what the row shows."""
        cell = row.best.cell(TIME_TO_TARGET) if self.board.time.figure == SCORE_S else None
        return cell.quantity if cell is not None and cell.raw else ""

    def power(self, row: DotRow) -> str:
        """The mean power of the row's best entry, with its instrument; empty without it."""
        return power_by_instrument(row.best) if self.value(row.best, POWER) else ""

    @property
    def suggestions(self) -> tuple[str, ...]:
        """What the text filter offers: the traits of all rows."""
        rows = [row for view in self.views for chart in view.charts for row in chart.rows]
        return tuple(sorted({trait for row in rows for trait in _traits(row.best)} - {""}))

    def ratio(self, chart: DotChart, row: DotRow) -> str:
        """ "×1.6" of the first row's value; of the first one, what the verdicts allow to say."""
        if chart.rows[0].name in row.apart:
            return "not compared"
        first = "fastest" if chart.column is self.board.time else "least"
        return row.times or (first if chart.is_sure else "lowest")

    def value(self, entry: LeaderboardRow, figure: str) -> str:
        """The number of this figure of the entry; empty where it is unknown."""
        cell = entry.cell(figure)
        return "" if cell is None else cell.raw


def found_by(entry: LeaderboardRow) -> str:
    """What the text filter finds an entry by, besides its row's name."""
    words = (machine_title(entry.entry), entry.setting, *_traits(entry))
    return " ".join(" ".join(words).split())


def _setting(entry: LeaderboardRow, name: str) -> Iterator[str]:
    """What the name of a row leaves out of an entry's setting."""
    parts = (entry.system, entry.framework, entry.power_mode)
    yield from (part for part in parts if part and part not in name)


def _marks(entry: LeaderboardRow) -> Iterator[str]:
    """What keeps an entry from counting, who stands behind it, and its badges."""
    if not entry.is_confirmed:
        yield entry.why_not_counted
    if entry.provenance != SELF_REPORTED:
        yield entry.provenance
    yield from entry.badges


def _traits(entry: LeaderboardRow) -> tuple[str, ...]:
    """Framework, architectures, sizes of memory, submitter, who stands behind it."""
    profile = profile_of(entry.entry)
    parts = (profile.cpu, profile.gpu) if profile is not None else ()
    sizes = profile.memory.sizes_gb if profile is not None and profile.memory else ()
    return (
        entry.framework,
        *(part.architecture for part in parts if part is not None),
        *(f"{size:g} GB" for size in sizes),
        submitter_title(str(entry.entry["organization"])),
        entry.provenance,
    )


def board_view(
    board: Leaderboard, groups: Sequence[str] = tuple(GROUPS), own: frozenset[str] = frozenset()
) -> LeaderboardView:
    """The view of a board, with a row per each of these groups."""
    views = tuple(_views(board, groups))
    others = {} if own else energy_and_memory_sentences(board)
    return LeaderboardView(board, headline(board), views, own, others=others)


def _views(board: Leaderboard, groups: Sequence[str]) -> Iterator[View]:
    told = {by: time_chart(board, by) for by in groups}
    several = [by for by in groups if len(told[by].rows) > 1] or list(groups[:1])
    if len(board.in_order) > MAX_SETTINGS and len(several) > 1 and SETTING in several:
        several.remove(SETTING)
    names: list[set[str]] = []
    kept = []
    for by in several:
        if (shown := {row.name for row in told[by].rows}) not in names or len(told[by].rows) == 1:
            names.append(shown)
            kept.append(by)
    for by in kept:
        yield View("time", by, (told[by],))
        if energies := energy_charts(board, by):
            yield View("energy", by, energies)
        if memory := memory_chart(board, by):
            yield View("memory", by, (memory,))


def power_by_instrument(entry: LeaderboardRow) -> str:
    """ "13.5 W, meter at the wall": the entry's mean power with its instrument; the instrument
    alone where the power is unknown."""
    cell = entry.cell(POWER)
    return ", ".join((*((cell.quantity,) if cell and cell.raw else ()), instrument(entry)))


def instrument(row: LeaderboardRow) -> str:
    """What measured the row's energy, in words."""
    kinds = load_scoring().instruments()
    return (
        instrument_words(kinds[row.instrument]) if row.instrument < len(kinds) else "unknown sensor"
    )
