"""Adaptations: training that begins with a checkpoint and trains a part of the model."""

from collections.abc import Iterator

from reference_impls.contract import Start, Trains, log_name
from suite.bundle.log import Log
from suite.compliance.agreement import ExpectedField, logged_otherwise
from suite.compliance.rule import (
    CLOSED,
    BundleContext,
    OfBundle,
    OfRequest,
    RequestContext,
    Rule,
    Violation,
    Violations,
)
from suite.compliance.wording import value_text
from suite.files.counted import counted

ORDER = 29  # after resumed runs, before the log's course

STARTED, TRAINED, FROZEN_PART = "started_from", "trained", "frozen"
WHOLE = "the request trains the whole model"


def _as_defined(context: RequestContext) -> Violations:
    """Check checkpoint, fresh parameters and the trained part against the workload's."""
    request, workload = context.request, context.workload
    for name, expected, found in (
        ("start", _start(workload.requested_start), _start(request.start)),
        ("trains", _trains(workload.requested_part), _trains(request.trains)),
    ):
        if found != expected:
            yield Violation(context.file, f"{name}: {expected}", found)
    old, own = request.old_task, workload.old_task
    if old is not None and (own is None or (old.name, old.verified) != (own.data, True)):
        expected = "old_task: none, or the published data that the checkpoint was trained on"
        verified = value_text(old.verified)
        yield Violation(context.file, expected, f"{old.name}, verified: {verified}")


def _start(start: Start | None) -> str:
    """Where training begins, wherever the file of the checkpoint is."""
    if start is None:
        return "the initial weights that follow from the seed"
    return f"the checkpoint {start.checkpoint!r}, with the parameters {start.fresh} reinitialised"


def _trains(trains: Trains | None) -> str:
    """What is trained."""
    if trains is None:
        return "the whole model"
    return (
        f"the parameters {trains.parameters}, batch-normalisation statistics {trains.statistics!r}"
    )


def _begins(context: BundleContext) -> Violations:
    """Check that every rank of an adaptation, and of no other run, says what it took from a
    checkpoint, in the closed division what the workload's has."""
    start = context.workload.start
    for rank, log in context.logs():
        name = log_name(rank)
        if context.request.start is None:
            yield from _none(name, log, STARTED, "the request names no checkpoint to start from")
        elif start is not None and context.request.start.checkpoint == start.checkpoint:
            why = f", the digest of the checkpoint {start.checkpoint}"
            yield from logged_otherwise(name, log, (ExpectedField(STARTED, start.sha256, why),))
        elif log.first(STARTED) is None:
            yield Violation(
                name, f"an event {STARTED}, because the run starts from a checkpoint", "no event"
            )


def _part(context: BundleContext) -> Violations:
    """Check which parameters every rank says it trains, and how many numbers they have."""
    trains = context.request.trains
    for rank, log in context.logs():
        name, event = log_name(rank), log.first(TRAINED)
        if trains is None:
            yield from _none(name, log, TRAINED, WHOLE)
            continue
        value = event.value if event is not None and isinstance(event.value, dict) else {}
        names, count = value.get("names"), value.get("parameters")
        line = None if event is None else event.line
        listed = names if isinstance(names, list) else []
        others = [
            each for each in listed if not isinstance(each, str) or not trains.is_trained(each)
        ]
        if others or not listed:
            expected = f"{TRAINED}: names of the form {', '.join(trains.parameters)}"
            yield Violation(name, expected, value_text(others[0] if others else names), line)
        defined = context.workload.trains
        if (
            defined is not None
            and trains.parameters == list(defined.parameters)
            and count != defined.count
        ):
            yield Violation(name, f"{TRAINED}: {defined.count} parameters", value_text(count), line)


def _unchanged(context: BundleContext) -> Violations:
    """Check that what is not trained has one digest, before training and after it, on all ranks."""
    first = None
    for rank, log in context.logs():
        name = log_name(rank)
        if context.request.trains is None:
            yield from _none(name, log, FROZEN_PART, WHOLE)
            continue
        events = list(log.all(FROZEN_PART))
        if len(events) != 2 and context.run.status == "finished":
            expected = f"the event {FROZEN_PART} twice, before and after training"
            yield Violation(name, expected, counted(len(events), "event"))
        for event in events:
            first = event.value if first is None else first
            if event.value != first or not isinstance(event.value, str):
                known = (
                    f" = {first!r}, the digest before training" if isinstance(first, str) else ""
                )
                expected = f"{FROZEN_PART}{known or ': a SHA-256'}"
                yield Violation(name, expected, value_text(event.value), event.line)


def _none(name: str, log: Log, key: str, why: str) -> Iterator[Violation]:
    event = log.first(key)
    if event is not None:
        yield Violation(name, f"no event {key}, because {why}", "one event", event.line)


RULES = (
    Rule(
        "closed-adaptation",
        "If a workload has a checkpoint, a closed run starts from this checkpoint, reinitialises"
        " the parameters that the workload names, and trains only the part of the model that the"
        " workload names. A closed run of any other workload starts from the initial weights that"
        " follow from the seed, and trains the whole model.",
        "Training a smaller part takes less time and memory, and training from another checkpoint"
        " may take fewer epochs: such a run does another task.",
        "run again with `suite run --division closed` and without --trains, or run in the open"
        " division",
        (OfRequest("closed-adaptation", _as_defined, CLOSED),),
    ),
    Rule(
        "started-from",
        "If a run starts from a checkpoint, every rank logs the digest of the parameters that it"
        " loaded (event started_from). For the workload's checkpoint, this digest equals the sha256"
        " in the workload's definition. Other runs do not log this event.",
        "The digest is computed from the loaded model, so it reveals rounding, another file or a"
        " missing parameter.",
        "start from the unchanged checkpoint with the suite's training loop; never edit a log",
        (OfBundle("started-from", _begins),),
    ),
    Rule(
        "frozen-unchanged",
        "If a run trains only a part of the model, every rank logs the names of the parameters that"
        " it trains, and how many values they contain in all (event trained). Every name matches a"
        " pattern in the request. If the request names the same part as the workload's definition,"
        " the number of values equals the count in the definition. Every rank also logs a digest of"
        " the rest of the model twice, before and after training (event frozen). All these digests"
        " are equal. Other runs log neither event.",
        "If a run trains more parameters than it says, it does another task. Weight decay, or an"
        " update of statistics, can change the rest of the model, which should not be trained.",
        "train only the parameters that the request names; apply no weight decay to the others and"
        " do not update their statistics; run again",
        (OfBundle("part-trained", _part), OfBundle("frozen-unchanged", _unchanged)),
    ),
)
