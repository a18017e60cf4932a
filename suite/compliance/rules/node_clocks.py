"""Names, clocks, addresses and files of several ranks' nodes."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.node_records import NODES, read_nodes
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.updates import ends_update
from suite.metrics.node_readings import clock_conversion

ORDER = 62  # after the record of the nodes

MAX_DRIFT = 1e-3  # NTP slews a clock by 500 millionths at most; quartzes differ by less than 200
# a board without a battery begins where it was switched off, hours or years back
MAX_WALL_OFFSET_S = 60.0
MAX_UNCERTAINTY_NS, ROUNDING_NS = 10**9, 10**6
_OF_PLACE = re.compile(r"(?:log\.rank|readings\.node|baseload\.node)(\d{1,9})\.\w+")


def _placed(context: BundleContext) -> Iterator[Violation]:
    """Check that all events that name the ranks' nodes are alike, and name no more nodes than were
    requested; and that each node is one machine."""
    parallel, said = context.request.parallel, None
    for rank, log in context.logs():
        for event in log.all("nodes_of_ranks"):
            said = event.value if said is None else said
            if event.value != said:
                yield Violation(
                    log_name(rank),
                    f"nodes_of_ranks = {said!r}, as before"[:300],
                    f"{event.value!r}"[:200],
                    TRAINING_LOOP,
                    event.line,
                )
                return
    named = {str(name) for name in said} if isinstance(said, list) else set()
    if len(named) > parallel.nodes:
        yield Violation(
            "log.txt",
            f"ranks on {parallel.nodes} node{'s' * (parallel.nodes > 1)}",
            f"on {', '.join(sorted(named))}"[:200],
            TRAINING_LOOP,
        )
    yield from _of_one_boot(context)


def _of_one_boot(context: BundleContext) -> Iterator[Violation]:
    """Check that all ranks of a node logged the boot id of the machine that the node's recorder
    described."""
    boots = context.boots
    for node in read_nodes(context.bundle):
        known = [boots[rank] for rank in node.ranks if boots.get(rank) is not None]
        described = (node.system or {}).get("boot") or next(iter(known), None)
        other = next(
            (rank for rank in node.ranks if boots.get(rank) not in (None, described)), None
        )
        if described is not None and other is not None:
            expected = (
                f"the boot id of {node.host[:100]}, {str(described)[:13]}…, on which rank {other}"
                " is recorded"
            )
            yield Violation(
                log_name(other),
                expected,
                f"{str(boots[other])[:13]}…: it ran on another machine",
                TRAINING_LOOP,
                1,
            )


def _offsets(context: BundleContext) -> Iterator[Violation]:
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
                f"an offset and its uncertainty in ns for each of {ranks} ranks",
                f"{offsets!r}"[:200],
                TRAINING_LOOP,
                event.line,
            )
            return
        worst = max(range(ranks), key=lambda rank: offsets[rank][1])
        if offsets[worst][1] > MAX_UNCERTAINTY_NS:
            observed = f"{offsets[worst][1] * SECONDS_PER_NS:g} s on rank {worst}"
            expected = f"clock offsets measured to {MAX_UNCERTAINTY_NS * SECONDS_PER_NS:g} s"
            yield Violation(
                "log.txt",
                expected,
                observed,
                "use a network with shorter round trips, then run again",
                event.line,
            )
        for one, far in _apart_on_one_machine(context, offsets):
            observed = (
                f"rank {far}'s is {(offsets[far][0] - offsets[one][0]) * SECONDS_PER_NS:.6g} s"
                f" ahead of rank {one}'s"
            )
            yield Violation(
                "log.txt",
                "one monotonic clock for all ranks of one machine",
                observed,
                TRAINING_LOOP,
                event.line,
            )
        if first is not None and event.mono_ns is not None and first.mono_ns is not None:
            allowed_ns = MAX_DRIFT * abs(event.mono_ns - first.mono_ns) + ROUNDING_NS
            for rank, (before, after) in enumerate(zip(first.value, offsets, strict=True)):
                drift_ns = abs(after[0] - before[0])
                if drift_ns > allowed_ns + before[1] + after[1]:
                    expected = (
                        f"rank {rank}'s clock to drift by {allowed_ns * SECONDS_PER_NS:.3g} s at"
                        f" most ({MAX_DRIFT:.1%} of the time)"
                    )
                    yield Violation(
                        "log.txt",
                        expected,
                        f"{drift_ns * SECONDS_PER_NS:.3g} s",
                        TRAINING_LOOP,
                        event.line,
                    )
        first = event if first is None else first
    yield from _overlapping(context)


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
                apart_ns, uncertainty_ns = (
                    abs(offsets[other][0] - offsets[one][0]),
                    offsets[one][1] + offsets[other][1],
                )
                if apart_ns > uncertainty_ns + ROUNDING_NS:
                    yield one, other


def _overlapping(context: BundleContext) -> Iterator[Violation]:
    """Check, on rank 0's clock, that no rank ended an update's step a second before another one
    began it: the sum needs the gradients of all."""
    import numpy as np  # start-up

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
        late, early = (
            int(np.stack(starts)[:, place].argmax()),
            int(np.stack(ends)[:, place].argmin()),
        )
        expected = (
            f"rank {late} to begin step {first.step[updates][place]} before rank {early} ends it,"
            " which needs its gradients, to a second"
        )
        observed = f"{gaps_ns[place] * SECONDS_PER_NS:.3g} s after it, by the clock offsets"
        yield Violation("log.txt", expected, observed, TRAINING_LOOP)


def is_offset(value: Any) -> bool:
    """Whether a value of ``clock_offsets_ns`` is an offset and its uncertainty."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(one) is int and abs(one) < 2**62 for one in value)
        and value[1] >= 0
    )


