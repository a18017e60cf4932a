"""Faults that the rules of suite.compliance.rules.clocks find, by rule."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.log_edits import scale_run_time
from tests.faults.edits.reading_edits import step_wall_clock_unread

FAULTS: dict[str, tuple[Fault, ...]] = {
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
}
