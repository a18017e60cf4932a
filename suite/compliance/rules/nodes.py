"""Runs on several nodes: a record of every node, its place and its machine."""

from itertools import combinations

from reference_impls.contract import log_name
from suite.bundle.node_records import NODES, read_nodes
from suite.compliance.finding import Severity
from suite.compliance.rule import (
    BundleContext,
    OfBundle,
    Rule,
    Violation,
    Violations,
)
from suite.compliance.wording import joined_names, numbers_text, ranks_text, value_text
from suite.files.counted import counted

ORDER = 60  # after the ranks

MIN_BOOTS_APART_NS = 10**6


def _complete(context: BundleContext) -> Violations:
    """Check that the requested nodes are recorded, with all ranks, each on the node that the log
    names."""
    requested = context.request.parallel
    if requested.nodes == 1:
        return
    nodes = read_nodes(context.bundle)
    ranks = [rank for node in nodes for rank in node.ranks]
    if len(nodes) != requested.nodes or ranks != list(range(requested.ranks)):
        yield Violation(
            NODES,
            f"{requested.nodes} nodes with the ranks {numbers_text(range(requested.ranks))} in "
            "order",
            f"{counted(len(nodes), 'node')} with the ranks"
            f" {joined_names([str(rank) for rank in ranks])}",
        )
        return
    logged = context.log.value("nodes_of_ranks")
    if not isinstance(logged, list) or len(logged) != requested.ranks:
        expected = f"nodes_of_ranks with the node's name for each of {requested.ranks} ranks"
        yield Violation("log.txt", expected, value_text(logged))
        return
    for node in nodes:
        names = [logged[rank] for rank in node.ranks]
        if node.node is not None and names != [node.node] * len(node.ranks):
            wanted = joined_names([value_text(name) for name in names])
            yield Violation(
                NODES,
                f"the node name that nodes_of_ranks in the log has for {ranks_text(node.ranks)}:"
                f" {wanted}",
                f"{value_text(node.node)}, the node name of host {node.host[:100]!r}",
            )


def _recorders(context: BundleContext) -> Violations:
    """Check that no node's recorder was lost or could not be started."""
    for node in read_nodes(context.bundle):
        if node.problem is not None:
            yield Violation(
                NODES,
                f"a recorder that reads the meters of {node.host[:100]!r} for the whole run",
                f"{ranks_text(node.ranks)}: {node.problem[:300]}",
            )


def _placed(context: BundleContext) -> Violations:
    """Check that all events that name the ranks' nodes are alike, and name no more nodes than were
    requested; and that each node is one machine."""
    parallel, said = context.request.parallel, None
    for rank, log in context.logs():
        for event in log.all("nodes_of_ranks"):
            said = event.value if said is None else said
            if event.value != said:
                yield Violation(
                    log_name(rank),
                    f"nodes_of_ranks = {said!r}, as logged first",
                    f"{event.value!r}",
                    event.line,
                )
                return
    named = {str(name) for name in said} if isinstance(said, list) else set()
    if len(named) > parallel.nodes:
        yield Violation(
            "log.txt",
            f"ranks on at most {counted(parallel.nodes, 'node')}",
            f"ranks on {counted(len(named), 'node')}: {', '.join(sorted(named))}",
        )
    yield from _of_one_boot(context)


def _of_one_boot(context: BundleContext) -> Violations:
    """Check that all ranks of a node logged the boot id of the machine that the node's recorder
    described."""
    boots = context.boots
    nodes = [(each.host, each.ranks, each.system) for each in read_nodes(context.bundle)]
    for host, ranks, system in nodes or [("the one machine", tuple(boots), None)]:
        known = [boots[rank] for rank in ranks if boots.get(rank) is not None]
        described = (system or {}).get("boot") or next(iter(known), None)
        other = next((rank for rank in ranks if boots.get(rank) not in (None, described)), None)
        if described is not None and other is not None:
            yield Violation(
                log_name(other),
                f"the boot id {str(described)[:13]}… of {host[:100]}, because rank {other} is"
                " recorded there",
                f"{str(boots[other])[:13]}…: rank {other} ran on another machine",
                1,
            )


def _addresses(context: BundleContext) -> Violations:
    """Check that no two nodes have one address."""
    links = [(node.host, node.link or {}) for node in read_nodes(context.bundle)]
    for (one, its), (other, theirs) in combinations(links, 2):
        if its.get("address") is not None and its.get("address") == theirs.get("address"):
            yield Violation(
                NODES,
                "a different address for every node",
                f"{one} and {other} both at {its['address']!r}",
            )
            return


def _machines(context: BundleContext) -> Violations:
    """Report nodes whose ranks logged the boot id of one kernel, or whose monotonic clocks, which
    count from the boot, are one."""
    if context.request.parallel.nodes == 1:
        return
    offsets = context.log.value("clock_offsets_ns")
    node_of = {rank: node for node in read_nodes(context.bundle) for rank in node.ranks}
    hosts: dict[str, str] = {}
    for rank, boot in context.boots.items():
        if boot is None or rank not in node_of:
            continue
        host = node_of[rank].host
        other = hosts.setdefault(str(boot), host)
        if other != host:
            yield Violation(
                log_name(rank),
                "ranks of different nodes on different machines",
                f"rank {rank} on {host[:100]} logged the boot id of {other[:100]}: the nodes are"
                " containers on one machine, or one machine with two names",
            )
            return
    for one, two in combinations(read_nodes(context.bundle), 2):
        try:
            apart_ns = abs(offsets[one.ranks[0]][0] - offsets[two.ranks[0]][0])
        except (TypeError, IndexError):
            return  # reported by clock-offsets
        if apart_ns < MIN_BOOTS_APART_NS:
            yield Violation(
                "log.txt",
                "nodes that did not boot within the same millisecond",
                f"the clocks of {one.host[:100]} and {two.host[:100]}, which count from the boot,"
                f" are {apart_ns} ns apart",
            )
            return


RULES = (
    Rule(
        "nodes-placed",
        "A run on several nodes records which ranks ran on each node, and the log agrees. The ranks"
        " stay on their nodes for the whole run, each node is one machine, and there are no more"
        " nodes than requested.",
        "A run's energy and transferred bytes are sums over its nodes. If a node were left out, the"
        " sums would be too small.",
        "hand in nodes.json and the logs as `suite run` wrote them",
        (OfBundle("nodes-complete", _complete), OfBundle("nodes-placed", _placed)),
    ),
    Rule(
        "nodes-recorders",
        "The recorder of every node reads that node's meters for the whole run.",
        "If a node's recorder was lost, its readings have gaps, and sums over all nodes may be"
        " unknown.",
        "repair what stopped the recorder, then run again if you need the energy",
        (OfBundle("nodes-recorders", _recorders, severity=Severity.WARNING),),
    ),
    Rule(
        "nodes-machines",
        "Each node is a separate machine: no two nodes have the same address or the same boot id,"
        " and no two nodes booted in the same millisecond.",
        "One machine under two names is one node. Containers on one machine share its processors,"
        " its memory and its power, so sums over them would count the machine several times."
        " Containers as nodes are for tests only. Two machines hardly ever boot in the same"
        " millisecond.",
        "name only separate machines in the hostfile; --ranks-per-node starts several ranks on "
        "one machine",
        (
            OfBundle("nodes-machines", _machines, severity=Severity.WARNING),
            OfBundle("nodes-addresses", _addresses),
        ),
    ),
)
