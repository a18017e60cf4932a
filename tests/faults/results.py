"""Faults that the rules of suite.compliance.rules.results find, by check."""

from tests.faults.adaptation import OLD_TASK
from tests.faults.edits.fault import Fault, both, in_turn, recomputed, sealed
from tests.faults.edits.file_edits import move_to_first_round
from tests.faults.edits.log_edits import (
    EPOCHS,
    add_point,
    miss_target,
    miss_target_in_all_epochs,
    request_also,
    set_accuracy,
    set_event,
    set_metadata,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "accuracy-counts": (
        *(
            fault
            for number in EPOCHS
            for fault in both(
                f"accuracy {number + 1} raised",
                set_event("eval_accuracy", number, value=0.9999),
            )
        ),
        *(
            fault
            for number in EPOCHS
            for fault in both(
                f"correct {number + 1} raised",
                set_metadata("eval_accuracy", number, correct=9999),
            )
        ),
        sealed("more correct than there are", set_accuracy(2, 1.2)),
        recomputed(
            "an accuracy on the old task that nobody counted",
            in_turn(request_also("old_task", OLD_TASK), add_point("old_task_accuracy", 0.99)),
        ),
        sealed("an accuracy that is text", set_event("eval_accuracy", 2, value="0.9905")),
    ),
    "target-reached": both(
        "a target that was not reached, in the first round",
        in_turn(miss_target(), move_to_first_round()),
    ),
    "target-missed": (
        recomputed("all epochs trained, the target missed", miss_target_in_all_epochs()),
        *both("a target that was not reached", miss_target()),
    ),
}
