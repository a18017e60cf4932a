"""Links of several nodes: their speed, and the bytes that they carried, against the gradients that
the ranks exchanged."""

from itertools import chain, combinations

import numpy as np

from reference_impls.contract import EXACT, FLOAT32, SECONDS_PER_NS
from suite.bundle.node_records import NODES, read_nodes
from suite.compliance.evidence import mean_rate
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.rules.node_clocks import is_offset
from suite.compliance.updates import ends_update
from suite.compliance.values import is_number
from suite.files.counted import counted

ORDER = 63  # after the nodes' clocks

BITS_PER_BYTE, GRADIENT_BYTES, MIN_GRADIENT_BYTES = 8, 4, 2
SHARED_MEMORY_SHARE = 0.1
LINK_TOLERANCE = 1.05


def _links(context: BundleContext) -> Violations:
    """Check that each update's gradients fit through each node's link: half precision, sent once,
    as no all-reduce can do with less."""
    parameters = context.log.trained_parameters
    if not context.run_s > 0 or parameters is None or context.request.parallel.collective != "mpi":
        return
    updates = int(ends_update(context.request, context.steps.first_rank).sum())
    sent_bytes = updates * parameters * MIN_GRADIENT_BYTES
    needed_mbit_s = sent_bytes * BITS_PER_BYTE / 1e6 / context.run_s
    for node in read_nodes(context.bundle):
        speed_mbit_s = (node.link or {}).get("speed_mbit_s")
        if is_number(speed_mbit_s) and 0 < speed_mbit_s < needed_mbit_s:
            yield Violation(
                NODES,
                f"gradients that need at most {speed_mbit_s:g} Mbit/s, the recorded speed of"
                f" {node.host}'s link",
                f"at least {needed_mbit_s:.3g} Mbit/s needed to send the gradients of all updates"
                f" once ({MIN_GRADIENT_BYTES} bytes per parameter and update) within the run time",
            )


def _check_traffic(context: BundleContext) -> Violations:
    """Check that each node's interfaces counted the gradients of every update once: of every
    number, its own gradient or the sum leaves a node.

    Nodes of one kernel may exchange through its memory: there, a tenth of it and less says so.
    """

    parameters = context.log.trained_parameters
    parallel = context.request.parallel
    first = context.steps.first_rank
    if parallel.nodes < 2 or parameters is None:
        return
    size_bytes = parameters * (
        GRADIENT_BYTES
        if (parallel.wire, context.request.precision) == (EXACT, FLOAT32)
        else MIN_GRADIENT_BYTES
    )
    is_update = ends_update(context.request, first)
    uncertain_s = _uncertainty_s(context)
    starts_s = first.start_ns[is_update] * SECONDS_PER_NS - uncertain_s
    ends_s = first.ends_s[is_update] + uncertain_s
    is_shared = _one_kernel(context)
    for node in (node for node in context.nodes if node.is_on_clock):
        for direction in ("sent", "received"):
            counts = [
                channel.in_time.without_wraps
                for channel in node.channels.of_source("network")
                if channel.name.endswith(f".{direction}")
            ]
            counts = [count for count in counts if len(count) >= 2]
            if not counts:
                continue
            from_s, to_s = (
                f(count.t_ns[place] for count in counts) * SECONDS_PER_NS
                for f, place in ((max, 0), (min, -1))
            )
            increase = sum(count.increase for count in counts)
            updates = int(np.sum((starts_s >= from_s) & (ends_s <= to_s)))
            # what a rank has sent last may wait in its kernel when the step ends
            needed = max(0, updates - 1) * size_bytes
            if increase < needed and not (is_shared and increase < SHARED_MEMORY_SHARE * needed):
                yield Violation(
                    node.file,
                    f"at least {needed} bytes {direction} in {counted(updates - 1, 'update')}:"
                    f" every update transfers all gradients once, {size_bytes} bytes",
                    f"{increase:.0f} bytes",
                    fix="hand in the readings as the recorder wrote them; if MPI bypasses the"
                    " kernel's network interfaces, run again with UCX_TLS=tcp,self",
                )


def _uncertainty_s(context: BundleContext) -> float:
    """The largest uncertainty of the clock offsets, s."""
    offsets = context.log.value("clock_offsets_ns")
    known = (
        [offset[1] for offset in offsets if is_offset(offset)] if isinstance(offsets, list) else []
    )
    return max(known, default=0) * SECONDS_PER_NS


def _one_kernel(context: BundleContext) -> bool:
    """Whether ranks of different nodes logged one boot id: nodes-machines reports it."""
    of_nodes = [
        {context.boots.get(rank) for rank in node.ranks} for node in read_nodes(context.bundle)
    ]
    return any(one & other for one, other in combinations(of_nodes, 2))


def _network(context: BundleContext) -> Violations:
    """Check the bytes of every node's link against its speed, and that ranks on several nodes
    exchanged any."""

    window = context.window
    if window is None or context.request.parallel.nodes < 2:
        return
    for record, node in zip(read_nodes(context.bundle), context.nodes, strict=False):
        channels = [channel for channel in node.channels.of_source("network") if node.is_on_clock]
        link = record.link or {}
        speed, interface = link.get("speed_mbit_s"), link.get("interface")
        rates = {
            channel.name: bytes_per_s
            for channel in channels
            if (bytes_per_s := mean_rate(channel, window)) is not None
        }
        for name, bytes_per_s in rates.items():
            if (
                isinstance(speed, int | float)
                and speed > 0
                and name.startswith(f"{interface}.")
                and bytes_per_s * 8e-6 > LINK_TOLERANCE * speed
            ):
                yield Violation(
                    node.file,
                    f"at most {LINK_TOLERANCE * speed:g} Mbit/s on average on {interface}: its"
                    f" recorded speed of {speed:g} Mbit/s plus {LINK_TOLERANCE - 1:.0%}",
                    f"{bytes_per_s * 8e-6:.0f} Mbit/s",
                )
        if rates and not any(bytes_per_s > 0 for bytes_per_s in rates.values()):
            yield Violation(
                node.file,
                "gradients exchanged over the network",
                "no byte sent or received in the run",
            )


RULES = (
    Rule(
        "links-carry",
        "At its recorded speed, every node's link can carry the gradients of all updates once"
        " within the run time. In each direction, a node's network interfaces counted at least the"
        " bytes of these gradients (nodes on one machine may exchange them through its memory)."
        " The mean rate on a link is at most 5 % above its recorded speed.",
        "If a fast link is described as a slow one, the same times seem to be reached with weaker"
        " hardware. A network interface counts every byte, so a count below the bytes of the"
        " gradients is impossible.",
        "if the recorded link is not the ranks' (`suite cluster doctor` shows it), name the hosts"
        " by their addresses on the ranks' link and run again; otherwise hand in the readings as"
        " the recorder wrote them",
        (
            OfBundle(
                "links-carry", lambda context: chain(_links(context), _check_traffic(context))
            ),
            OfBundle("network-fits", _network),
        ),
    ),
)
