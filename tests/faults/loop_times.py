"""Faults that the rules of suite.compliance.rules.loop_times find, by check."""

from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import set_request
from tests.faults.edits.rank_log_edits import shift_rank
from tests.faults.edits.step_edits import close_gaps, evaluate_in
from tests.faults.edits.table_edits import scale_column, set_cell, set_column_of_rank

FAULTS: dict[str, tuple[Fault, ...]] = {
    "parts-taken": (
        *both("one step without compute time", set_cell("compute_s", 20, 0.0)),
        *both("no time for fetching", scale_column("fetch_stall_s", 0.0)),
        recomputed(
            "no communication without overlap",
            in_turn(set_request("parallel.overlap", False), scale_column("communication_s", 0.0)),
            ranks=2,
        ),
        recomputed(
            "no copies to a GPU",
            in_turn(set_request("accelerator", "cuda"), scale_column("copy_s", 0.0)),
        ),
    ),
    "fetch-takes": (
        *both("every fetch a thousandth of what it was", scale_column("fetch_stall_s", 0.001)),
        recomputed(
            "half a microsecond to fetch on rank 1",
            set_column_of_rank(1, "fetch_stall_s", 5e-7),
            ranks=2,
        ),
    ),
    "steps-apart": both("the time between the steps counted as fetching", close_gaps()),
    "evaluation-time": (
        *both(
            "an evaluation of rank 1 of a millisecond",
            shift_rank(1, "eval_start", by_ns=99_000_000),
            ranks=2,
        ),
        *both("evaluations of a millisecond", evaluate_in(0.001)),
        *both("evaluations of rank 0 of a millisecond", evaluate_in(0.001), ranks=2),
    ),
}
