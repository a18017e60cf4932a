"""Devices by workloads: the best entry of each device on each board of a round and division, by
time, by energy or by memory."""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reporter.board.boards import Board, BoardRow, with_values
from reporter.board.columns import Cell, Column
from reporter.board.instruments import Measured, measured_by

SHADES = 8


@dataclass(frozen=True)
class Best:
    """The best entry of a device on a board; ``shade`` is 0 for the best of the column, SHADES - 1
    for the worst, by logarithm."""

    board: Board
    row: BoardRow
    cell: Cell
    shade: int


@dataclass(frozen=True)
class Device:
    """A row of a matrix: the system's name and its best entry on each board, None without one."""

    system: str
    best: tuple[Best | None, ...]


@dataclass(frozen=True)
class Matrix:
    """One measure: its name for the page, its title, a remark, the boards that have it (its
    columns) with their figure, and its rows."""

    name: str
    title: str
    note: str
    columns: tuple[tuple[Board, Column], ...]
    devices: tuple[Device, ...]


Candidates = Sequence[tuple[BoardRow, Cell]]
"""Entries of a board with the cell that they are compared by."""


def matrices(boards: Sequence[Board]) -> tuple[Matrix, ...]:
    """By time, by energy for each kind of instrument, and by memory: those that an entry of these
    boards has."""
    return tuple(matrix for matrix in _matrices(boards) if matrix.devices)


def _matrices(boards: Sequence[Board]) -> Iterator[Matrix]:
    yield _matrix(
        "time",
        "time",
        "",
        boards,
        lambda board: (board.time, with_values(board.in_order, board.time.figure)),
    )
    groups = {board.slug: {each.place: each for each in measured_by(board)} for board in boards}
    for place in sorted({place for found in groups.values() for place in found}):
        first = next(found[place] for found in groups.values() if place in found)
        yield _matrix(
            f"energy-{place}", f"energy: {first.short}", "", boards, _energies_at(place, groups)
        )
    yield _matrix(
        "memory",
        "memory",
        "peak memory of the training processes",
        boards,
        lambda board: (board.memory, _memories(board)),
    )


Choose = Callable[[Board], tuple[Column | None, Candidates]]


def _energies_at(place: int, groups: dict[str, dict[int, Measured]]) -> Choose:
    def choose(board: Board) -> tuple[Column | None, Candidates]:
        found = groups[board.slug].get(place)
        return (
            (None, ())
            if found is None
            else (found.column, [(each.row, each.cell) for each in found.rows])
        )

    return choose


def _memories(board: Board) -> Candidates:
    return () if board.memory is None else with_values(board.in_order, board.memory.figure)


def _matrix(name: str, title: str, note: str, boards: Sequence[Board], choose: Choose) -> Matrix:
    chosen = [(board, *choose(board)) for board in boards]
    columns = [
        (board, column, _best_of_systems(rows))
        for board, column, rows in chosen
        if column is not None and rows
    ]
    systems = sorted({system for _, _, best in columns for system in best})
    shades = [
        _shades({system: _value(cell) for system, (_, cell) in best.items()})
        for _, _, best in columns
    ]
    devices = []
    for system in systems:
        found = [
            Best(board, *best[system], of_column[system]) if system in best else None
            for (board, _, best), of_column in zip(columns, shades, strict=True)
        ]
        devices.append((_distance(system, columns), Device(system, tuple(found))))
    devices.sort(key=lambda pair: (pair[0], pair[1].system))
    return Matrix(
        name,
        title,
        note,
        tuple((board, column) for board, column, _ in columns),
        tuple(device for _, device in devices),
    )


BestOfSystems = dict[str, tuple[BoardRow, Cell]]


def _best_of_systems(rows: Candidates) -> BestOfSystems:
    best: BestOfSystems = {}
    for row, cell in rows:
        if row.system not in best or _value(cell) < _value(best[row.system][1]):
            best[row.system] = (row, cell)
    return best


def _value(cell: Cell) -> float:
    assert cell.value is not None
    return cell.value


def _shades(values: dict[str, float]) -> dict[str, int]:
    low, high = min(values.values()), max(values.values())
    if not 0 < low < high:
        return dict.fromkeys(values, 0)
    return {
        name: round((SHADES - 1) * math.log(value / low) / math.log(high / low))
        for name, value in values.items()
    }


def _distance(system: str, columns: Sequence[tuple[Board, Column, BestOfSystems]]) -> float:
    """How many times the best of the columns a system needs, as the mean of logarithms."""
    logs = [
        math.log(_value(best[system][1]) / min(_value(cell) for _, cell in best.values()))
        for *_, best in columns
        if _is_compared(system, best)
    ]
    return statistics.fmean(logs) if logs else math.inf


def _is_compared(system: str, best: BestOfSystems) -> bool:
    return system in best and min(_value(cell) for _, cell in best.values()) > 0
