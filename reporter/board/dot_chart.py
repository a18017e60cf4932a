"""A leaderboard as one table that is a chart: a row per device, power mode, framework or submitter,
each by its best entry, on one axis that they share."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reporter.board.axis import Axis, AxisDot, axis_of
from reporter.board.boards import Leaderboard, LeaderboardRow, with_values
from reporter.board.columns import Cell, Column
from reporter.board.comparison import Comparable, comparables, compare_pair
from reporter.board.instruments import InstrumentRows, rows_by_instrument
from reporter.data.entry_scores import OF_ENTRIES
from reporter.data.frames import grouped
from reporter.data.text import significant
from reporter.data.words import submitter_title
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import OTHER_ACCELERATORS, Ratio

MAX_ROWS = 60
"""Of a chart; the board's table of entries has all."""
ERROR_UNKNOWN = "instrument's error unknown"
NOT_COMPARED = "this chart has no intervals of energies of runs"
Group = Callable[[LeaderboardRow], str]
SETTING = "setting"
GROUPS: Mapping[str, Group] = {
    "device": lambda row: row.system,
    "power mode": lambda row: f"{row.system} {row.power_mode}".strip(),
    "framework": lambda row: row.framework,
    "submitter": lambda row: submitter_title(str(row.entry["organization"])),
    SETTING: lambda row: ", ".join(filter(None, (row.system, row.framework, row.setting))),
}
"""What has a row of its own, as the reader chooses."""
Candidates = Sequence[tuple[LeaderboardRow, Cell]]


@dataclass(frozen=True)
class DotRow:
    """A row: its best entry, chosen from ``of`` ones, and as rings the places of its others;
    ``members`` are all of them, in order.

    ``times`` is how many times the first row's value it is; that of a provisional row or a short
    entry can be below 1. ``verdicts`` are those on this row over each other one, by name; a text
    says why there is none.
    """

    place: int
    name: str
    best: LeaderboardRow
    cell: Cell
    dot: AxisDot | None
    rings: tuple[str, ...]
    members: Candidates
    of: int
    times: str
    verdicts: Mapping[str, Ratio | str]

    @property
    def is_lowest(self) -> bool:
        """Whether no entry of the row has a lower value than the one that stands for it."""
        return self.cell.order <= min(cell.order for _, cell in self.members)

    @cached_property
    def alike(self) -> tuple[str, ...]:
        """The rows that it is not distinguishable from; the relation is not transitive."""
        return tuple(
            name
            for name, found in self.verdicts.items()
            if isinstance(found, Ratio) and not found.is_different
        )

    @property
    def is_compared(self) -> bool:
        """Whether there is a verdict on it and any other row."""
        return any(isinstance(found, Ratio) for found in self.verdicts.values())

    @property
    def why_not_compared(self) -> str:
        """Why there is none, as said of the first other row; empty where there is a verdict, or no
        other row."""
        return "" if self.is_compared else str(next(iter(self.verdicts.values()), ""))

    def doubt(self, other: str) -> str:
        """Why it is unsure whether this row or the other one is less; empty where it is sure."""
        found = self.verdicts.get(other)
        if not isinstance(found, Ratio) or found.is_different:
            return ""
        return "order not sure" if math.isfinite(found.high) else ERROR_UNKNOWN

    @property
    def apart(self) -> tuple[str, ...]:
        """The rows with which it has no ratio: their frameworks are on another accelerator."""
        return tuple(name for name, found in self.verdicts.items() if found == OTHER_ACCELERATORS)


@dataclass(frozen=True)
class DotChart:
    """One figure of a board. ``title`` names the quantity, ``note`` its instrument; ``by`` is what
    has a row, ``entries`` the number of entries in all rows. ``has_places``: entries have ranks by
    this figure."""

    name: str
    title: str
    note: str
    by: str
    column: Column
    axis: Axis
    rows: tuple[DotRow, ...]
    left_out: int
    entries: int
    has_places: bool = False

    @cached_property
    def is_sure(self) -> bool:
        """Whether the first row is distinguishable from all others; from those with too few runs
        only if it has too few itself."""
        first, *others = self.rows
        verdicts = (
            first.verdicts[row.name]
            for row in others
            if row.best.is_confirmed or not first.best.is_confirmed
        )
        return all(isinstance(found, Ratio) and found.is_different for found in verdicts)

    @property
    def compared(self) -> int:
        """The number of rows that are compared with another one."""
        return sum(row.is_compared for row in self.rows)

    @property
    def pairs(self) -> int:
        """The number of pairs of these rows."""
        return self.compared * (self.compared - 1) // 2

    @property
    def false_verdicts(self) -> str:
        """How many pairs would be judged different by chance if no two rows differed: "one pair in
        every 2 such tables"."""
        expected = load_scoring().pair_level * self.pairs
        if expected > 1.5:
            return f"{expected:.0f} pairs in this table"
        tables = round(1 / expected)
        return f"one pair in {f'every {tables} such tables' if tables > 1 else 'this table'}"


def time_chart(board: Leaderboard, by: str = "device", only_vouched: bool = False) -> DotChart:
    """The board's time; with ``only_vouched``, of the entries that somebody else stands behind."""
    rows = _drawn_rows(with_values(board.in_order, board.time.figure), only_vouched)
    return board.frames.cached(
        f"time by {by} {only_vouched}",
        lambda: replace(
            dot_chart(board, board.time, rows, GROUPS[by], by), has_places=bool(board.ranked)
        ),
    )


