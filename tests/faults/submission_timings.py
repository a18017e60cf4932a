"""Faults that the rules of suite.compliance.rules.submission_timings find, by rule."""

from reference_impls.contract import ASYNCHRONOUS
from tests.faults.edits.fault import Fault, in_turn, of_every_run, recomputed
from tests.faults.edits.log_edits import request_also, set_everywhere
from tests.faults.edits.step_edits import without_split

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-split": (
        of_every_run(
            recomputed(
                "asynchronous timing on a GPU, and no run that splits a step",
                in_turn(
                    set_everywhere("accelerator", "cuda"),
                    request_also("timing", ASYNCHRONOUS),
                    without_split(),
                ),
            )
        ),
    ),
}
