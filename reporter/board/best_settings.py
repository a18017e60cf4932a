"""The best setting of each device: one entry by time, and one by energy per kind of instrument."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reporter.board.boards import PLACED, Leaderboard, LeaderboardRow
from reporter.data.entry_scores import SCORE_J, SCORE_S
from reporter.data.frames import grouped


@dataclass(frozen=True)
class BestSetting:
    """The entry of a device with the smallest ``score`` (its name in entry_figures); ``instrument``
    is that of an energy, empty for a time. Each device is one of the board, by its name."""

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
    for of_device in grouped(scored, lambda row: row.system).values():
        best = min(of_device, key=lambda row: (_value(score, row), row.entry_id))
        yield BestSetting(score, instrument, len(of_device), best)


def _value(score: str, row: LeaderboardRow) -> float:
    found = row.scores.score(score)
    assert found is not None
    return found.interval.value
