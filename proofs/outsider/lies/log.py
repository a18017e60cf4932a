"""Lies in the log: clocks, order, events that are missing or there twice, ranks, epochs,
evaluations."""

from __future__ import annotations

import copy

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    correct_counts,
    epoch_steps,
    find,
    in_every_log,
    log_value,
    mono,
    of_epoch,
    rebuild,
    register,
    set_status,
    shift,
    started,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


@error(
    "The last line is missing, as after a full disk",
    "status in run.json against a log without run_stop",
)
def _(b):
    b.remove("run_stop")


@error("Begin and end of the run's preparation were exchanged", "order of init_start and init_stop")
def _(b):
    one, two = b.event("init_start"), b.event("init_stop")
    one["key"], two["key"] = two["key"], one["key"]


@edited(
    "The second epoch was taken out and the third renumbered, its time kept",
    "an epoch less to the target",
    "a hole of an epoch's time between two epochs; readings go on through it",
)
def _(b):
    def edit(events):
        events[:] = [e for e in events if e["metadata"].get("epoch_num") != 2]
        for e in events:
            if e["metadata"].get("epoch_num") == 3:
                e["metadata"]["epoch_num"] = 2

    in_every_log(b, edit)
    b.steps = b.steps[b.steps["epoch"] != 2].reset_index(drop=True)
    late = b.steps["epoch"] == 3
    b.steps.loc[late, "step"] -= epoch_steps(b)
    b.steps.loc[late, "epoch"] = 2


@edited(
    "The second epoch was taken out and everything after it moved up",
    "an epoch less to the target, and its time",
    "a loss that jumps from the first epoch's end to the third's start; convergence against the"
    " reference points",
)
def _(b):
    rebuild(b, correct=[correct_counts(b)[0], correct_counts(b)[-1]])
    b.steps.loc[b.steps["epoch"] == 2, "loss"] *= 0.55


@error(
    "An epoch starts twice, as after a restart of the training script",
    "two epoch_start of one epoch",
)
def _(b):
    at = b.events.index(of_epoch(b.events, "epoch_start", 2))
    b.events.insert(at, copy.deepcopy(b.events[at]))


@edited(
    "Evaluations take no time, their ends moved to their starts",
    "evaluation time is saved",
    "an accuracy over 10,000 samples in a microsecond; a hole before the next epoch",
)
def _(b):
    def edit(events):
        for e in events:
            if e["key"] in ("eval_accuracy", "eval_stop"):
                e["metadata"]["mono_ns"] = mono(
                    of_epoch(events, "eval_start", e["metadata"]["epoch_num"])
                ) + (1000 if e["key"] == "eval_accuracy" else 2000)

    in_every_log(b, edit)


@edited(
    "The run is said to start only after the first hundred steps",
    "a slow start leaves the time to target",
    "run_start and epoch_start against the first steps",
)
def _(b):
    for key in ("run_start", "epoch_start"):
        b.event(key)["metadata"]["mono_ns"] += 2_000_000_000
        b.event(key)["time_ms"] += 2000


@edited(
    "The run is said to start when the third epoch does",
    "two epochs leave the time to target",
    "run_start behind epoch_start",
)
def _(b):
    start = b.event("run_start")
    b.events.remove(start)
    third = of_epoch(b.events, "epoch_start", 3)
    start["metadata"]["mono_ns"] = mono(third) - 10
    start["time_ms"] = third["time_ms"]
    b.events.insert(b.events.index(third), start)


@edited(
    "The run stops before its last evaluation",
    "the last evaluation leaves the time",
    "run_stop before eval_start",
)
def _(b):
    stop = b.event("run_stop")
    b.events.remove(stop)
    last = find(b.events, "eval_start")[-1]
    stop["metadata"]["mono_ns"] = mono(last) - 10
    b.events.insert(b.events.index(last), stop)


@edited(
    "The clock goes back between two events",
    "the time in between is lost",
    "monotonic times of two events that follow one another",
)
def _(b):
    for e in b.events[b.events.index(of_epoch(b.events, "epoch_stop", 2)) :]:
        e["metadata"]["mono_ns"] -= 9_500_000_000


@error(
    "The machine was started anew between two epochs and the run went on from its checkpoint",
    "boot in the log's later events against the earlier ones and system.json",
)
def _(b):
    for e in b.events[b.events.index(of_epoch(b.events, "epoch_start", 3)) :]:
        e["metadata"]["boot"] = "11111111-1111-4111-8111-111111111111"


@error(
    "An evaluation was repeated until it was good enough, and both accuracies are in the log",
    "two eval_accuracy in one evaluation",
)
def _(b):
    last = find(b.events, "eval_accuracy")[-1]
    poor = copy.deepcopy(last)
    poor["value"], poor["metadata"]["correct"] = 0.9894, 9894
    b.events.insert(b.events.index(last), poor)


@error("Some events are of a rank that does not exist", "rank in the log against ranks in run.json")
def _(b):
    for e in find(b.events, "eval_start"):
        e["metadata"]["rank"] = 3


@error(
    "Epochs are counted from zero in the log and from one in the steps",
    "epoch_num in the log against epoch in the step table",
)
def _(b):
    for e in b.events:
        if "epoch_num" in e["metadata"]:
            e["metadata"]["epoch_num"] -= 1


