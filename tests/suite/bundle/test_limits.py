"""The most rows that a run's tables can have, worked out by hand from its request and its log."""

from pathlib import Path
from typing import Any

import pytest

from suite.bundle import tables
from suite.bundle.limits import (
    MARGIN_ROWS,
    MAX_READING_ROWS,
    MAX_STEP_ROWS,
    possible_readings,
    possible_steps,
)
from suite.bundle.log import Log, LogEvent
from suite.bundle.readings_table import MAX_CHANNEL_READINGS

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


def log_of(**times_ns: int | None) -> Log:
    """A log of events with these keys."""
    events = (
        LogEvent(1, 0, "", key, None, {} if each is None else {"mono_ns": each})
        for key, each in times_ns.items()
    )
    return Log(Path("log.txt"), tuple(events), ())


def test_a_log_bounds_its_readings_by_its_length_and_ten_minutes_on_either_side() -> None:
    found = possible_readings(
        log_of(run_start=5 * 10**9, x=None, y=17 * 10**9, run_stop=15 * 10**9)
    )
    assert found.rows == (12 + 2 * 600) * 2000 + MARGIN_ROWS and "covers 12 s" in found.reason
    for log in (None, log_of(), log_of(run_stop=None), log_of(run_start=0, run_stop=10**14)):
        assert possible_readings(log).rows == MAX_READING_ROWS


def test_a_log_that_ends_before_its_run_bounds_no_readings() -> None:
    """The run was killed hours after the last line, within its first epoch."""
    assert possible_readings(log_of(run_start=0, epoch_start=10**9)).rows == MAX_READING_ROWS


def test_what_a_board_s_meters_read_in_nine_days_can_be_read() -> None:
    """120 readings a second, at most five of them of one channel."""
    seconds = 9 * 86_400
    limit = possible_readings(log_of(run_start=0, run_stop=seconds * 10**9))
    assert 120 * seconds < limit.rows <= tables.MAX_ROWS
    assert 5 * seconds < MAX_CHANNEL_READINGS
