"""Edits of rank 0's log, and of the request that the log repeats."""

import math
from functools import reduce
from operator import getitem
from typing import Any

from reference_impls.contract import SYNCHRONISED
from tests.faults.edits.editable_bundle import EditableBundle, count_readings
from tests.faults.edits.fault import edit, in_turn
from tests.faults.edits.file_edits import set_in

HOUR_NS = 3600 * 10**9
EPOCHS = (0, 1, 2)
"""The epochs of the good run, by index."""

LOGGED: dict[str, str] = {
    "workload": "submission_benchmark",
    "division": "submission_division",
    "organization": "submission_org",
    "platform": "submission_platform",
    "framework": "framework",
    "model": "model",
    "data.name": "data_set",
    "seed": "seed",
    "global_batch_size": "global_batch_size",
    "optimizer.name": "opt_name",
    "optimizer.base_learning_rate": "opt_base_learning_rate",
    "optimizer.momentum": "opt_momentum",
    "optimizer.weight_decay": "opt_weight_decay",
    "optimizer.schedule": "opt_learning_rate_schedule",
    "initial_weights": "initial_weights",
    "parallel.collective": "collective",
    "epochs": "max_epochs",
    "target_accuracy": "target_accuracy",
    "data.train_samples": "train_samples",
    "data.eval_samples": "eval_samples",
    "cache_cleared": "cache_clear",
    "accelerator": "accelerator",
    "threads": "framework_threads",
}
"""The event that repeats a value of the request, by the value's name in the request."""


@edit
def remove_event(bundle: EditableBundle, key: str, number: int = 0) -> None:
    """Remove the n-th event with this key."""
    bundle.remove(key, number)


@edit
def repeat_event(bundle: EditableBundle, key: str) -> None:
    """Log an event twice in a row."""
    event = bundle.event(key)
    bundle.events.insert(
        bundle.events.index(event) + 1, dict(event, metadata=dict(event["metadata"]))
    )


@edit
def repeat_event_first(bundle: EditableBundle, key: str) -> None:
    """Log an event a second time, before all others."""
    bundle.events.insert(0, dict(bundle.event(key), metadata=dict(bundle.events[0]["metadata"])))


@edit
def repeat_event_before(bundle: EditableBundle, key: str, later: str) -> None:
    """Log the last event with this key a second time, right before the event ``later`` and at its
    time."""
    event, place = bundle.event(key, -1), bundle.event(later)
    copy = dict(
        event,
        time_ms=place["time_ms"],
        metadata=dict(event["metadata"], mono_ns=place["metadata"]["mono_ns"]),
    )
    bundle.events.insert(bundle.events.index(place), copy)


@edit
def swap_events(bundle: EditableBundle, first: str, second: str) -> None:
    """Exchange two events; the times stay in order."""
    one, other = bundle.event(first), bundle.event(second)
    one["key"], other["key"] = second, first


@edit
def set_event(bundle: EditableBundle, /, key: str, number: int = 0, **values: Any) -> None:
    """Set fields of an event."""
    bundle.event(key, number).update(values)


@edit
def add_point(bundle: EditableBundle, key: str, value: object) -> None:
    """Log another value right before init_stop."""
    stop = bundle.event("init_stop")
    added = dict(
        stop, event_type="POINT_IN_TIME", key=key, value=value, metadata=dict(stop["metadata"])
    )
    bundle.events.insert(bundle.events.index(stop), added)


@edit
def copy_value(bundle: EditableBundle, key: str, source: int, target: int) -> None:
    """Set the value of an event to that of another one with the same key."""
    bundle.event(key, target)["value"] = bundle.event(key, source)["value"]


@edit
def set_metadata(bundle: EditableBundle, /, key: str, number: int = 0, **values: Any) -> None:
    """Set metadata of an event."""
    bundle.event(key, number)["metadata"].update(values)


@edit
def add_steps_logged(bundle: EditableBundle, number: int, more: int) -> None:
    """Let epoch_stop count ``more`` steps than were taken."""
    bundle.event("epoch_stop", number)["metadata"]["steps"] += more


@edit
def set_accuracy(bundle: EditableBundle, number: int, value: float) -> None:
    """Set an accuracy and the count of correct samples that fits it."""
    event, samples = bundle.event("eval_accuracy", number), bundle.request["data"]["eval_samples"]
    event["metadata"]["correct"] = round(value * samples)
    event["value"] = event["metadata"]["correct"] / samples