@error("The wall clock was written in seconds", "time_ms in the log against started_time_ms")
def _(b):
    for e in b.events:
        e["time_ms"] //= 1000


@error(
    "The monotonic clock was written in microseconds",
    "mono_ns in the log against the steps, readings and wall clock",
)
def _(b):
    for e in b.events:
        e["metadata"]["mono_ns"] //= 1000


@error(
    "Log of a second run was appended to the first one",
    "two init_start, two run_start, epochs 1 to 3 twice",
)
def _(b):
    more = copy.deepcopy(b.events)
    for e in more:
        e["metadata"]["mono_ns"] += 60_000_000_000
        e["time_ms"] += 60_000
    b.events.extend(more)


@edited(
    "The evaluation of the last epoch is dated into the epoch, as if both ran at once",
    "evaluation time is saved",
    "eval_start before epoch_stop",
)
def _(b):
    at = b.events.index(of_epoch(b.events, "epoch_stop", 3))
    stop = b.events.pop(at)
    b.events.insert(b.events.index(of_epoch(b.events, "eval_stop", 3)) + 1, stop)
    for e in b.events[at : at + 3]:
        e["metadata"]["mono_ns"] -= 200_000_000
    stop["metadata"]["mono_ns"] = mono(b.events[b.events.index(stop) - 1]) + 1000


@edited(
    "A first epoch was trained before run_start and is called preparation",
    "an epoch less to the target",
    "counters' and power meter's readings during a long preparation; first losses against guessing",
)
def _(b):
    rebuild(b, correct=correct_counts(b)[1:])
    b.steps["loss"] = b.steps["loss"] * 0.4
    for e in b.events[: b.events.index(b.event("init_start")) + 1]:
        e["metadata"]["mono_ns"] -= 9_000_000_000
        e["time_ms"] -= 9000
    started(b, b.run["started_time_ms"] - 9000)


@edited(
    "The last event says success although no evaluation reached the target",
    "a run that failed counts",
    "status in run_stop against the accuracies",
)
def _(b):
    rebuild(b, correct=[9700, 9800, 9850, 9860, 9870, 9880, 9885, 9890, 9893, 9895])
    set_status(b, "success")


@error("A success is called aborted", "status in run_stop against the accuracies")
def _(b):
    set_status(b, "aborted")


@error("The seed is missing from the log", "log without seed against the request")
def _(b):
    b.remove("seed")


@edited(
    "A setting is logged twice, the second time with another value",
    "readers that take the last value are misled",
    "two global_batch_size in the log",
)
def _(b):
    at = b.events.index(b.event("global_batch_size"))
    b.events.insert(at + 1, {**copy.deepcopy(b.events[at]), "value": 32})


@error(
    "An epoch's number of steps is that of another batch size",
    "steps in epoch_stop against the step table",
)
def _(b):
    for e in find(b.events, "epoch_stop"):
        e["metadata"]["steps"] = 2 * epoch_steps(b)


@error("An epoch has a start and no stop", "epoch_start without epoch_stop")
def _(b):
    b.remove("epoch_stop", 1)


@error("Starts and stops are marked as single moments", "event_type against the event's key")
def _(b):
    for e in find(b.events, "epoch_start"):
        e["event_type"] = "POINT_IN_TIME"


@error("Two lines of one epoch were exchanged", "order of eval_start and eval_accuracy")
def _(b):
    at = b.events.index(of_epoch(b.events, "eval_start", 2))
    b.events[at], b.events[at + 1] = b.events[at + 1], b.events[at]


@fabricated(
    "Everything was logged within the same second, as a script does that writes a log afterwards",
    "no run was made",
    "wall clock (stands still) against monotonic clock",
)
def _(b):
    for e in b.events:
        e["time_ms"] = b.events[0]["time_ms"]


@fabricated(
    "The log was written a day after the readings and steps",
    "a log of its own for old records",
    "log's wall clock against started_time_ms and run_id",
)
def _(b):
    for e in b.events:
        e["time_ms"] += 86_400_000


@edited(
    "A pause of five minutes in the middle of training was cut out of the log",
    "cooling pauses do not count",
    NOTHING + ", if both clocks are moved; temperatures, if they are read",
)
def _(b):
    rebuild(b, noise=0.02, seed=4, epoch_factor=lambda epoch: 1.3 if epoch == 1 else 0.85)


@edited(
    "A pause between two epochs is left in one clock only",
    "cooling pauses do not count",
    "wall clock against monotonic clock",
)
def _(b):
    for e in b.events[b.events.index(of_epoch(b.events, "epoch_start", 3)) :]:
        e["time_ms"] += 300_000


@error(
    "The framework's version in the log is that of an older installation",
    "framework_version in the log against system.json",
)
def _(b):
    log_value(b, "framework_version", "0.4.1")


@fabricated(
    "The whole run is dated before the machine's start: monotonic times below zero",
    "a result without a run",
    "monotonic clock of less than nothing",
)
def _(b):
    shift(b, -2000.0)
    b.run["started_time_ms"] += 2_000_000
    b.run["run_id"] = "lenet-pytorch-20270115T080000Z-000001"
    for e in b.events:
        e["time_ms"] += 2_000_000


@error(
    "An epoch more was trained after the target was reached, and its better accuracy is shown",
    "an epoch after the evaluation that reached the target",
)
def _(b):
    rebuild(b, correct=[*correct_counts(b), 9921])
