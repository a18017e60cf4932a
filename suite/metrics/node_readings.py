"""Readings of every node of a run, on rank 0's clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.bundle.arrays import Times
from suite.bundle.channels import Channels, no_channels
from suite.bundle.log import Log, run_window
from suite.bundle.node_records import NodeRecord, read_nodes
from suite.bundle.reader import Bundle
from suite.catalog.power import PowerRule, PowerTotal
from suite.metrics.power_totals import channel_names, power_totals

NO_READINGS = "the node has no readings"
UNKNOWN_CLOCK = "the log has no clock offset between this node and rank 0"


@dataclass(frozen=True)
class NodeReadings:
    """Readings of a node on rank 0's clock; empty, with a ``reason``, if there are none or the
    clock offset is unknown.

    ``node`` is its name in the hostfile (boards may share a host name), ``totals`` the power totals
    that count, ``idle`` the readings of the idle node before the run (empty if not measured).
    """

    node: str
    ranks: tuple[int, ...]
    interface: str | None
    channels: Channels
    idle: Channels
    totals: tuple[PowerTotal, ...]
    reason: str | None

    def with_totals_kept(self, *others: tuple[str, str]) -> "NodeReadings":
        """The same readings; those of the totals' channels, and of ``others`` by source and name,
        stay in memory."""
        return replace(
            self, channels=self.channels.with_cached((*others, *channel_names(self.totals)))
        )


def node_readings(bundle: Bundle, log: Log, rules: Sequence[PowerRule]) -> tuple[NodeReadings, ...]:
    """Readings of every node, rank 0's node first; empty for a run on one machine."""
    return tuple(
        _readings(bundle, log, place, record, rules)
        for place, record in enumerate(read_nodes(bundle))
    )


def clock_conversion(log: Log, rank: int) -> Callable[[Times], Times] | None:
    """The conversion of times on a rank's monotonic clock to rank 0's, by linear interpolation of
    the offsets logged before and after the run.

    None without a logged offset.
    """
    if rank == 0:
        return lambda t_ns: t_ns
    known = [(event.mono_ns, _offset(event.value, rank)) for event in log.all("clock_offsets_ns")]
    points = [
        (moment_ns, offset_ns)
        for moment_ns, offset_ns in known
        if moment_ns is not None and offset_ns is not None
    ]
    if not points:
        return None
    first_ns, base_ns = points[0]
    # Subtract as integers: nanoseconds since boot exceed a float's 53 bits.
    drifts = [float(offset_ns - base_ns) for _, offset_ns in points]
    moments = [
        float(moment_ns - first_ns) + drift
        for (moment_ns, _), drift in zip(points, drifts, strict=True)
    ]

    def convert(t_ns: Times) -> Times:
        on_base = t_ns - base_ns
        return on_base - np.round(
            np.interp((on_base - first_ns).astype(np.float64), moments, drifts)
        ).astype(np.int64)

    return convert


def machine_readings(
    bundle: Bundle, name: str, ranks: tuple[int, ...], totals: tuple[PowerTotal, ...] = ()
) -> NodeReadings:
    """Readings of this bundle's first machine, on its own clock, as those of a node."""
    return NodeReadings(name, ranks, None, bundle.channels(), bundle.baseload(), totals, None)


def _readings(
    bundle: Bundle, log: Log, place: int, record: NodeRecord, rules: Sequence[PowerRule]
) -> NodeReadings:
    interface, nothing = (record.link or {}).get("interface"), no_channels()
    without = NodeReadings(record.host, record.ranks, interface, nothing, nothing, (), None)
    channels = bundle.channels(place)
    if not channels:
        return replace(without, reason=record.problem or NO_READINGS)
    to_rank0 = clock_conversion(log, min(record.ranks))
    if to_rank0 is None:
        return replace(without, reason=UNKNOWN_CLOCK)
    idle = bundle.baseload(place)
    channels = channels.on_clock(to_rank0)
    totals = power_totals(channels, rules, run_window(log))
    return replace(without, channels=channels, idle=idle.on_clock(to_rank0), totals=totals)


def _offset(value: Any, rank: int) -> int | None:
    try:
        offset_ns = value[rank][0]
    except (TypeError, IndexError, KeyError):
        return None
    return offset_ns if type(offset_ns) is int and abs(offset_ns) < 2**62 else None
