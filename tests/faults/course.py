"""Faults that the rules of suite.compliance.rules.course find, by check."""

from collections.abc import Sequence

from reference_impls.contract import SPEED
from suite.compliance.rules.course import ONCE_IN_ORDER, PER_EPOCH
from suite.compliance.shares import EVENT
from tests.faults.edits.fault import Fault, both, in_turn, recomputed, sealed, unsealed
from tests.faults.edits.file_edits import change_lines, drop_line, resealed
from tests.faults.edits.log_edits import (
    EPOCHS,
    HOUR_NS,
    add_steps_logged,
    remove_clock,
    remove_epoch,
    remove_epoch_events,
    remove_event,
    repeat_event,
    repeat_event_before,
    repeat_event_first,
    request_also,
    scale_run_time,
    set_boot,
    set_metadata,
    set_request,
    shift_event,
    stop_early,
    stop_early_in_order,
    swap_events,
)
from tests.faults.edits.rank_log_edits import add_to_all_logs, reboot_rank, shift_rank
from tests.faults.edits.table_edits import (
    PARTS,
    drop_rank,
    drop_step,
    rename_rank,
    repeat_step,
    scale_column,
    set_cell,
    set_cell_of_rank,
    shrink_share,
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

_BY_SPEED = request_also("parallel.shares", SPEED)
_EQUAL = {"seconds_per_sample": [0.001, 0.001], "samples": [16, 16]}
SPEEDS: dict[str, Sequence[object]] = {
    "equal shares of ranks that differ in speed": 2
    * [{"seconds_per_sample": [0.001, 0.003], "samples": [24, 8]}],
    "shares that do not follow from the speeds": 2 * [{**_EQUAL, "samples": [24, 8]}],
    "other speeds in rank 1's log": [_EQUAL, {**_EQUAL, "seconds_per_sample": [0.001, 0.0011]}],
    "speeds of a third rank": 2 * [{**_EQUAL, "seconds_per_sample": [0.001, 0.001, 0.001]}],
    "a speed of no time": 2 * [{**_EQUAL, "seconds_per_sample": [0.001, 0.0]}],
    "speeds in words": ["fast", "slow"],
}


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
    "ranks-clock": (
        recomputed(
            "another boot of rank 1 from its second epoch on",
            reboot_rank(1, "epoch_stop"),
            ranks=2,
        ),
        recomputed(
            "rank 1's run_stop an hour earlier",
            shift_rank(1, "run_stop", -3600 * 10**9),
            ranks=2,
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
    "ranks-complete": (
        *both("a step of rank 1 in a run of one rank", set_cell("rank", 20, 1)),
        *both("rank 1 left out of the steps", drop_rank(1), ranks=2),
        recomputed("rank 1's steps as rank 2's", rename_rank(1, 2), ranks=2),
        *both("rank 1 took less than its share", shrink_share(1), ranks=2),
        recomputed("1 rank requested", set_request("parallel.ranks", 1), ranks=2),
        *both("3 ranks requested", set_request("parallel.ranks", 3), ranks=2),
        *(
            fault
            for name, logged in SPEEDS.items()
            for fault in both(name, in_turn(_BY_SPEED, add_to_all_logs(EVENT, logged)), ranks=2)
        ),
        *both("shares by speeds that nobody logged", _BY_SPEED, ranks=2),
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
}
