"""Faults that the rules of suite.compliance.rules.clocks find, by check."""

from tests.faults.edits.fault import Fault, both, of_first_run, recomputed, sealed
from tests.faults.edits.file_edits import set_run
from tests.faults.edits.log_edits import (
    HOUR_NS,
    freeze_wall_clock,
    scale_run_time,
    shift_everything,
    shift_wall_clock,
    step_wall_clock,
)
from tests.faults.edits.rank_log_edits import shift_time_of_day
from tests.faults.edits.reading_edits import step_wall_clock_unread

FAULTS: dict[str, tuple[Fault, ...]] = {
    "wall-clock": (
        sealed("the wall clock steps by an hour", step_wall_clock(3_600_000)),
        sealed("the wall clock steps back by a minute", step_wall_clock(-60_000)),
        sealed("the wall clock runs twice as fast", scale_run_time(wall=2.0)),
        sealed(
            "closed before it began",
            set_run(
                "closed_later",
                {
                    "by": "suite finish",
                    "time_ms": 1,
                    "suite_version": "0.2.0",
                    "reason": "cut off",
                },
            ),
        ),
    ),
    "nodes-times-of-day": (
        recomputed(
            "the second node's time of day an hour behind",
            shift_time_of_day(1, -3_600_000),
            ranks=2,
        ),
    ),
    "submission-dates": (
        of_first_run(
            sealed("run 1 three days later by the wall clock", shift_wall_clock(3 * 86_400_000))
        ),
    ),
    "submission-clock-order": (
        of_first_run(sealed("run 1 an hour later by the wall clock", shift_wall_clock(3_600_000))),
    ),
    "wall-clock-rate": (
        *both(
            "the monotonic clock of the run a fifth faster, the wall clock forgotten",
            scale_run_time(monotonic=1.25),
        ),
        *both("the wall clock of the run at 0.8 of its rate", scale_run_time(wall=0.8)),
    ),
    "wall-clock-meter": (
        recomputed(
            "the wall clock steps by a minute, the meter reads nothing",
            step_wall_clock_unread(60_000),
        ),
    ),
    "log-clocks-run": (
        *both("all events in the same second", freeze_wall_clock()),
        *both("the run before the boot", shift_everything(-HOUR_NS)),
    ),
}