def energy_charts(
    board: Leaderboard, by: str = "device", only_vouched: bool = False
) -> tuple[DotChart, ...]:
    """The board's energy, a chart for each kind of instrument; ``only_vouched`` as of times."""
    return board.frames.cached(
        f"energy by {by} {only_vouched}",
        lambda: tuple(
            _energy_chart(board, group, by, only_vouched) for group in rows_by_instrument(board)
        ),
    )


def _energy_chart(
    board: Leaderboard, group: InstrumentRows, by: str, only_vouched: bool
) -> DotChart:
    rows = _drawn_rows([(each.row, each.cell) for each in group.rows], only_vouched)
    chart = dot_chart(
        board, group.column, rows, GROUPS[by], by, f"energy-{group.instrument.place}", group.short
    )
    return replace(chart, has_places=group.has_ranks)


def _drawn_rows(rows: Candidates, only_vouched: bool) -> Candidates:
    return [pair for pair in rows if pair[0].is_vouched] if only_vouched else rows


def memory_chart(
    board: Leaderboard, by: str = "device", only_vouched: bool = False
) -> DotChart | None:
    """Peak memory, ``only_vouched`` as of times; None where no entry has it."""
    if board.memory is None:
        return None
    rows = _drawn_rows(with_values(board.in_order, board.memory.figure), only_vouched)
    rows = sorted(rows, key=lambda pair: (pair[1].order, pair[0].entry_id))
    return dot_chart(board, board.memory, rows, GROUPS[by], by, "memory") if rows else None


def dot_chart(
    board: Leaderboard,
    column: Column,
    candidates: Candidates,
    group: Group,
    by: str,
    name: str = "time",
    note: str = "",
) -> DotChart:
    """A chart of these entries, which are in order, by ``column``, of which less is better; an
    entry with too few runs stands behind all confirmed ones."""
    ordered = sorted(candidates, key=lambda pair: not pair[0].is_confirmed)
    groups = grouped(ordered, lambda pair: group(pair[0]))
    chosen = {each: _standing_for(members) for each, members in groups.items()}
    best = {each: members[0] for each, members in chosen.items()}
    settings = {each: len(members) for each, members in chosen.items()}
    places = {row.entry_id: place for place, (row, _) in enumerate(ordered)}
    names = sorted(best, key=lambda each: places[best[each][0].entry_id])
    shown, axis = names[:MAX_ROWS], axis_of((cell for _, cell in candidates), column.unit)
    verdicts = _verdicts(board, column, {each: best[each][0] for each in shown}, settings)
    first = best[names[0]][1].order if names else math.nan
    rows = (
        DotRow(
            place,
            each,
            *best[each],
            axis.dot(best[each][1]),
            _rings(axis, groups[each], best[each][1]),
            groups[each],
            settings[each],
            ""
            if verdicts[each].get(names[0]) == OTHER_ACCELERATORS
            else _times(best[each][1].order, first),
            verdicts[each],
        )
        for place, each in enumerate(shown, 1)
    )
    left_out, count = len(names) - len(shown), len(candidates)
    return DotChart(name, column.heading, note, by, column, axis, tuple(rows), left_out, count)


def _standing_for(members: Candidates) -> Candidates:
    """What a row's best entry is chosen from: of each submitter the entries that it nominated, or
    all where it nominated none; one that is not confirmed stands in place of none that is."""
    nominating = {
        (row.entry["organization"], row.is_confirmed) for row, _ in members if row.is_nominated
    }
    return [
        (row, cell)
        for row, cell in members
        if row.is_nominated
        or not nominating & {(row.entry["organization"], one) for one in (True, row.is_confirmed)}
    ]


def _times(value: float, first: float) -> str:
    if value == first or not first > 0:
        return ""
    return f"×{significant(value / first, 3 if value / first < 1.1 else 2)}"


def _rings(axis: Axis, members: Candidates, best: Cell) -> tuple[str, ...]:
    """The places of the other entries, by halves of a percent; those at one place are one ring."""
    places = (
        float(axis.percent(cell.order)) for _, cell in members if cell is not best and cell.raw
    )
    return tuple(dict.fromkeys(f"{round(2 * place) / 2:g}" for place in places))


def _verdicts(
    board: Leaderboard,
    column: Column,
    best: Mapping[str, LeaderboardRow],
    settings: Mapping[str, int],
) -> dict[str, dict[str, Ratio | str]]:
    """On each row over each other one, at the level of the best of several settings."""
    figure = column.figure
    if column.is_energy and figure not in OF_ENTRIES:
        return {each: dict.fromkeys(best, NOT_COMPARED) for each in best}
    found = comparables(board.frames, [row.entry for row in best.values()], figure)
    of_row = {each: found[row.entry_id] for each, row in best.items()}
    return {one: dict(_against(one, of_row, settings)) for one in best}


def _against(
    one: str, found: Mapping[str, Comparable], settings: Mapping[str, int]
) -> Iterator[tuple[str, Ratio | str]]:
    for other, value in found.items():
        if other != one:
            yield other, compare_pair(found[one], value, (settings[one] + settings[other]) / 2)
