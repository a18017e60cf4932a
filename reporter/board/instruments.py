"""A board's energies by the kind of instrument: groups in the rulebook's order, each with an order,
ranks of its own."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from reporter.board.boards import Leaderboard, LeaderboardRow, with_values
from reporter.board.columns import Cell, Column
from reporter.board.ranking import Rank, unranked
from reporter.data.entry_scores import SCORE_J
from reporter.data.instrument_names import instrument_words
from suite.catalog.scoring import EnergyStanding, Instrument, load_scoring

NOT_SCORED = unranked("not ranked: the entry has no score")


@dataclass(frozen=True)
class MeasuredRow:
    """A row of the board with its energy and its rank among those of the same instrument."""

    row: LeaderboardRow
    cell: Cell
    rank: Rank


@dataclass(frozen=True)
class InstrumentRows:
    """The rows whose energy one kind of instrument measured, by their energy."""

    instrument: Instrument
    column: Column
    rows: tuple[MeasuredRow, ...]

    @property
    def short(self) -> str:
        """The instrument in words, with "indicative" where that is what it counts for: "on-board
        sensor of the module, indicative"."""
        words, standing = instrument_words(self.instrument), self.instrument.standing
        return f"{words}, indicative" if standing is EnergyStanding.INDICATIVE else words

    @property
    def has_ranks(self) -> bool:
        """Whether a row has a rank."""
        return any(each.rank.place is not None for each in self.rows)


def rows_by_instrument(board: Leaderboard) -> tuple[InstrumentRows, ...]:
    """The accepted rows with an energy, in groups that compare."""
    return tuple(_groups(board, board.energy)) if board.energy is not None else ()


def _groups(board: Leaderboard, column: Column) -> Iterator[InstrumentRows]:
    ranks = (
        {each.entry_id: each.rank for table in board.energies for each in table.rows}
        if column.figure == SCORE_J
        else {}
    )
    cells = with_values(board.accepted, column.figure)
    for instrument in load_scoring().instruments():
        found = [(row, cell) for row, cell in cells if row.instrument == instrument.place]
        rows = [MeasuredRow(row, cell, ranks.get(row.entry_id, NOT_SCORED)) for row, cell in found]
        rows.sort(
            key=lambda each: (each.rank.place or math.inf, each.cell.value, each.row.entry_id)
        )
        if rows:
            yield InstrumentRows(instrument, column, tuple(rows))
