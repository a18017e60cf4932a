"""Faults that the rules of suite.compliance.rules.evaluations find, by rule."""

from tests.faults.edits.fault import Fault, both
from tests.faults.edits.step_edits import evaluate_in

FAULTS: dict[str, tuple[Fault, ...]] = {
    "evaluation-time": (
        *both("evaluations of a millisecond", evaluate_in(0.001)),
        *both("evaluations of rank 0 of a millisecond", evaluate_in(0.001), ranks=2),
    ),
}
