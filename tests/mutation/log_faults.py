"""Faults of the log: events, clocks, accuracies, and what it says of the request."""

import math
from collections.abc import Iterator
from typing import Any

from suite.compliance.editing import EditableBundle
from tests.mutation.mutation import Mutation, both, edit, forged, sealed, set_in

HOUR_NS = 3600 * 10**9
EPOCHS = (0, 1, 2)


def event_faults() -> Iterator[Mutation]:
    """Events of the log that are missing, twice, renamed, or of another epoch."""
    for key in ("init_start", "init_stop", "run_start", "run_stop"):
        yield sealed(f"{key} taken out", "log-events", removed(key))
        yield sealed(f"{key} twice", "log-events", again(key))
    yield sealed("init_stop after run_start", "log-events", swapped("init_stop", "run_start"))
    for key in ("epoch_start", "epoch_stop"):
        for number in EPOCHS:
            yield sealed(f"{key} {number + 1} taken out", "epochs-in-order", removed(key, number))
            yield sealed(f"{key} {number + 1} of epoch 7", "epochs-in-order", of_epoch(key, number, 7))
    for number in EPOCHS:
        yield from both(f"eval_accuracy {number + 1} taken out", "epochs-in-order", removed("eval_accuracy", number))
        for key in ("eval_start", "eval_stop"):
            yield from both(f"{key} {number + 1} taken out", "evaluations-in-order", removed(key, number))
        yield from both(f"epoch {number + 1} counts a step more", "epoch-ends", more_steps_logged(number))
    yield sealed("evaluation of another epoch", "epochs-in-order", of_epoch("eval_accuracy", 1, 1))
    yield sealed("an accuracy twice", "evaluations-in-order", again("eval_accuracy"))
    for status in ("aborted", "failed", None, 1):
        yield from both(f"status {status!r}", "status-follows", ended_as(status))
    yield from both("a success that is claimed an epoch too early", "ends-as-asked", accuracy(0, 0.996))
    yield from both("an end before target and last epoch", "ends-as-asked", without_last_epoch())
    yield from both("an epoch missing in the middle", "epochs-in-order", without_epoch(2))


def clock_faults() -> Iterator[Mutation]:
    """Clocks of the log."""
    yield from both("run_stop one second after run_start", "log-clock", run_stop_early)
    yield from both("run_stop one second after run_start, and in that place of the log", "epochs-in-order", run_stop_early_in_order)
    for key, number in (("run_start", 0), ("epoch_start", 1), ("epoch_stop", 1), ("eval_accuracy", 2), ("init_stop", 0)):
        yield from both(f"{key} {number + 1} an hour earlier", "log-clock", shifted(key, number, -HOUR_NS))
        yield sealed(f"{key} {number + 1} without a monotonic time", "log-clock", without_clock(key, number))
    yield sealed("another boot from the second epoch on", "log-clock", rebooted("epoch_start", 1))
    yield sealed("another boot everywhere in the log", "system-agrees", rebooted("submission_benchmark", 0))
    yield sealed("the wall clock steps by an hour", "wall-clock", wall_clock_stepped(3_600_000))
    yield sealed("the wall clock steps back by a minute", "wall-clock", wall_clock_stepped(-60_000))
    yield sealed("the wall clock runs twice as fast", "wall-clock", run_time_scaled(wall=2.0))
    for number in EPOCHS:
        for late_ms in (50, -50):
            yield forged(f"epoch {number + 1} ends {late_ms} ms later", "epoch-ends", shifted("epoch_stop", number, late_ms * 10**6))
    yield from both("the log at half the time", "steps-in-time", run_time_scaled(wall=0.5, monotonic=0.5))


def accuracy_faults() -> Iterator[Mutation]:
    """What was reached."""
    for number in EPOCHS:
        yield from both(f"accuracy {number + 1} raised", "accuracy-counts", event_set("eval_accuracy", number, value=0.9999))
        yield from both(f"correct {number + 1} raised", "accuracy-counts", correct_set(number, 9999))
    yield sealed("more correct than there are", "accuracy-counts", accuracy(2, 1.2))
    yield sealed("an accuracy that is text", "accuracy-counts", event_set("eval_accuracy", 2, value="0.9905"))
    yield from both("a target that was not reached", "target-reached", not_reached())
    for value in (61_705, 500, None, "61706"):
        yield sealed(f"parameters {value!r}", "parameter-count", event_set("parameters", 0, value=value))
    yield sealed("parameters not logged", "parameter-count", removed("parameters"))