@edit
def add_correct(bundle: EditableBundle, number: int, more: int) -> None:
    """Count ``more`` correct samples, and set the accuracy that fits."""
    event, samples = bundle.event("eval_accuracy", number), bundle.request["data"]["eval_samples"]
    event["metadata"]["correct"] += more
    event["value"] = event["metadata"]["correct"] / samples


@edit
def miss_target(bundle: EditableBundle) -> None:
    """No evaluation reaches the target; the status is made to fit."""
    for number in EPOCHS:
        set_accuracy(number, 0.9)(bundle)
    set_metadata("run_stop", status="aborted")(bundle)


@edit
def miss_target_in_all_epochs(bundle: EditableBundle, short: int | None = None) -> None:
    """Repeat the last epoch, which misses the target like all others, until the last one requested
    or the ``short`` one, which is then the limit; readings are repeated with it."""
    import pandas  # start-up: slow to load

    miss_target()(bundle)
    last = len(EPOCHS)
    first, second = (
        bundle.event("epoch_start", number)["metadata"]["mono_ns"]
        for number in (last - 2, last - 1)
    )
    length_ns, begin_ns = second - first, second
    events, steps = (
        [event for event in bundle.events if event["metadata"].get("epoch_num") == last],
        bundle.steps[bundle.steps["epoch"] == last],
    )
    during = bundle.readings[bundle.readings["t_ns"] >= begin_ns]
    more = (short or bundle.request["epochs"]) - last
    place = bundle.events.index(bundle.event("run_stop"))
    tail, bundle.events[:] = bundle.events[place:], bundle.events[:place]
    for number in range(1, more + 1):
        bundle.events += [
            _later(event, number * length_ns, epoch_num=last + number) for event in events
        ]
    bundle.events += [_later(event, more * length_ns) for event in tail]
    repeated = [
        steps.assign(
            epoch=last + number,
            step=steps["step"] + number * len(steps),
            start_ns=steps["start_ns"] + number * length_ns,
        )
        for number in range(1, more + 1)
    ]
    bundle.steps = pandas.concat([bundle.steps, *repeated]).reset_index(drop=True)
    bundle.readings = bundle.readings[bundle.readings["t_ns"] < begin_ns]
    whole = [
        _readings_later(during, number, length_ns, begin_ns, number == more)
        for number in range(more + 1)
    ]
    bundle.readings = pandas.concat([bundle.readings, *whole]).reset_index(drop=True)
    count_readings(bundle)
    if short is not None:
        set_everywhere("steps", short * len(steps))(bundle)


