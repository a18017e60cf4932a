"""The records of each node of a run, for the rules: every node is checked alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from suite.bundle.layout import BASELOAD, READINGS, RUN, SYSTEM, node_baseloads, node_tables
from suite.bundle.log import Log
from suite.bundle.node_records import NODES, read_nodes
from suite.bundle.reader import Bundle, RunRecord
from suite.catalog.power import PowerRule, PowerTotal, totals_of_channels
from suite.compliance.evidence import mean_rate
from suite.metrics.load_figures import cores_of
from suite.metrics.node_readings import node_readings

if TYPE_CHECKING:
    from suite.bundle.arrays import Window
    from suite.bundle.channels import Channel, Channels

MAX_IDLE_UTILISATION = 25.0  # %


@dataclass(frozen=True)
class NodeContext:
    """A node's readings, its meters' records and its system description, each with the name of its
    file.

    ``channels`` were read during the run, ``idle`` before it; both are on rank 0's clock if
    ``is_on_clock``, else on the node's; ``on_own_clock`` are the former on the node's, which its
    meters' records are of. ``is_whole`` is False where the node's recorder was lost
    during the run.
    """

    file: str
    channels: "Channels"
    idle_file: str
    idle: "Channels"
    is_on_clock: bool
    on_own_clock: "Channels"
    is_whole: bool
    meters: Sequence[Any]
    meters_file: str
    system: Mapping[str, Any]
    system_file: str

    @cached_property
    def meter_records(self) -> Mapping[str, Mapping[str, Any]]:
        """The meters' records by name, the recorder's own among them."""
        return {str(each.get("name")): each for each in self.meters if isinstance(each, Mapping)}

    @property
    def is_recorded(self) -> bool:
        """Whether the recorder was there to the end and could write everything."""
        return self.is_whole and self.meter_records.get("recorder", {}).get("last_error") is None

    def rate(self, source: str, name: str, window: "Window") -> float | None:
        """Mean increase per second of a counter in a window; None where it was read too seldom."""
        return mean_rate(self.channels.get(source, name), window)

    def totals(self, rules: Sequence[PowerRule]) -> tuple[PowerTotal, ...]:
        """The totals by these rules of what was read."""
        return totals_of_channels(
            rules, ((channel.source, channel.name) for channel in self.channels)
        )

    def summed(self, total: PowerTotal) -> "list[Channel]":
        """The channels that a total adds up."""
        return [self.channels.get(total.source, name) for name in total.channels]

    @property
    def utilisation(self) -> "Channel":
        """Utilisation of all cores, %."""
        return self.channels.get("cpu", "utilisation.total")

    @property
    def is_busy_before(self) -> bool:
        """Other programs ran while the idle machine was measured, by the CPU meter."""
        return self.idle.get("cpu", "utilisation.total").mean > MAX_IDLE_UTILISATION

    @property
    def cores_read(self) -> int:
        """Cores of the machine: those that were read; ``system`` has the usable ones, which may be
        fewer."""
        return cores_of(self.channels)

    def busy_cores(self, window: "Window") -> float | None:
        """Cores that were busy or stolen in a window, by the CPU meter; None if it was read less
        than twice."""
        total, cores = self.utilisation.during(window), self.cores_read
        return total.mean / 100 * cores if len(total) >= 2 and cores else None


def node_contexts(
    bundle: Bundle, run: RunRecord, log: Log, rules: Sequence[PowerRule]
) -> tuple[NodeContext, ...]:
    """The nodes of a run, the harness's first; raises FileError for a table or a list of nodes that
    cannot be read."""
    first = NodeContext(
        READINGS,
        bundle.channels(),
        BASELOAD,
        bundle.baseload(),
        True,
        bundle.channels(),
        True,
        run.meters,
        RUN,
        bundle.json(SYSTEM),
        SYSTEM,
    )
    nodes = zip(read_nodes(bundle), node_readings(bundle, log, rules), strict=True)
    others = (
        NodeContext(
            node_tables(place)[0],
            node.channels if node.reason is None else bundle.channels(place),
            node_baseloads(place)[0],
            node.idle,
            node.reason is None,
            bundle.channels(place),
            record.problem is None,
            record.meters,
            NODES,
            record.system or {},
            NODES,
        )
        for place, (record, node) in list(enumerate(nodes))[1:]
    )
    return first, *others
