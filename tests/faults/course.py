"""Faults that the rules of suite.compliance.rules.course find, by rule."""

from suite.compliance.rules.course import ONCE_IN_ORDER, PER_EPOCH
from tests.faults.edits.fault import Fault, both, recomputed, sealed, unsealed
from tests.faults.edits.file_edits import change_lines, drop_line, resealed, set_run
from tests.faults.edits.log_edits import (
    EPOCHS,
    HOUR_NS,
    remove_clock,
    remove_epoch,
    remove_epoch_events,
    remove_event,
    repeat_event,
    repeat_event_first,
    scale_run_time,
    set_boot,
    set_metadata,
    shift_event,
    step_wall_clock,
    stop_early,
    stop_early_in_order,
    swap_events,
)
from tests.faults.edits.table_edits import (
    PARTS,
    drop_step,
    repeat_step,
    scale_column,
    set_cell,
    set_cell_of_rank,
    swap_first_steps,
)

CLOCK_EVENTS = (
    ("run_start", 0),
    ("epoch_start", 1),
    ("epoch_stop", 1),
    ("eval_accuracy", 2),
    ("init_stop", 0),
)


CELLS = (("samples", 1), ("epoch", 3), ("step", 5000), ("samples", -128), ("samples", 10**6))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "log-events": (
        *(sealed(f"{key} taken out", remove_event(key)) for key in ONCE_IN_ORDER),
        *(sealed(f"{key} twice", repeat_event(key)) for key in ONCE_IN_ORDER),
        sealed("run_start before all other events, too", repeat_event_first("run_start")),
        sealed("init_stop after run_start", swap_events("init_stop", "run_start")),
        # No line is chained to the last one, so the chain does not show that it is missing.
        unsealed(
            "run_stop's line dropped", resealed(change_lines("log.txt", drop_line("run_stop")))
        ),
    ),
    "epochs-in-order": (
        *(
            sealed(f"{key} {number + 1} taken out", remove_event(key, number))
            for key in PER_EPOCH
            for number in EPOCHS
        ),
        *(
            sealed(f"{key} {number + 1} of epoch 7", set_metadata(key, number, epoch_num=7))
            for key in PER_EPOCH
            for number in EPOCHS
        ),
        *(
            fault
            for number in EPOCHS
            for fault in both(
                f"eval_accuracy {number + 1} taken out", remove_event("eval_accuracy", number)
            )
        ),
        sealed("evaluation of another epoch", set_metadata("eval_accuracy", 1, epoch_num=1)),
        sealed("an epoch's events taken out", remove_epoch_events(1)),
        *both("an epoch missing in the middle", remove_epoch(2)),
        *both(
            "run_stop one second after run_start, and in that place of the log",
            stop_early_in_order(),
        ),
    ),
    "log-clock": (
        *both("run_stop one second after run_start", stop_early()),
        *(
            fault
            for key, number in CLOCK_EVENTS
            for fault in both(
                f"{key} {number + 1} an hour earlier", shift_event(key, number, -HOUR_NS)
            )
        ),
        *(
            sealed(f"{key} {number + 1} without a monotonic time", remove_clock(key, number))
            for key, number in CLOCK_EVENTS
        ),
        sealed("another boot from the second epoch on", set_boot("epoch_start", 1)),
    ),
    "wall-clock": (
        sealed("the wall clock steps by an hour", step_wall_clock(3_600_000)),
        sealed("the wall clock steps back by a minute", step_wall_clock(-60_000)),
        sealed("the wall clock runs twice as fast", scale_run_time(wall=2.0)),
        sealed(
            "closed before it began",
            set_run(
                "closed_later",
                {
                    "by": "suite finish",
                    "time_ms": 1,
                    "suite_version": "0.2.0",
                    "reason": "cut off",
                },
            ),
        ),
    ),
    "steps-complete": (
        *(
            fault
            for name, row in (("first", 0), ("middle", 700), ("last", -1))
            for fault in both(f"the {name} step taken out", drop_step(row))
        ),
        *both("a step twice", repeat_step(9)),
        *both("two steps swapped", swap_first_steps()),
        *(
            fault
            for column, value in CELLS
            for fault in both(f"{column} = {value} in one step", set_cell(column, 20, value))
        ),
    ),
    "steps-in-time": (
        *(
            fault
            for column in PARTS
            for fault in both(f"{column} below zero", set_cell(column, 20, -0.001))
        ),
        *(
            fault
            for column in PARTS
            for fault in both(f"{column} missing", set_cell(column, 20, float("nan")))
        ),
        *(
            fault
            for column in PARTS
            for fault in both(f"an hour of {column}", set_cell(column, 20, 3600.0))
        ),
        sealed("an hour of compute_s in the last step", set_cell("compute_s", -1, 3600.0)),
        *both("steps an hour later", scale_column("start_ns", 1, HOUR_NS)),
        *both("the log at half the time", scale_run_time(wall=0.5, monotonic=0.5)),
        recomputed(
            "a step of rank 1 below zero",
            set_cell_of_rank(1, "communication_s", -0.001),
            ranks=2,
        ),
        recomputed(
            "an hour in a step of rank 1", set_cell_of_rank(1, "compute_s", 3600.0), ranks=2
        ),
    ),
}