def _times_of_day(context: BundleContext) -> Iterator[Violation]:
    """Compare the time of day of each rank's first event with rank 0's, both on rank 0's monotonic
    clock."""
    offsets = context.log.value("clock_offsets_ns")
    if (
        not isinstance(offsets, list)
        or len(offsets) != context.request.parallel.ranks
        or not all(map(is_offset, offsets))
    ):
        return  # reported by clock-offsets
    ahead_of_0_s: float | None = None
    for rank, log in context.logs():
        event = next((event for event in log.events if event.mono_ns is not None), None)
        if event is None or event.mono_ns is None:
            continue
        ahead_s = event.time_ms / 1000 - (event.mono_ns - offsets[rank][0]) * SECONDS_PER_NS
        ahead_of_0_s = ahead_s if ahead_of_0_s is None else ahead_of_0_s
        if abs(ahead_s - ahead_of_0_s) > MAX_WALL_OFFSET_S:
            observed = f"rank {rank}'s differs from rank 0's by {ahead_s - ahead_of_0_s:.0f} s"
            expected = f"times of day that agree to {MAX_WALL_OFFSET_S:g} s on all nodes"
            yield Violation(
                log_name(rank),
                expected,
                observed,
                "`sudo timedatectl set-ntp true` on every node, then run again",
                event.line,
            )


def _addresses(context: BundleContext) -> Iterator[Violation]:
    """Check that no two nodes have one address."""
    links = [(node.host, node.link or {}) for node in read_nodes(context.bundle)]
    for (one, its), (other, theirs) in combinations(links, 2):
        if its.get("address") is not None and its.get("address") == theirs.get("address"):
            observed = f"{one} and {other} both at {its['address']!r}"[:200]
            yield Violation(
                NODES,
                "an address of its own for every node",
                observed,
                "run on as many machines as are requested",
            )
            return


def _files(context: BundleContext) -> Iterator[Violation]:
    """Check that no file is of a rank or a node that was not requested."""
    parallel = context.request.parallel
    for name in sorted(path.name for path in context.bundle.path.iterdir()):
        found = _OF_PLACE.fullmatch(name)
        if found is None:
            continue
        what, count = (
            ("rank", parallel.ranks) if name.startswith("log.") else ("node", parallel.nodes)
        )
        if not 1 <= int(found[1]) < count:
            asked = f"{count} {what}{'s' * (count > 1)}"
            yield Violation(
                name,
                f"files of {asked}, the number requested",
                f"a file of {what} {found[1]}",
                f"remove it, or {TRAINING_LOOP}",
            )


RULES = (
    Rule(
        id="nodes-placed",
        sentence=(
            "The ranks stay on their nodes for the whole run, each node is one machine, and they"
            " are no more than were requested."
        ),
        rationale="Energy and times belong to the machines that worked.",
        bundle_check=_placed,
    ),
    Rule(
        id="clock-offsets",
        sentence=(
            "The offsets between the ranks' clocks are known to a second, as their steps confirm,"
            " drift by a thousandth at most, and are nought on one machine."
        ),
        rationale=(
            "They place the readings of the other nodes in time. No rank ends an update before"
            " another, whose gradients it needs, begins it."
        ),
        bundle_check=_offsets,
    ),
    Rule(
        id="nodes-times-of-day",
        sentence="The nodes' times of day differ by a minute at most.",
        rationale=(
            "Durations use other clocks; but with this, a log's times tell when the run was made,"
            " and files of the nodes can be put in order."
        ),
        bundle_check=_times_of_day,
        severity=Severity.WARNING,
    ),
    Rule(
        id="nodes-addresses",
        sentence="No two nodes of a run have one address.",
        rationale="One machine under two names is one node.",
        bundle_check=_addresses,
    ),
    Rule(
        id="ranks-files",
        sentence="A bundle holds no log or readings of ranks and nodes that were not requested.",
        rationale="A rank that is recorded worked.",
        bundle_check=_files,
    ),
)
