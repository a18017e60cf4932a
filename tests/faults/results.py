"""Faults that the rules of suite.compliance.rules.results find, by rule."""

from reference_impls.structure import STRUCTURES
from tests.faults.edits.fault import Fault, both, in_turn, recomputed, sealed
from tests.faults.edits.file_edits import move_to_first_round
from tests.faults.edits.log_edits import (
    EPOCHS,
    miss_target,
    miss_target_in_all_epochs,
    remove_event,
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
        sealed("an accuracy that is text", set_event("eval_accuracy", 2, value="0.9905")),
    ),
    "status-follows": tuple(
        fault
        for status in ("aborted", "failed", None, 1)
        for fault in both(f"status {status!r}", set_metadata("run_stop", status=status))
    ),
    "target-reached": both(
        "a target that was not reached, in the first round",
        in_turn(miss_target(), move_to_first_round()),
    ),
    "target-missed": (
        recomputed("all epochs trained, the target missed", miss_target_in_all_epochs()),
        *both("a target that was not reached", miss_target()),
    ),
    "parameter-count": (
        *(
            sealed(f"parameters {value!r}", set_event("parameters", value=value))
            for value in (61_705, 500, None, "61706")
        ),
        sealed("parameters not logged", remove_event("parameters")),
    ),
    "layers-as-built": (
        *both(
            "a dropout of 0.2",
            set_event(
                "model_layers",
                value={"layers": 5, "sha256": STRUCTURES["lenet5"], "dropout": 0.2},
            ),
        ),
        *both(
            "another model's layers",
            set_event(
                "model_layers",
                value={"layers": 9, "sha256": STRUCTURES["vgg11"], "dropout": 0.0},
            ),
        ),
        recomputed("layers without a digest", set_event("model_layers", value="LeNet-5")),
    ),
}
