"""Faults that the rules of suite.compliance.rules.submission_entries find, by check."""

from tests.faults.edits.fault import Fault, of_submission
from tests.faults.edits.submission_edits import reach_target_at_once

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-convergence": (
        of_submission("every run at the target after one epoch", reach_target_at_once()),
    ),
    "submission-convergence-tuned": (
        of_submission(
            "every run at the target after one epoch, at another learning rate",
            reach_target_at_once(0.02),
        ),
    ),
}
