"""The best setting of each device: one entry by time, and one by energy per kind of instrument."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from reporter.board.boards import PLACED, Leaderboard, LeaderboardRow
from reporter.data.entry_scores import SCORE_J, SCORE_S
from reporter.data.frames import Row, grouped, is_known

DEVICE = ("device", "cpu_model", "nodes")
"""What distinguishes devices: a profile for any machine holds several processors, and a cluster is
not one of its nodes."""


@dataclass(frozen=True)
class BestSetting:
    """The entry of a device with the smallest ``score`` (its name in entry_figures); ``instrument``
    is that of an energy, empty for a time."""

    device: str
    cpu_model: str | None
    nodes: int
    score: str
    instrument: str
    of: int  # entries of the device that it was chosen from
    row: LeaderboardRow


def best_settings(board: Leaderboard) -> tuple[BestSetting, ...]:
    """One row per device and score, by device; provisional entries take part, unranked ones
    do not."""
    rows = [row for row in board.accepted if row.scores.status in PLACED]
    return tuple(
        sorted(
            _best(board, rows),
            key=lambda best: (best.score != SCORE_S, best.instrument, _value(best.score, best.row)),
        )
    )


def _best(board: Leaderboard, rows: list[LeaderboardRow]) -> Iterator[BestSetting]:
    yield from _of_devices(rows, SCORE_S, "")
    by_id = {row.entry_id: row for row in rows}
    for table in board.energies:
        yield from _of_devices(
            [by_id[each.entry_id] for each in table.rows if each.entry_id in by_id],
            SCORE_J,
            table.title,
        )


def _of_devices(
    rows: Iterable[LeaderboardRow], score: str, instrument: str
) -> Iterator[BestSetting]:
    scored = (row for row in rows if row.scores.score(score) is not None)
    devices = grouped(scored, lambda row: tuple(_setting_value(row.entry, name) for name in DEVICE))
    for (device, cpu_model, nodes), of_device in devices.items():
        best = min(of_device, key=lambda row: (_value(score, row), row.entry_id))
        yield BestSetting(
            str(device), cpu_model, int(nodes), score, instrument, len(of_device), best
        )


def _setting_value(entry: Row, name: str) -> Any:
    return entry[name] if is_known(entry[name]) else None


def _value(score: str, row: LeaderboardRow) -> float:
    found = row.scores.score(score)
    assert found is not None
    return found.interval.value
