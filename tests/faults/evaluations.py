"""Faults that the rules of suite.compliance.rules.evaluations find, by rule."""

from tests.faults.edits.fault import Fault, both
from tests.faults.edits.rank_log_edits import shift_rank
from tests.faults.edits.step_edits import evaluate_in

FAULTS: dict[str, tuple[Fault, ...]] = {
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
