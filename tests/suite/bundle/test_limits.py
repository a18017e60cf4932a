"""The most rows that a run's tables can have, worked out by hand from its request and its log."""

from pathlib import Path
from typing import Any

import pytest

from suite.bundle.limits import (
    MARGIN_ROWS,
    MAX_READING_ROWS,
    MAX_STEP_ROWS,
    possible_readings,
    possible_steps,
)
from suite.bundle.log import Log, LogEvent

REQUEST = {
    "data": {"train_samples": 100},
    "parallel": {"ranks": 3},
    "epochs": 5,
    "global_batch_size": 30,
}


@pytest.mark.parametrize(
    ("more", "rows", "reason"),
    [
        ({}, 2 * 20 * 3, "5 epochs of 4 steps, on 3 ranks"),
        ({"steps": 7}, 2 * 7 * 3, "5 epochs of 4 steps, 7 in all, on 3 ranks"),
        ({"steps": 70}, 2 * 20 * 3, "5 epochs of 4 steps, on 3 ranks"),
        ({"epochs": 1, "global_batch_size": 50}, 2 * 2 * 3, "1 epoch of 2 steps, on"),
    ],
)
def test_a_request_bounds_its_step_records(more: dict[str, Any], rows: int, reason: str) -> None:
    limit = possible_steps({**REQUEST, **more})
    assert limit.rows == rows + MARGIN_ROWS and reason in limit.reason


def test_no_request_allows_more_than_this_version_reads() -> None:
    for more in ({"epochs": 10**6}, {"epochs": 0}, {"parallel": {}}, {"steps": -1}):
        assert possible_steps({**REQUEST, **more}).rows == MAX_STEP_ROWS


def log_of(*times_ns: int | None) -> Log:
    moments = ({} if each is None else {"mono_ns": each} for each in times_ns)
    events = (LogEvent(1, 0, "", "x", None, moment) for moment in moments)
    return Log(Path("log.txt"), tuple(events), ())


def test_a_log_bounds_its_readings_by_its_length_and_ten_minutes_on_either_side() -> None:
    found = possible_readings(log_of(17 * 10**9, None, 5 * 10**9, 15 * 10**9))
    assert found.rows == (12 + 2 * 600) * 2000 + MARGIN_ROWS and "covers 12 s" in found.reason
    for log in (None, log_of(), log_of(None), log_of(0, 12_000 * 10**9)):
        assert possible_readings(log).rows == MAX_READING_ROWS
