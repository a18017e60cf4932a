"""The answers that a leaderboard gives first: the three fastest entries, those with the least
energy by each kind of meter, and others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reporter.board.bars import Bar, bar_scale
from reporter.board.boards import Board, BoardRow, with_values
from reporter.board.columns import Cell
from reporter.board.instruments import Measured, measured_by
from reporter.board.systems import is_single_pi
from reporter.data.shown_replications import SELF_REPORTED
from suite.catalog.scoring import Standing

BEST = 3
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class AnswerRow:
    """An entry of an answer: its row, the cell that it is the best by, and the cell's bar."""

    row: BoardRow
    cell: Cell
    bar: Bar | None


@dataclass(frozen=True)
class Answer:
    """The best entries of a board by one figure; ``note`` says how it was measured. ``of`` is the
    number of entries that have the figure."""

    name: str
    title: str
    note: str
    rows: tuple[AnswerRow, ...]
    of: int

    @property
    def sure(self) -> str:
        """What stands beside the numbers: their intervals or their standard deviations; empty where
        there is neither."""
        if any(each.cell.interval for each in self.rows):
            return "95 % interval"
        return "± standard deviation" if any(each.cell.around for each in self.rows) else ""


@dataclass(frozen=True)
class BestOf:
    """The best entries of a board in one line: the fastest one, and the one with the least energy
    by each kind of instrument that is answered for."""

    board: Board
    fastest: AnswerRow | None
    energies: tuple[Answer, ...]


def _confirmed(
    found: Sequence[tuple[BoardRow, Kind]],
) -> tuple[Sequence[tuple[BoardRow, Kind]], str]:
    """Those whose row somebody else than the submitter stands behind, else all of them; and what
    the title adds."""
    confirmed = [pair for pair in found if pair[0].is_confirmed]
    return (confirmed, "") if confirmed else (found, f", {SELF_REPORTED}")


def best_of(board: Board) -> BestOf:
    """What a list of leaderboards says of this one."""
    return BestOf(board, next(iter(_fastest(board).rows), None), tuple(_energies(board)))


def answers(board: Board) -> tuple[Answer, ...]:
    """Fastest; least energy by the best kind of meter, and by the best kind that is only
    indicative; least memory; fastest Raspberry Pi."""
    return tuple(answer for answer in _answers(board) if answer.rows)


def _answers(board: Board) -> Iterator[Answer]:
    placed = board.in_order
    yield _fastest(board)
    yield from _energies(board)
    yield _answer(
        "memory",
        "Least memory",
        "peak, without a GPU's",
        _by(placed, "peak_memory_bytes"),
        "peak_memory_bytes",
    )
    pis = [row for row in placed if is_single_pi(row.entry)]
    if len(pis) < len(placed):
        yield _answer("pi", "Fastest Raspberry Pi", "one board", pis, board.time.figure)


def _fastest(board: Board) -> Answer:
    note = f"of {len(board.in_order)} entries" if len(board.in_order) > 1 else "the only entry"
    return _answer("fastest", "Fastest", note, board.in_order, board.time.figure)


def _energies(board: Board) -> Iterator[Answer]:
    """Of the best instrument that ranks, then of the best one of the others; estimates only where
    there is nothing else."""
    kinds = measured_by(board)
    ranked = [each for each in kinds if each.standing is Standing.RANKED][:1]
    others = [each for each in kinds if each.standing is Standing.INDICATIVE][:1]
    for each in (*ranked, *others) or tuple(kinds[:1]):
        yield _energy(each)


def _energy(measured: Measured) -> Answer:
    found, added = _confirmed([(each.row, each) for each in measured.rows])
    rows = tuple(AnswerRow(row, each.cell, each.bar) for row, each in found[:BEST])
    title = f"{measured.what}{added}"
    return Answer(f"energy-{measured.place}", title, measured.short, rows, len(found))


def _by(rows: Sequence[BoardRow], figure: str) -> list[BoardRow]:
    found = with_values(rows, figure)
    return [row for row, _ in sorted(found, key=lambda pair: pair[1].value or 0.0)]


def _answer(name: str, title: str, note: str, rows: Sequence[BoardRow], figure: str) -> Answer:
    cells, added = _confirmed(with_values(rows, figure))
    scale = bar_scale([cell for _, cell in cells])
    return Answer(
        name,
        f"{title}{added}",
        note,
        tuple(AnswerRow(row, cell, scale.bar(cell)) for row, cell in cells[:BEST]),
        len(cells),
    )
