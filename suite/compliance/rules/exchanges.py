"""Steps of several ranks: their number, their shares, their pace, and the exchange of gradients."""

from typing import Any

import numpy as np

from reference_impls.contract import SECONDS_PER_NS, log_name
from reference_impls.updates import steps_per_epoch, updates_of
from suite.bundle.layout import STEPS
from suite.bundle.log import Log
from suite.bundle.steps import StepRecords
from suite.compliance.agreement import ExpectedField, logged_otherwise
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.updates import ends_update
from suite.files.counted import counted

ORDER = 52  # after the agreement of the logs' chains

MAX_UNEXPLAINED_SHARE = 0.1
LONGEST_STEPS, ROUNDING_S = 2.0, 0.001
MIN_EXCHANGE_S = 1e-6
"""In the median step: two readings of a clock, a lock, and a call of MPI for each bucket. A rank
that comes last may find the sums complete, because a thread moves messages during the backward
pass: honest runs of two ranks took 4.5 microseconds in the median step, 3.5 the shortest of all."""
EVENT = "gradient_accumulation_steps"


def _in_step(context: BundleContext) -> Violations:
    """Check that all ranks, which exchange gradients in every step, take equally long for their
    steps, with no more time unexplained than rank 0; not in an epoch that a step limit cut
    short."""
    request = context.request
    if request.parallel.ranks == 1:
        return
    fewest = 0 if request.steps is None else steps_per_epoch(request)
    ranks = dict(context.steps.by_rank())
    first = {epoch: steps for epoch, steps in ranks.get(0, context.steps).by_epoch()}
    for rank, steps in ((rank, steps) for rank, steps in ranks.items() if rank):
        for epoch, of_epoch in steps.by_epoch():
            if epoch in first and len(of_epoch) == len(first[epoch]) >= fewest:
                yield from _epoch_in_step(rank, epoch, of_epoch, first[epoch])


def _epoch_in_step(rank: int, epoch: int, steps: "StepRecords", first: "StepRecords") -> Violations:
    shares = [_explained(one) for one in (first, steps)]
    if abs(shares[0] - shares[1]) > MAX_UNEXPLAINED_SHARE:
        yield Violation(
            STEPS,
            "fetch, copy, compute and communication together to take the same share of epoch"
            f" {epoch} on rank {rank} as on rank 0, {shares[0]:.1%} ±"
            f" {100 * MAX_UNEXPLAINED_SHARE:g} percentage points",
            f"{shares[1]:.1%} of the epoch, although the ranks wait for one another",
        )
    starts_s = [(one.start_ns - one.start_ns[0]) * SECONDS_PER_NS for one in (first, steps)]
    apart_s = abs(starts_s[1] - starts_s[0])
    limit_s = (
        LONGEST_STEPS
        * max(float((one.ends_s - one.start_ns * SECONDS_PER_NS).max()) for one in (first, steps))
        + ROUNDING_S
    )
    if (apart_s > limit_s).any():
        place = int((apart_s > limit_s).argmax())
        yield Violation(
            STEPS,
            f"step {steps.step[place]} (epoch {epoch}) to start on rank {rank} within"
            f" {limit_s:.3g} s of its start on rank 0 (each counted from the start of the same"
            " rank's first step of the epoch)",
            f"{apart_s[place]:.3g} s apart",
        )


def _explained(steps: "StepRecords") -> float:
    """The share of an epoch that the parts of its steps take."""
    whole_s = float(steps.ends_s.max()) - int(steps.start_ns[0]) * SECONDS_PER_NS
    return float(steps.parts_s.sum()) / whole_s if whole_s > 0 else 0.0


