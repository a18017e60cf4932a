"""Readings of every node: throughout the run, from its own meters, with a load and a power that fit
its ranks."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.node_records import read_nodes
from suite.compliance.node_context import NodeContext
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.channels import Channels

ORDER = 94  # after the plausibility of each reading

MIN_SILENCE_S, SILENT_SHARE, SILENT_PERIODS = 10.0, 0.1, 10.0
# of the load that a rank's compute time needs: hypervisors and sleeping threads take some of it
MIN_SHARE_OF_LOAD = 0.25
MIN_SAME, ROUNDING_NS = 10, 2


def _throughout(context: BundleContext) -> Iterator[Violation]:
    """Check that a node whose recorder was not lost has readings, of any meter, through the whole
    run."""
    import numpy as np  # start-up

    window = context.window
    if window is None or len(context.nodes) == 1:
        return
    for node in (
        node for node in context.nodes if node.is_on_clock and node.is_whole and len(node.channels)
    ):
        inside = np.sort(
            np.concatenate([window, *(channel.during(window).t_ns for channel in node.channels)])
        )
        place = int(np.diff(inside).argmax())
        gap_s, length_s = (
            float(inside[place + 1] - inside[place]) * SECONDS_PER_NS,
            (window[1] - window[0]) * SECONDS_PER_NS,
        )
        longest_s = max(
            [
                MIN_SILENCE_S,
                SILENT_SHARE * length_s,
                *(SILENT_PERIODS * period_s for period_s in _periods_s(node)),
            ]
        )
        if gap_s > longest_s:
            observed = (
                f"none for {gap_s:.1f} s, from {(inside[place] - window[0]) * SECONDS_PER_NS:.1f} s"
                " after run_start on"
            )
            expected = (
                f"a reading of some meter every {longest_s:.1f} s, because no loss of the recorder"
                " is recorded"
            )
            yield Violation(node.file, expected, observed, READINGS_AS_READ)


def _periods_s(node: NodeContext) -> list[float]:
    periods = [meter.get("period_s") for meter in node.meters if isinstance(meter, Mapping)]
    return [
        float(period) for period in periods if isinstance(period, int | float) and 0 < period < 3600
    ]


def _metered(context: BundleContext) -> Iterator[Violation]:
    """Check that every meter that read the idle machine was there during the run."""
    for node in context.nodes:
        available = {
            str(meter.get("name"))
            for meter in node.meters
            if isinstance(meter, Mapping) and meter.get("available") is True
        }
        for source in sorted({channel.source for channel in node.idle} - available):
            expected = (
                f"{source}, which read the idle machine, among the available meters of"
                f" {node.meters_file}"
            )
            yield Violation(
                node.idle_file,
                expected,
                "no such meter",
                f"connect {source} for the whole run, then run again",
            )


def _loads(context: BundleContext) -> Iterator[Violation]:
    """Check that the processor of every node was busy while its ranks computed on it."""
    window, ranks = context.window, dict(context.steps.by_rank())
    if window is None or context.request.accelerator != "cpu" or len(context.nodes) == 1:
        return
    for record, node in zip(read_nodes(context.bundle), context.nodes, strict=True):
        computed_s = [ranks[rank].sum_s("compute_s") for rank in record.ranks if rank in ranks]
        cores = node.cores_read
        load = (
            node.channels.get("cpu", "utilisation.total").during(window)
            if node.is_on_clock
            else None
        )
        if not computed_s or not cores or load is None or not len(load.known):
            continue
        needed = (
            MIN_SHARE_OF_LOAD
            * 100
            / cores
            * max(computed_s)
            / ((window[1] - window[0]) * SECONDS_PER_NS)
        )
        if load.mean < needed:
            expected = (
                f"a load of {needed:.1f} % or more of the {cores} cores of {record.host}, whose"
                f" rank computed for {max(computed_s):.1f} s"
            )
            yield Violation(node.file, expected, f"{load.mean:.1f} %", READINGS_AS_READ)


def _apart(context: BundleContext) -> Iterator[Violation]:
    """Check that no two nodes were read at the same moments: two recorders do not wait equally
    long. On the nodes' clocks, and on rank 0's."""
    count, bundle = len(context.nodes), context.bundle
    raw = [bundle.channels_of_node(place) if place else bundle.channels() for place in range(count)]
    raw_idle = [
        bundle.baseload_of_node(place) if place else bundle.baseload() for place in range(count)
    ]
    for one, other in combinations(range(count), 2):
        first, second = context.nodes[one], context.nodes[other]
        for file, name, pairs in (
            (first.file, second.file, ((raw[one], raw[other]), (first.channels, second.channels))),
            (
                first.idle_file,
                second.idle_file,
                ((raw_idle[one], raw_idle[other]), (first.idle, second.idle)),
            ),
        ):
            same = next((found for pair in pairs if (found := _same_moments(*pair))), None)
            if same is not None:
                observed = f"the same {same} times between readings, to {ROUNDING_NS} ns"
                yield Violation(
                    name, f"readings at other moments than in {file}", observed, READINGS_AS_READ
                )


def _same_moments(one: "Channels", other: "Channels") -> int | None:
    """The number of times between readings, if those of every channel that both have are the same,
    and there are enough of them; else None."""
    import numpy as np  # start-up

    pairs = [(channel, other.get(channel.source, channel.name)) for channel in one]
    shared = [
        (np.diff(mine.t_ns), np.diff(theirs.t_ns))
        for mine, theirs in pairs
        if len(theirs) == len(mine) > MIN_SAME
    ]
    is_same = shared and all((abs(mine - theirs) <= ROUNDING_NS).all() for mine, theirs in shared)
    return sum(len(mine) for mine, _ in shared) if is_same else None


RULES = (
    Rule(
        id="nodes-throughout",
        sentence="A node whose recorder was not lost was read through the whole run.",
        rationale="Readings that end early leave out energy.",
        bundle_check=_throughout,
    ),
    Rule(
        id="baseload-metered",
        sentence="A meter that read the idle machine is recorded as available during the run.",
        rationale="Power readings that are left out hide an energy.",
        bundle_check=_metered,
    ),
    Rule(
        id="nodes-load",
        sentence="A node's processor is busy while its ranks compute on it.",
        rationale="Readings of an idle machine are of another run.",
        bundle_check=_loads,
    ),
    Rule(
        id="nodes-read-apart",
        sentence="No two nodes were read at the same moments, to the nanosecond.",
        rationale="A copy of one node's readings is no second meter.",
        bundle_check=_apart,
    ),
)
