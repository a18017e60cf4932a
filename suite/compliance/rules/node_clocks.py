"""Clocks of several ranks' machines."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.log import LogEvent
from suite.bundle.node_records import read_nodes
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.updates import ends_update
from suite.metrics.node_readings import clock_conversion

ORDER = 62  # after the record of the nodes

MAX_DRIFT = 1e-3  # NTP slews a clock by 500 millionths at most; quartzes differ by less than 200
MAX_UNCERTAINTY_NS, ROUNDING_NS = 10**9, 10**6


def _offsets(context: BundleContext) -> Violations:
    """Check the clock offsets: one per rank, precise, with a possible drift, and none between ranks
    of one machine."""
    ranks, first = context.request.parallel.ranks, None
    for event in context.log.all("clock_offsets_ns"):
        offsets = event.value
        if (
            not isinstance(offsets, list)
            or len(offsets) != ranks
            or not all(map(is_offset, offsets))
        ):
            yield Violation(
                "log.txt",
                f"a clock offset and its uncertainty, in ns, for each of {ranks} ranks",
                f"{offsets!r}",
                event.line,
            )
            return
        worst = max(range(ranks), key=lambda rank: offsets[rank][1])
        if offsets[worst][1] > MAX_UNCERTAINTY_NS:
            yield Violation(
                "log.txt",
                "clock offsets with an uncertainty of at most"
                f" {MAX_UNCERTAINTY_NS * SECONDS_PER_NS:g} s",
                f"an uncertainty of {offsets[worst][1] * SECONDS_PER_NS:g} s on rank {worst}",
                event.line,
                fix="use a network with shorter round trips, then run again",
            )
        for one, far in _apart_on_one_machine(context, offsets):
            yield Violation(
                "log.txt",
                "the same clock offset for all ranks of one machine, within both uncertainties plus"
                f" {ROUNDING_NS / 1e6:g} ms",
                f"rank {far}'s offset minus rank {one}'s:"
                f" {(offsets[far][0] - offsets[one][0]) * SECONDS_PER_NS:.6g} s",
                event.line,
            )
        first = event if first is None else first
        yield from _drifts(first, event)
    yield from _overlapping(context)


def _drifts(first: LogEvent, event: LogEvent) -> Violations:
    """Offsets that changed by more than clocks drift between two measurements."""
    if event.mono_ns is None or first.mono_ns is None:
        return
    allowed_ns = MAX_DRIFT * abs(event.mono_ns - first.mono_ns) + ROUNDING_NS
    for rank, (before, after) in enumerate(zip(first.value, event.value, strict=True)):
        drift_ns = abs(after[0] - before[0])
        most_ns = allowed_ns + before[1] + after[1]
        if drift_ns > most_ns:
            yield Violation(
                "log.txt",
                f"rank {rank}'s clock offset to change by at most {most_ns * SECONDS_PER_NS:.3g} s"
                f" between its two measurements: {MAX_DRIFT:.1%} of the time between them, plus"
                f" {ROUNDING_NS / 1e6:g} ms, plus both uncertainties",
                f"a change of {drift_ns * SECONDS_PER_NS:.3g} s",
                event.line,
            )


def _apart_on_one_machine(
    context: BundleContext, offsets: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Ranks of one machine whose clocks are apart by more than their offsets' uncertainties: each
    with the machine's first rank."""
    is_one = context.request.parallel.nodes == 1
    for one, *others in (
        [range(len(offsets))] if is_one else [node.ranks for node in read_nodes(context.bundle)]
    ):
        for other in others:
            if max(one, other) < len(offsets):
                apart_ns = abs(offsets[other][0] - offsets[one][0])
                uncertainty_ns = offsets[one][1] + offsets[other][1]
                if apart_ns > uncertainty_ns + ROUNDING_NS:
                    yield one, other


def _overlapping(context: BundleContext) -> Violations:
    """Check, on rank 0's clock, that no rank ended an update's step a second before another one
    began it: the sum needs the gradients of all."""

    starts, ends, first = [], [], context.steps.first_rank
    updates = ends_update(context.request, first)
    for rank, steps in context.steps.by_rank():
        to_rank0 = clock_conversion(context.log, rank)
        if to_rank0 is None or len(steps) != len(first) or (steps.step != first.step).any():
            return  # reported by other rules
        starts.append(to_rank0(steps.start_ns)[updates])
        ends.append(
            starts[-1]
            + np.round(np.nansum(steps.parts_s, axis=0)[updates] / SECONDS_PER_NS).astype(np.int64)
        )
    if len(starts) < 2 or not updates.any():
        return
    gaps_ns = np.max(starts, axis=0) - np.min(ends, axis=0)
    place = int(gaps_ns.argmax())
    if gaps_ns[place] > MAX_UNCERTAINTY_NS:
        late = int(np.stack(starts)[:, place].argmax())
        early = int(np.stack(ends)[:, place].argmin())
        yield Violation(
            "log.txt",
            f"rank {late} to begin step {first.step[updates][place]} before rank {early} ends it"
            f" ({MAX_UNCERTAINTY_NS * SECONDS_PER_NS:g} s of clock error is allowed),"
            f" because rank {early} needs rank {late}'s gradients",
            f"according to the clock offsets, rank {late} began it"
            f" {gaps_ns[place] * SECONDS_PER_NS:.3g} s after rank {early} had ended it",
        )


def is_offset(value: Any) -> bool:
    """Whether a value of ``clock_offsets_ns`` is an offset and its uncertainty."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(one) is int and abs(one) < 2**62 for one in value)
        and value[1] >= 0
    )


RULES = (
    Rule(
        "clock-offsets",
        "The offset between each rank's clock and rank 0's is known, with an uncertainty of at"
        " most a second. During the run, an offset changes by at most a thousandth of the time"
        " that passes. Between ranks of one machine, the offset is zero. (Tolerance of these two"
        " limits: 1 ms plus the offsets' uncertainties.) By these offsets, no rank ends an update"
        " more than a second before another rank begins it.",
        "The offsets place the readings of the other nodes in time. Ranks of one machine have the"
        " same clock, and clocks of different machines drift apart slowly. A rank can end an update"
        " only after all ranks whose gradients it needs have begun that update.",
        TRAINING_LOOP,
        (OfBundle("clock-offsets", _offsets),),
    ),
)
