"""``nodes.json``: the nodes of a run on several, and what was read on each; and their readings on one clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.bundle import Bundle, BundleError, write_json
from suite.log import Log

if TYPE_CHECKING:
    from suite.channels import Channels
    from suite.measure.window import Times

NODES = "nodes.json"
SCHEMA = 1
MOST_NODES = 10_000
NOTHING_READ = "no meter read anything there"
UNKNOWN_CLOCK = "the log does not say how far its clock is from rank 0's"


@dataclass(frozen=True)
class NodeRecord:
    """A node: its name in the hostfile and its own (None: it never answered), and the ranks that ran there.

    The first one is the harness's: its readings are readings.parquet, any other's are in a table of its own, on its own clock. ``problem``
    says why a node has none, or that its recorder was lost during the run. ``link`` is the interface towards the other nodes, ``page_cache``
    what became of the cache before the run, ``system`` the node's description and ``meters`` what became of each meter (of the harness's
    node, they are in system.json and run.json).
    """

    host: str
    node: str | None
    ranks: tuple[int, ...]
    problem: str | None
    link: Mapping[str, Any] | None
    page_cache: Mapping[str, Any] | None
    system: Mapping[str, Any] | None
    meters: tuple[Mapping[str, Any], ...]


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


def write_nodes(path: Path, records: Sequence[NodeRecord]) -> None:
    """Write ``nodes.json`` into a bundle, the nodes in the hostfile's order."""
    write_json(path / NODES, {"schema": SCHEMA, "nodes": [vars(record) for record in records]})


def read_nodes(bundle: Bundle) -> tuple[NodeRecord, ...]:
    """The nodes of a bundle; empty for a run on one machine. Raises BundleError for what is no such file."""
    path = bundle.path / NODES
    if not path.exists():
        return ()
    values = bundle.json(NODES)
    nodes = values.get("nodes")
    if values.get("schema") != SCHEMA or not isinstance(nodes, list) or len(nodes) > MOST_NODES:
        raise BundleError(path, f"is not a list of nodes of schema {SCHEMA}")
    records = tuple(_record(each, path) for each in nodes)
    if len({record.host for record in records}) < len(records):
        raise BundleError(path, "names a host twice")
    return records


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
    from suite.channels import no_channels

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


def _record(values: Any, path: Path) -> NodeRecord:
    names = set(NodeRecord.__dataclass_fields__)
    if not isinstance(values, dict) or set(values) != names:
        raise BundleError(path, f"must say of each node {', '.join(sorted(names))}")
    ranks, meters, link = values["ranks"], values["meters"], values["link"]
    if not (isinstance(ranks, list) and ranks and all(type(rank) is int and rank >= 0 for rank in ranks)):
        raise BundleError(path, "has a node without ranks")
    texts = all(isinstance(values[name], str | None) for name in ("node", "problem")) and isinstance(values["host"], str)
    objects = all(isinstance(values[name], dict | None) for name in ("link", "page_cache", "system")) and isinstance(meters, list)
    if not texts or not objects or not isinstance((link or {}).get("interface"), str | None):
        raise BundleError(path, "has a key of the wrong type")
    return NodeRecord(**{**values, "ranks": tuple(ranks), "meters": tuple(meters)})
