"""What was read on each node of a run, for the rules: one machine's readings are judged like another's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suite.bundle.layout import BASELOAD, READINGS, SYSTEM, node_baseloads, node_tables
from suite.bundle.log import Log
from suite.bundle.nodes import NODES, read_nodes
from suite.bundle.reader import Bundle, RunRecord
from suite.catalog.power import PowerRule
from suite.metrics.node_readings import node_readings

if TYPE_CHECKING:
    from suite.bundle.channels import Channels


@dataclass(frozen=True)
class MeteredNode:
    """A node's table ``file`` of readings, on rank 0's clock unless that is unknown; what became of each meter; the node's description.

    ``idle``, in ``idle_file``, was read before the run.

    ``records`` and ``described`` name the files in which the last two are. ``is_whole``: its recorder was not lost during the run.
    """

    file: str
    channels: "Channels"
    idle_file: str
    idle: "Channels"
    is_on_clock: bool
    is_whole: bool
    meters: Sequence[Any]
    records: str
    system: Mapping[str, Any]
    described: str


def metered_nodes(bundle: Bundle, run: RunRecord, log: Log, rules: Sequence[PowerRule]) -> tuple[MeteredNode, ...]:
    """The harness's node first; raises FileError for a table or a list of nodes that cannot be read."""
    found = [MeteredNode(READINGS, bundle.channels(), BASELOAD, bundle.baseload(), True, True, run.meters, "run.json", bundle.json(SYSTEM), SYSTEM)]
    for place, (record, node) in enumerate(zip(read_nodes(bundle), node_readings(bundle, log, rules), strict=True)):
        if place:
            is_on_clock = node.reason is None
            channels = node.channels if is_on_clock else bundle.channels_of_node(place)
            is_whole, system, (file, _), (idle_file, _) = record.problem is None, record.system or {}, node_tables(place), node_baseloads(place)
            found.append(MeteredNode(file, channels, idle_file, node.idle, is_on_clock, is_whole, record.meters, NODES, system, NODES))
    return tuple(found)
