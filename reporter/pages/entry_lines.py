"""Entries as lines of the pages of machines and submitters: score, energy with its instrument,
rank, dates."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reporter.board.boards import Leaderboard, LeaderboardRow, with_values
from reporter.board.columns import SCORE_COLUMNS, Cell, make_cell
from reporter.data.entry_scores import SCORE_S
from reporter.data.frames import Frames, grouped, is_known, rows_of
from reporter.data.instrument_names import instrument_named
from reporter.data.machine_names import machine_title
from reporter.data.words import day_of, submitter_title
from reporter.pages.addresses import machine_page, submitter_page
from reporter.pages.shared import board_title, trained_title

TIME_PER_EPOCH = "time_to_epoch_s"


@dataclass(frozen=True)
class Dates:
    """The days of the first and the last run of an entry, UTC, and the latter in ms since
    1970-01-01."""

    first: str
    last: str
    last_ms: float

    @property
    def text(self) -> str:
        """One day, or two."""
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class EntryLine:
    """An entry with its leaderboard, whose ``title`` is in words. ``section`` is where it stands
    there: accepted, refused or withdrawn."""

    row: LeaderboardRow
    board: Leaderboard
    section: str
    dates: Dates
    title: str

    @property
    def machine(self) -> str:
        """The machine's name."""
        return machine_title(self.row.entry)

    @property
    def machine_page(self) -> str:
        """The machine's page, from the site's root."""
        return machine_page(self.row.entry)

    @property
    def submitter(self) -> str:
        """The submitter's name."""
        return submitter_title(str(self.row.entry["organization"]))

    @property
    def submitter_page(self) -> str:
        """The submitter's page, from the site's root."""
        return submitter_page(str(self.row.entry["organization"]))

    @property
    def instrument(self) -> str:
        """What measured the energy, in words; empty without an energy."""
        kind = self.row.scores.instrument
        has_energy = any(cell.raw for cell in self.shown if cell.column.is_energy)
        return instrument_named(*kind) if kind is not None and has_energy else ""

    @property
    def shown(self) -> tuple[Cell, ...]:
        """The board's time, the time per epoch where that is another one, and the board's
        energy."""
        energy = self.board.energy.figure if self.board.energy else ""
        figures = dict.fromkeys((self.board.time.figure, TIME_PER_EPOCH, energy))
        return tuple(cell for figure in figures if (cell := self.row.cell(figure)) is not None)

    @property
    def score(self) -> Cell:
        """Its score, or why it has none."""
        return self.row.cell(SCORE_S) or make_cell(SCORE_COLUMNS[0], None)


def entry_lines(boards: Iterable[Leaderboard], frames: Frames) -> tuple[EntryLine, ...]:
    """Every entry on a leaderboard, in the boards' order, made once; ``boards`` are those of the
    frames."""
    return frames.cached("lines of entries", lambda: tuple(_lines(boards, dates_of(frames))))


def _lines(boards: Iterable[Leaderboard], dates: Mapping[str, Dates]) -> Iterator[EntryLine]:
    for board in boards:
        title = board_title(board)
        for section, rows in sections(board):
            for row in rows:
                yield EntryLine(row, board, section, dates[row.entry_id], title)


def sections(board: Leaderboard) -> tuple[tuple[str, Sequence[LeaderboardRow]], ...]:
    """The tables of a board by name."""
    return (
        ("accepted", board.accepted),
        ("refused", board.refused),
        ("withdrawn", board.withdrawn),
    )


def dates_of(frames: Frames) -> Mapping[str, Dates]:
    """The dates of every entry's runs, by entry id."""
    return frames.cached("dates of entries", lambda: _dates(frames))


def _dates(frames: Frames) -> Mapping[str, Dates]:
    times: dict[str, list[float]] = {}
    for run in rows_of(frames.runs):
        times.setdefault(run["entry_id"], []).append(
            float(run["started_time_ms"]) if is_known(run["started_time_ms"]) else 0.0
        )
    return {
        name: Dates(day_of(min(of_entry)), day_of(max(of_entry)), max(of_entry))
        for name, of_entry in times.items()
    }


@dataclass(frozen=True)
class BoardLines:
    """The entries of one machine or submitter on one board."""

    board: Leaderboard
    title: str
    lines: tuple[EntryLine, ...]