LOGGED: dict[str, tuple[str, Any]] = {
    "workload": ("submission_benchmark", "resnet18"), "division": ("submission_division", "open"), "organization": ("submission_org", "globex"),
    "platform": ("submission_platform", "orin"), "framework": ("framework", "tensorflow"), "model": ("model", "lenet4"),
    "data.name": ("data_set", "digits"), "seed": ("seed", 77), "global_batch_size": ("global_batch_size", 64), "optimizer.name": ("opt_name", "adam"),
    "optimizer.base_learning_rate": ("opt_base_learning_rate", 0.01), "optimizer.momentum": ("opt_momentum", 0.5),
    "optimizer.weight_decay": ("opt_weight_decay", 0.1), "optimizer.schedule": ("opt_learning_rate_schedule", "constant"),
    "initial_weights": ("initial_weights", "zeros"), "parallel.collective": ("collective", "native"), "epochs": ("max_epochs", 5),
    "target_accuracy": ("target_accuracy", 0.5), "data.train_samples": ("train_samples", 50_000), "data.eval_samples": ("eval_samples", 5_000),
    "cache_cleared": ("cache_clear", True),
}  # fmt: skip
"""What the log repeats of the request: the request's name, the event, another value."""

REFUSED: dict[str, dict[str, Any]] = {
    "closed-hyperparameters": {
        "optimizer.momentum": 0.8, "optimizer.weight_decay": 0.01, "optimizer.schedule": "constant", "optimizer.name": "adam",
        "initial_weights": "zeros", "preprocessing.mean": [0.0], "preprocessing.std": [1.0], "preprocessing.augmentation": "crop_flip",
    },
    "closed-length": {"epochs": 20, "target_accuracy": 0.9, "eval_every_epochs": 2, "steps": 1407},
    "closed-tuning-range": {"global_batch_size": 256, "optimizer.base_learning_rate": 1.0},
    "closed-data": {"data.name": "digits", "data.synthetic": True, "data.verified": False},
    "closed-model": {"model": "lenet4"},
    "closed-arithmetic": {"framework": "pytorch_bf16"},
    "closed-collective": {"parallel.collective": "mpi"},
    "data-read": {"batches": "synthetic", "drop_cache_every_epoch": True},
}  # fmt: skip
"""What the closed division refuses, by the rule that refuses it."""


def request_faults() -> Iterator[Mutation]:
    """Request and log: changed in one of them, and what is not allowed, changed in both."""
    for name, (key, value) in LOGGED.items():
        if name not in ("division", "workload"):  # these change what is judged, and how
            yield sealed(f"{name} in the request only", "log-agrees-with-request", requested(name, value))
        yield sealed(f"{key} in the log only", "log-agrees-with-request", event_set(key, 0, value=value))
        yield sealed(f"{key} not in the log", "log-agrees-with-request", removed(key))
    for rule, changes in REFUSED.items():
        for name, value in changes.items():
            yield from both(f"{name} = {value!r} everywhere", rule, everywhere(name, value))


def run_stop_early(bundle: EditableBundle) -> None:
    """The run ends one second after it began, by both clocks."""
    start, stop = bundle.event("run_start"), bundle.event("run_stop")
    stop["metadata"]["mono_ns"], stop["time_ms"] = start["metadata"]["mono_ns"] + 10**9, start["time_ms"] + 1000


def run_stop_early_in_order(bundle: EditableBundle) -> None:
    """As :func:`run_stop_early`, with the events in the order of their times."""
    run_stop_early(bundle)
    bundle.events.sort(key=lambda event: event["metadata"]["mono_ns"])


@edit
def removed(bundle: EditableBundle, key: str, number: int = 0) -> None:
    """An event taken out."""
    bundle.remove(key, number)


@edit
def again(bundle: EditableBundle, key: str) -> None:
    """An event twice."""
    event = bundle.event(key)
    bundle.events.insert(bundle.events.index(event) + 1, dict(event, metadata=dict(event["metadata"])))


