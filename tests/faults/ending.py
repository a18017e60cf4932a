"""Faults that the rules of suite.compliance.rules.ending find, by rule."""

from tests.faults.edits.fault import Fault, both, sealed
from tests.faults.edits.file_edits import set_run, shift_start
from tests.faults.edits.log_edits import (
    EPOCHS,
    add_steps_logged,
    remove_event,
    remove_last_epoch,
    repeat_event,
    repeat_event_before,
    set_accuracy,
    shift_event,
)
from tests.faults.edits.table_edits import scale_column

DAY_MS = 86_400_000


FAULTS: dict[str, tuple[Fault, ...]] = {
    "evaluations-in-order": (
        *(
            fault
            for number in EPOCHS
            for key in ("eval_start", "eval_stop")
            for fault in both(f"{key} {number + 1} taken out", remove_event(key, number))
        ),
        sealed("an accuracy twice", repeat_event("eval_accuracy")),
        sealed("another accuracy at the end", repeat_event_before("eval_accuracy", "run_stop")),
    ),
    "ends-as-asked": (
        *both("a success that is claimed an epoch too early", set_accuracy(0, 0.996)),
        *both("an end before target and last epoch", remove_last_epoch()),
    ),
    "epoch-ends": (
        *(
            fault
            for number in EPOCHS
            for fault in both(f"epoch {number + 1} counts a step more", add_steps_logged(number, 1))
        ),
        sealed("epoch 2 counts a step less", add_steps_logged(1, -1)),
        *(
            fault
            for number in EPOCHS
            for late_ms in (50, -50)
            for fault in both(
                f"epoch {number + 1} ends {late_ms} ms later",
                shift_event("epoch_stop", number, late_ms * 10**6),
            )
        ),
    ),
    "epoch-filled": tuple(
        fault
        for share in (0.5, 0.01)
        for fault in both(f"{share} of the compute time", scale_column("compute_s", share))
    ),
    "run-record": (
        sealed("exit code 137", set_run("exit_code", 137)),
        sealed("a message of failure", set_run("message", "out of memory")),
        *(sealed(f"started {days} days later", shift_start(days * DAY_MS)) for days in (-30, 30)),
        sealed("started ten minutes earlier", shift_start(-600_000)),
    ),
}