def lines_by_board(lines: Iterable[EntryLine]) -> tuple[BoardLines, ...]:
    """The lines, grouped by their board."""
    return tuple(
        BoardLines(group[0].board, group[0].title, tuple(group))
        for group in grouped(lines, lambda line: line.board.slug).values()
    )


@dataclass(frozen=True)
class TrendRow:
    """The best entry of one round and one version of the suite; ``entries`` took part in the
    choice."""

    round: str
    suite_version: str
    entries: int
    best: EntryLine
    last_day: str


@dataclass(frozen=True)
class Trend:
    """Rows by the day of the last run, for one workload, division and data set. ``figure`` is what
    the best entry is chosen by."""

    title: str
    heading: str
    rows: tuple[tuple[TrendRow, Cell], ...]


def trends(lines: Iterable[EntryLine]) -> tuple[Trend, ...]:
    """What changed over rounds and versions of the suite: for workloads with entries in two of them
    or more, by score, else by time per epoch."""
    groups = grouped(
        (line for line in lines if line.section == "accepted"),
        lambda line: (
            line.board.workload,
            line.board.division,
            line.board.data,
            line.board.precision,
        ),
    )
    return tuple(
        trend
        for _, group in sorted(groups.items())
        for figure in (SCORE_S, TIME_PER_EPOCH)
        if (trend := _trend(group, figure))
    )


def _trend(lines: Sequence[EntryLine], figure: str) -> Trend | None:
    groups = grouped(
        (line for line in lines if line.row.value(figure) is not None),
        lambda line: (line.board.round, str(line.row.entry["suite_version"])),
    )
    if len(groups) < 2:
        return None
    rows = []
    for key, of_version in groups.items():
        best, last = _best(of_version, figure), max(line.dates.last for line in of_version)
        assert best is not None
        rows.append((TrendRow(*key, len(of_version), best[0], last), best[1]))
    rows.sort(key=lambda pair: (pair[0].last_day, pair[0].round, pair[0].suite_version))
    board = lines[0].board
    title = f"{trained_title(board)}, {board.division} division"
    return Trend(title, rows[0][1].column.heading, tuple(rows))


Best = tuple[EntryLine, Cell]
"""An entry with the cell that it is the best by."""


@dataclass(frozen=True)
class BoardMode:
    """A power mode of a machine: its number of entries, the fastest, and the one with the least
    energy of each kind of instrument."""

    name: str
    entries: int
    fastest: Best | None
    thriftiest: tuple[Best, ...]


def power_modes_of_board(lines: Sequence[EntryLine]) -> tuple[BoardMode, ...]:
    """The power modes of accepted entries of one board, each system's apart, by the time and the
    energy that it shows first; the fastest first."""
    accepted = [line for line in lines if line.section == "accepted"]
    is_mixed = len({line.row.system for line in accepted}) > 1
    groups = grouped(accepted, lambda line: f"{line.row.system}, " * is_mixed + _mode(line))
    found = [
        BoardMode(name, len(group), _best(group, group[0].board.time.figure), _thriftiest(group))
        for name, group in groups.items()
    ]
    found.sort(key=lambda mode: (mode.fastest[1].order if mode.fastest else math.inf, mode.name))
    return tuple(found)


def _mode(line: EntryLine) -> str:
    mode = line.row.entry["power_mode"]
    return str(mode) if is_known(mode) else "unknown"


def _thriftiest(lines: Sequence[EntryLine]) -> tuple[Best, ...]:
    energy = lines[0].board.energy
    if energy is None:
        return ()
    ordered = sorted(lines, key=lambda line: line.row.instrument)
    kinds = grouped((line for line in ordered if line.instrument), lambda line: line.instrument)
    found = (_best(of_kind, energy.figure) for of_kind in kinds.values())
    return tuple(best for best in found if best is not None)


def _best(lines: Sequence[EntryLine], figure: str) -> Best | None:
    line_of = {line.row.entry_id: line for line in lines}
    found = with_values([line.row for line in lines], figure)
    order = sorted(found, key=lambda pair: (pair[1].order, pair[0].entry_id))
    return next(((line_of[row.entry_id], cell) for row, cell in order), None)