@edit
def swapped(bundle: EditableBundle, one: str, other: str) -> None:
    """Two events in one another's place, at one another's time."""
    first, second = bundle.event(one), bundle.event(other)
    first["key"], second["key"] = other, one


@edit
def event_set(bundle: EditableBundle, key: str, number: int, **values: Any) -> None:
    """Fields of an event."""
    bundle.event(key, number).update(values)


@edit
def of_epoch(bundle: EditableBundle, key: str, number: int, epoch: int) -> None:
    """An event of another epoch."""
    bundle.event(key, number)["metadata"]["epoch_num"] = epoch


@edit
def more_steps_logged(bundle: EditableBundle, number: int) -> None:
    """One step more than there are."""
    bundle.event("epoch_stop", number)["metadata"]["steps"] += 1


@edit
def ended_as(bundle: EditableBundle, status: object) -> None:
    """The run's status."""
    bundle.event("run_stop")["metadata"]["status"] = status


@edit
def correct_set(bundle: EditableBundle, number: int, correct: int) -> None:
    """So many correct samples."""
    bundle.event("eval_accuracy", number)["metadata"]["correct"] = correct


@edit
def accuracy(bundle: EditableBundle, number: int, value: float) -> None:
    """An accuracy and the count that goes with it."""
    event, samples = bundle.event("eval_accuracy", number), bundle.request["data"]["eval_samples"]
    event["metadata"]["correct"] = round(value * samples)
    event["value"] = event["metadata"]["correct"] / samples


@edit
def not_reached(bundle: EditableBundle) -> None:
    """No evaluation that reaches the target, and a status that says so."""
    for number in EPOCHS:
        accuracy(number, 0.9)(bundle)
    ended_as("aborted")(bundle)


@edit
def without_epoch(bundle: EditableBundle, epoch: int) -> None:
    """No event and no step of an epoch."""
    bundle.events[:] = [event for event in bundle.events if event["metadata"].get("epoch_num") != epoch]
    bundle.steps = bundle.steps[bundle.steps["epoch"] != epoch].reset_index(drop=True)


@edit
def without_last_epoch(bundle: EditableBundle) -> None:
    """A run that stopped an epoch earlier, and says so."""
    without_epoch(len(EPOCHS))(bundle)
    ended_as("aborted")(bundle)


@edit
def shifted(bundle: EditableBundle, key: str, number: int, by_ns: int) -> None:
    """An event at another monotonic time."""
    bundle.event(key, number)["metadata"]["mono_ns"] += by_ns


@edit
def without_clock(bundle: EditableBundle, key: str, number: int) -> None:
    """An event without a monotonic time."""
    del bundle.event(key, number)["metadata"]["mono_ns"]


@edit
def rebooted(bundle: EditableBundle, key: str, number: int) -> None:
    """Another boot, from this event on."""
    for event in _from(bundle, key, number):
        event["metadata"]["boot"] = "another"


@edit
def wall_clock_stepped(bundle: EditableBundle, by_ms: int) -> None:
    """Another wall clock, from run_start on."""
    for event in _from(bundle, "run_start"):
        event["time_ms"] += by_ms


@edit
def run_time_scaled(bundle: EditableBundle, wall: float, monotonic: float = 1.0) -> None:
    """Clocks that run at another speed, from run_start on."""
    events = _from(bundle, "run_start")
    start_ms, start_ns = events[0]["time_ms"], events[0]["metadata"]["mono_ns"]
    for event in events:
        event["time_ms"] = start_ms + math.floor((event["time_ms"] - start_ms) * wall)
        event["metadata"]["mono_ns"] = start_ns + math.floor((event["metadata"]["mono_ns"] - start_ns) * monotonic)


@edit
def requested(bundle: EditableBundle, name: str, value: object) -> None:
    """Another request than the log's."""
    set_in(bundle.request, name, lambda _: value)


@edit
def everywhere(bundle: EditableBundle, name: str, value: object) -> None:
    """Another request, in the log and in the system description, too."""
    set_in(bundle.request, name, lambda _: value)
    if name in LOGGED:
        bundle.event(LOGGED[name][0])["value"] = value
    if name == "framework":
        bundle.system["framework"] = value


def _from(bundle: EditableBundle, key: str, number: int = 0) -> list[dict[str, Any]]:
    return bundle.events[bundle.events.index(bundle.event(key, number)) :]
