"""Gradient accumulation: every log, the exchanges and the steps' waits against the mini-batches of
an update that the request has."""

from collections.abc import Iterator
from typing import Any

from reference_impls.contract import log_name
from reference_impls.updates import updates_of
from suite.bundle.layout import STEPS
from suite.bundle.log import Log
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.updates import ends_update

ORDER = 57  # after the ranks' learning rates

EVENT = "gradient_accumulation_steps"


def _agrees(context: BundleContext) -> Iterator[Violation]:
    for rank, log in context.logs():
        yield from _logged(context, rank, log)
        yield from _exchanged(context, rank, log)
    if context.request.accumulation == 1:
        return
    for rank, steps in context.steps.by_rank():
        waits = ~ends_update(context.request, steps) & (steps.communication_s > 0)
        if waits.any():
            yield Violation(
                STEPS,
                f"no exchange on rank {rank} but after every {context.request.accumulation}"
                " mini-batches and at an epoch's end",
                f"waits for one in {int(waits.sum())} other steps, first in step"
                f" {steps.step[waits][0]}",
            )


def _logged(context: BundleContext, rank: int, log: Log) -> Iterator[Violation]:
    """Check the logged number of mini-batches of an update; a run that accumulates nothing may log
    none."""
    requested, event = context.request.accumulation, log.first(EVENT)
    if requested == 1 and event is None:
        return
    if event is None or type(event.value) is not int or event.value != requested:
        yield Violation(
            log_name(rank),
            f"{EVENT} = {requested}, as requested",
            "no such event" if event is None else f"{event.value!r}"[:200],
            None if event is None else event.line,
        )


def _exchanged(context: BundleContext, rank: int, log: Log) -> Iterator[Violation]:
    """Check that every bucket of gradients was exchanged once an update, wherever exchanges are
    counted."""
    steps = {stop.epoch: stop.metadata.get("steps") for stop in log.all("epoch_stop")}
    for event in log.all("bucket_times"):
        of_epoch = steps.get(event.epoch)
        if type(of_epoch) is not int or not 0 < of_epoch < 2**63:
            continue  # rules about epochs report it
        updates = updates_of(context.request, of_epoch)
        counts = (
            [_count(bucket) for bucket in event.value] if isinstance(event.value, list) else [None]
        )
        wrong = next((count for count in counts if count != updates), updates)
        if wrong != updates:
            yield Violation(
                log_name(rank),
                f"{updates} exchanges of every bucket in epoch {event.epoch}: {of_epoch} steps,"
                f" {context.request.accumulation} an update",
                f"{wrong} exchanges",
                event.line,
            )


def _count(bucket: Any) -> int | None:
    count = bucket.get("exchanges") if isinstance(bucket, dict) else None
    return count if type(count) is int else None


RULES = (
    Rule(
        "accumulation-agrees",
        "Every rank logs the requested number of mini-batches of an update, exchanges each"
        " bucket of gradients once an update, and waits for no exchange after the other"
        " mini-batches.",
        "Gradients that are exchanged less often take less time and fewer bytes, and train"
        " another mini-batch size.",
        TRAINING_LOOP,
        (OfBundle("accumulation-agrees", _agrees),),
    ),
)
