"""The readings of every node of a run on one clock: rank 0's."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from suite.bundle.log import Log
from suite.bundle.nodes import NodeRecord, read_nodes
from suite.bundle.reader import Bundle

if TYPE_CHECKING:
    from suite.bundle.channels import Channels
    from suite.metrics.window import Times


NOTHING_READ = "no meter read anything there"


UNKNOWN_CLOCK = "the log does not say how far its clock is from rank 0's"


@dataclass(frozen=True)
class NodeReadings:
    """What was read on a node, on rank 0's clock; empty with a ``reason`` where nothing was, or where its clock is not known.

    ``idle`` was read there before the run, while the node did nothing; empty where it was not measured then.

    ``node`` is its name in the hostfile: boards may all call themselves raspberrypi.
    """

    node: str
    ranks: tuple[int, ...]
    interface: str | None
    channels: "Channels"
    idle: "Channels"
    reason: str | None


def node_readings(bundle: Bundle, log: Log) -> tuple[NodeReadings, ...]:
    """Every node's readings on rank 0's clock, rank 0's node first; empty for a run on one machine."""
    return tuple(_readings(bundle, log, place, record) for place, record in enumerate(read_nodes(bundle)))


def to_first_clock(t_ns: "Times", log: Log, rank: int) -> "Times | None":
    """Times of a rank's monotonic clock as times of rank 0's: by the offsets logged before and after the run, linear between; None without any."""
    import numpy as np

    if rank == 0:
        return t_ns
    known = [(event.mono_ns, _offset(event.value, rank)) for event in log.all("clock_offsets_ns")]
    points = [(moment_ns, offset_ns) for moment_ns, offset_ns in known if moment_ns is not None and offset_ns is not None]
    if not points:
        return None
    first_ns, base_ns = points[0]
    # Differences are small numbers; nanoseconds since a boot do not fit a float for long.
    drifts = [float(offset_ns - base_ns) for _, offset_ns in points]
    moments = [float(moment_ns - first_ns) + drift for (moment_ns, _), drift in zip(points, drifts, strict=True)]
    on_base = t_ns - base_ns
    return on_base - np.round(np.interp((on_base - first_ns).astype(np.float64), moments, drifts)).astype(np.int64)


def _readings(bundle: Bundle, log: Log, place: int, record: NodeRecord) -> NodeReadings:
    from suite.bundle.channels import no_channels

    interface = (record.link or {}).get("interface")
    nothing = NodeReadings(record.host, record.ranks, interface, no_channels(), no_channels(), record.problem or NOTHING_READ)
    channels = bundle.channels_of_node(place) if place else bundle.channels()
    if not channels:
        return nothing
    idle = bundle.baseload_of_node(place) if place else bundle.baseload()
    t_ns, idle_ns = (to_first_clock(table.t_ns, log, min(record.ranks)) for table in (channels, idle))
    if t_ns is None or idle_ns is None:
        return replace(nothing, reason=UNKNOWN_CLOCK)
    return replace(nothing, channels=channels.with_times(t_ns), idle=idle.with_times(idle_ns), reason=None)


def _offset(value: Any, rank: int) -> int | None:
    try:
        offset_ns = value[rank][0]
    except (TypeError, IndexError, KeyError):
        return None
    return offset_ns if type(offset_ns) is int and abs(offset_ns) < 2**62 else None
