"""Faults that the rules of suite.compliance.rules.loop_times find, by rule."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.log_edits import build_at_once
from tests.faults.edits.step_edits import close_gaps
from tests.faults.edits.table_edits import scale_column, set_column_of_rank

FAULTS: dict[str, tuple[Fault, ...]] = {
    "fetch-takes": (
        *both("every fetch a thousandth of what it was", scale_column("fetch_stall_s", 0.001)),
        recomputed(
            "two microseconds to fetch on rank 1",
            set_column_of_rank(1, "fetch_stall_s", 2e-6),
            ranks=2,
        ),
    ),
    "steps-apart": both("the time between the steps counted as fetching", close_gaps()),
    "exchange-takes": (
        recomputed(
            "waits of half a microsecond",
            set_column_of_rank(None, "communication_s", 5e-7),
            ranks=2,
        ),
    ),
    "initialisation-takes": both("init_start right before init_stop", build_at_once()),
}