def _later(event: dict[str, Any], by_ns: int, **metadata: object) -> dict[str, Any]:
    """A copy of an event, later by both clocks."""
    moved = dict(event["metadata"], mono_ns=event["metadata"]["mono_ns"] + by_ns, **metadata)
    return dict(event, time_ms=event["time_ms"] + by_ns // 10**6, metadata=moved)


def _readings_later(during: Any, number: int, length_ns: int, begin_ns: int, is_last: bool) -> Any:
    """The readings of one more epoch; counters go on counting."""
    chosen = during if is_last else during[during["t_ns"] < begin_ns + length_ns]
    counts = chosen["unit"].isin(("events", "B")) & ~chosen["source"].isin(("memory",))
    per_ns = during.groupby(["source", "channel"])["value"].transform(
        lambda values: values.iloc[-1] - values.iloc[0]
    )
    span_ns = during.groupby(["source", "channel"])["t_ns"].transform(
        lambda times: max(times.iloc[-1] - times.iloc[0], 1)
    )
    added = (per_ns / span_ns * length_ns * number).loc[chosen.index].where(counts, 0.0)
    return chosen.assign(t_ns=chosen["t_ns"] + number * length_ns, value=chosen["value"] + added)


@edit
def remove_epoch(bundle: EditableBundle, epoch: int) -> None:
    """Remove every event and every step of an epoch."""
    bundle.events[:] = [
        event for event in bundle.events if event["metadata"].get("epoch_num") != epoch
    ]
    bundle.steps = bundle.steps[bundle.steps["epoch"] != epoch].reset_index(drop=True)


@edit
def remove_last_epoch(bundle: EditableBundle) -> None:
    """Let the run end an epoch earlier; the status is made to fit."""
    remove_epoch(len(EPOCHS))(bundle)
    set_metadata("run_stop", status="aborted")(bundle)


@edit
def remove_epoch_events(bundle: EditableBundle, number: int) -> None:
    """Remove an epoch's events; its steps stay."""
    for key in ("epoch_start", "epoch_stop", "eval_start", "eval_accuracy", "eval_stop"):
        bundle.remove(key, number)


@edit
def stop_early(bundle: EditableBundle) -> None:
    """run_stop one second after run_start, by both clocks."""
    start, stop = bundle.event("run_start"), bundle.event("run_stop")
    stop["metadata"]["mono_ns"], stop["time_ms"] = (
        start["metadata"]["mono_ns"] + 10**9,
        start["time_ms"] + 1000,
    )


@edit
def stop_early_in_order(bundle: EditableBundle) -> None:
    """As :func:`stop_early`, with the events sorted by time."""
    stop_early()(bundle)
    bundle.events.sort(key=lambda event: event["metadata"]["mono_ns"])


@edit
def shift_event(bundle: EditableBundle, key: str, number: int, by_ns: int) -> None:
    """Shift an event's monotonic time."""
    bundle.event(key, number)["metadata"]["mono_ns"] += by_ns


@edit
def remove_clock(bundle: EditableBundle, key: str, number: int) -> None:
    """Remove an event's monotonic time."""
    del bundle.event(key, number)["metadata"]["mono_ns"]


@edit
def set_boot(bundle: EditableBundle, key: str, number: int = 0) -> None:
    """Set another boot id from this event on."""
    for event in _from(bundle, key, number):
        event["metadata"]["boot"] = "another"


@edit
def step_wall_clock(bundle: EditableBundle, by_ms: int) -> None:
    """Shift the wall clock from run_start on."""
    for event in _from(bundle, "run_start"):
        event["time_ms"] += by_ms


@edit
def shift_wall_clock(bundle: EditableBundle, by_ms: int) -> None:
    """Shift the whole run by the wall clock."""
    bundle.run["started_time_ms"] += by_ms
    for event in bundle.events:
        event["time_ms"] += by_ms


@edit
def rename_boot(bundle: EditableBundle) -> None:
    """Give the log and the machine's description the id of another boot."""
    renamed = "11111111-2222-4333-8444-555555555555"
    bundle.system["boot"] = renamed
    for event in bundle.events:
        event["metadata"]["boot"] = renamed


@edit
def shift_run(bundle: EditableBundle, by_ns: int) -> None:
    """Shift the run's log, steps and readings by both clocks; the other ranks' records stay."""
    shift_wall_clock(by_ns // 10**6)(bundle)
    shift_everything(by_ns)(bundle)


@edit
def delay_stop(bundle: EditableBundle, by_s: int) -> None:
    """Shift run_stop and the events after it, by both clocks; the meters are silent in between."""
    for event in _from(bundle, "run_stop"):
        event["metadata"]["mono_ns"] += by_s * 10**9
        event["time_ms"] += by_s * 1000


@edit
def scale_run_time(bundle: EditableBundle, wall: float = 1.0, monotonic: float = 1.0) -> None:
    """Scale the clocks' time since run_start."""
    events = _from(bundle, "run_start")
    start_ms, start_ns = events[0]["time_ms"], events[0]["metadata"]["mono_ns"]
    for event in events:
        event["time_ms"] = start_ms + math.floor((event["time_ms"] - start_ms) * wall)
        event["metadata"]["mono_ns"] = start_ns + math.floor(
            (event["metadata"]["mono_ns"] - start_ns) * monotonic
        )


@edit
def request_also(bundle: EditableBundle, name: str, value: object) -> None:
    """Set a value that a request has no key for where it is the default
    (reference_impls.contract)."""
    *parents, last = name.split(".")
    reduce(getitem, parents, bundle.request)[last] = value


@edit
def set_request(bundle: EditableBundle, name: str, value: object) -> None:
    """Set a value of the request in run.json; the log keeps the old value."""
    set_in(bundle.request, name, lambda _: value)


@edit
def set_everywhere(bundle: EditableBundle, name: str, value: object) -> None:
    """Set a value of the request in run.json, in the log and in the system description."""
    set_in(bundle.request, name, lambda _: value)
    if name in LOGGED:
        bundle.event(LOGGED[name])["value"] = value
    if name == "framework":
        bundle.system["framework"] = value


@edit
def set_device(bundle: EditableBundle, device: str) -> None:
    """Set another device in request, log and system description."""
    set_everywhere("platform", device)(bundle)
    bundle.system["device"] = device


@edit
def reverse_chain_heads(bundle: EditableBundle, number: int) -> None:
    """Reverse the order of the ranks' chain values."""
    bundle.event("chain_heads", number)["value"].reverse()


@edit
def shift_clock_offset(bundle: EditableBundle, rank: int, by_ns: int) -> None:
    """Shift a rank's clock offset at the end of the run, which places that node's readings on rank
    0's clock."""
    bundle.event("clock_offsets_ns", 1)["value"][rank][0] += by_ns


@edit
def freeze_wall_clock(bundle: EditableBundle) -> None:
    """Give all events the first one's wall-clock time."""
    for event in bundle.events:
        event["time_ms"] = bundle.events[0]["time_ms"]


@edit
def shift_everything(bundle: EditableBundle, by_ns: int) -> None:
    """Shift the monotonic times of log, steps and readings."""
    for event in bundle.events:
        event["metadata"]["mono_ns"] += by_ns
    bundle.steps["start_ns"] += by_ns
    bundle.readings["t_ns"] += by_ns


@edit
def delay_start(bundle: EditableBundle, by_s: int) -> None:
    """Let initialisation begin ``by_s`` seconds earlier."""
    for event in bundle.events[: bundle.events.index(bundle.event("init_start")) + 1]:
        event["metadata"]["mono_ns"] -= by_s * 10**9
        event["time_ms"] -= by_s * 1000
    bundle.run["started_time_ms"] -= by_s * 1000


@edit
def build_at_once(bundle: EditableBundle) -> None:
    """Let initialisation begin right before it ends."""
    stop = bundle.event("init_stop")
    first, last = bundle.events.index(bundle.event("init_start")), bundle.events.index(stop)
    for place in range(first, last):
        bundle.events[place]["metadata"]["mono_ns"] = (
            stop["metadata"]["mono_ns"] - (last - place) * 1000
        )


@edit
def delay_later_events(bundle: EditableBundle, key: str, number: int, by_s: int) -> None:
    """Shift this event, and all events, steps and readings after it, by both clocks."""
    moment_ns = bundle.event(key, number)["metadata"]["mono_ns"]
    for event in _from(bundle, key, number):
        event["metadata"]["mono_ns"] += by_s * 10**9
        event["time_ms"] += by_s * 1000
    for table, column in ((bundle.steps, "start_ns"), (bundle.readings, "t_ns")):
        table.loc[table[column] >= moment_ns, column] += by_s * 10**9


def _from(bundle: EditableBundle, key: str, number: int = 0) -> list[dict[str, Any]]:
    return bundle.events[bundle.events.index(bundle.event(key, number)) :]


@edit
def repeat_interval(bundle: EditableBundle, number: int) -> None:
    """A second uncounted interval right after the n-th one, of no length."""
    begin, end = (bundle.event(key, number) for key in ("uncounted_start", "uncounted_stop"))
    place, moment_ns = bundle.events.index(end), end["metadata"]["mono_ns"]
    copies = [
        dict(event, time_ms=end["time_ms"], metadata=dict(event["metadata"], mono_ns=moment_ns))
        for event in (begin, end)
    ]
    bundle.events[place + 1 : place + 1] = copies


@edit
def move_into_epoch(bundle: EditableBundle, number: int, by_s: int) -> None:
    """Let the n-th uncounted interval begin ``by_s`` seconds before its epoch ends; the log is in
    order."""
    begin, stop = bundle.event("uncounted_start", number), bundle.event("epoch_stop", number)
    begin["metadata"]["mono_ns"] = stop["metadata"]["mono_ns"] - by_s * 10**9
    begin["time_ms"] = stop["time_ms"] - by_s * 1000
    bundle.events.remove(begin)
    bundle.events.insert(bundle.events.index(stop), begin)


@edit
def delay_epochs(bundle: EditableBundle, by_ns: int) -> None:
    """Let every epoch but the first begin later after the evaluation before it, and everything
    after that move on."""
    delay_ns = 0
    for event in bundle.events:
        if event["key"] == "epoch_start" and event["metadata"]["epoch_num"] > 1:
            delay_ns += by_ns
        event["metadata"]["mono_ns"] += delay_ns
        event["time_ms"] += delay_ns // 10**6
    bundle.steps["start_ns"] += (bundle.steps["epoch"] - 1) * by_ns


@edit
def guess(bundle: EditableBundle, number: int) -> None:
    """Set the accuracy of guessing, with its count."""
    set_accuracy(number, 1 / bundle.request["data"]["classes"])(bundle)


SYNCHRONISED_RESNET = in_turn(
    set_request("workload", "resnet18"), set_everywhere("parallel.normalisation", SYNCHRONISED)
)
"""Request ResNet-18 whose ranks synchronise the statistics of its batch normalisation."""