def _exchanges(context: BundleContext) -> Violations:
    """Check that ranks on several nodes waited for the exchange in every update, and that a single
    rank waited for none."""
    parallel = context.request.parallel
    exchanged_s = context.steps.communication_s
    if parallel.ranks == 1 and (exchanged_s > 0).any():
        step = context.steps.step[exchanged_s > 0][0]
        yield Violation(
            STEPS,
            "no communication in a run of one rank",
            f"up to {exchanged_s.max():.3g} s of communication per step, for the first time in"
            f" step {step}",
        )
    if parallel.nodes == 1 or parallel.collective != "mpi":
        return
    for rank, steps in context.steps.by_rank():
        updates = ends_update(context.request, steps)
        without = updates & ~(steps.communication_s > 0)
        if without.any():
            yield Violation(
                STEPS,
                f"a wait for the gradients of the other nodes in every update of rank {rank}",
                f"no wait in {int(without.sum())} of {counted(int(updates.sum()), 'update')}, first"
                f" in step {steps.step[without][0]}",
            )


def _takes(context: BundleContext) -> Violations:
    """Check the waits for the suite's own all-reduce; a framework's own is not measured apart."""

    parallel = context.request.parallel
    if parallel.ranks == 1 or parallel.collective != "mpi":
        return
    for rank, steps in context.steps.by_rank():
        wait_s = float(np.median(steps.communication_s[ends_update(context.request, steps)]))
        if wait_s < MIN_EXCHANGE_S:
            yield Violation(
                STEPS,
                f"a median wait of at least {MIN_EXCHANGE_S * 1e6:g} microsecond for the other"
                f" ranks' gradients, over the updates of rank {rank}",
                f"a median wait of {wait_s * 1e6:.3g} microseconds",
            )


def _accumulated(context: BundleContext) -> Violations:
    for rank, log in context.logs():
        row = ExpectedField(EVENT, context.request.accumulation, ", as requested")
        may_lack = context.request.accumulation == 1
        yield from logged_otherwise(log_name(rank), log, (row,), may_lack)
        yield from _exchanged(context, rank, log)
    if context.request.accumulation == 1:
        return
    for rank, steps in context.steps.by_rank():
        waits = ~ends_update(context.request, steps) & (steps.communication_s > 0)
        if waits.any():
            yield Violation(
                STEPS,
                f"waits for exchanges on rank {rank} only after every"
                f" {context.request.accumulation} mini-batches and at an epoch's end",
                f"waits in {int(waits.sum())} other steps, first in step {steps.step[waits][0]}",
            )


def _exchanged(context: BundleContext, rank: int, log: Log) -> Violations:
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
                f"{counted(updates, 'exchange')} of every bucket of gradients in epoch"
                f" {event.epoch}, which has {counted(of_epoch, 'step')} and one update per"
                f" {counted(context.request.accumulation, 'step')}",
                "no exchanges logged" if wrong is None else counted(wrong, "exchange"),
                event.line,
            )


def _count(bucket: Any) -> int | None:
    count = bucket.get("exchanges") if isinstance(bucket, dict) else None
    return count if type(count) is int else None


RULES = (
    Rule(
        "ranks-in-step",
        "In each whole epoch, every rank is compared with rank 0. Counted from each rank's first"
        " step of the epoch, every step starts on both ranks at the same time; the tolerance is"
        " twice the epoch's longest step plus 1 ms. The timed parts of the steps (fetch, copy,"
        " compute and communication) together take the same share of the epoch on both ranks,"
        " within 10 percentage points.",
        "Ranks sum their gradients, so they wait for one another, and none can run ahead. If"
        " somebody made up, copied or scaled a rank's step times, its steps start too early or too"
        " late, or fill another share of the epoch.",
        TRAINING_LOOP,
        (OfBundle("ranks-in-step", _in_step),),
    ),
    Rule(
        "ranks-exchange",
        "Ranks exchange each bucket (group) of gradients once per update of the weights, after as"
        " many mini-batches as requested, and wait for the exchange only then. With the suite's"
        " all-reduce, the median wait of each rank is at least 1 microsecond, and if the ranks run"
        " on several nodes, each rank waits in every update. In a run of one rank, this rank never"
        " waits.",
        "If gradients are exchanged less often, the exchange takes less time and fewer bytes, but"
        " the run trains with a larger mini-batch. A wait is never 0 s, because asking MPI whether"
        " a sum is complete takes time.",
        TRAINING_LOOP,
        (
            OfBundle("ranks-exchange", _exchanges),
            OfBundle("exchange-takes", _takes),
            OfBundle("accumulation-agrees", _accumulated),
        ),
    ),
)
