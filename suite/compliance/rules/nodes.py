"""Runs on several nodes: a record of every node."""

from collections.abc import Iterator

from suite.bundle.node_records import NODES, read_nodes
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.wording import listed, numbers, shown

ORDER = 60  # after the ranks

RECORD_AGAIN = (
    "repair what stopped the recorder (`suite cluster doctor` shows whether it can start), then run"
    " again where energy counts"
)
RUN_AGAIN = "hand in nodes.json as `suite run` wrote it"


def _complete(context: BundleContext) -> Iterator[Violation]:
    """Check that the requested nodes are recorded, with all ranks, each on the node that the log
    names."""
    requested = context.request.parallel
    if requested.nodes == 1:
        return
    nodes = read_nodes(context.bundle)
    ranks = [rank for node in nodes for rank in node.ranks]
    if len(nodes) != requested.nodes or ranks != list(range(requested.ranks)):
        expected = (
            f"{requested.nodes} nodes with the ranks {numbers(range(requested.ranks))} in order"
        )
        yield Violation(
            NODES,
            expected,
            f"{len(nodes)} nodes with the ranks {listed([str(rank) for rank in ranks])}",
            RUN_AGAIN,
        )
        return
    logged = context.log.value("nodes_of_ranks")
    for node in nodes:
        names = (
            [logged[rank] for rank in node.ranks]
            if isinstance(logged, list) and len(logged) == requested.ranks
            else None
        )
        if names is None or (node.node is not None and names != [node.node] * len(node.ranks)):
            wanted = (
                "no list of a name for every rank"
                if names is None
                else listed([shown(name) for name in names])
            )
            observed = f"{shown(node.node)}, the name of host {node.host[:100]!r}"
            yield Violation(
                NODES,
                f"the log's nodes_of_ranks for the ranks {numbers(node.ranks)}: {wanted}",
                observed,
                RUN_AGAIN,
            )


def _recorders(context: BundleContext) -> Iterator[Violation]:
    """Check that no node's recorder was lost or could not be started."""
    for node in read_nodes(context.bundle):
        if node.problem is not None:
            expected = f"a recorder that reads the meters of {node.host[:100]!r} for the whole run"
            yield Violation(
                NODES, expected, f"ranks {numbers(node.ranks)}: {node.problem[:300]}", RECORD_AGAIN
            )


RULES = (
    Rule(
        id="nodes-complete",
        sentence="A run on several nodes records which ranks ran on each node, and the log agrees.",
        rationale="Energy and bytes are sums over the nodes: a missing node makes them smaller.",
        bundle_check=_complete,
    ),
    Rule(
        id="nodes-recorders",
        sentence="The recorder of every node reads that node's meters for the whole run.",
        rationale=(
            "A node whose recorder was lost has gaps in its readings, and figures of all nodes may"
            " be unknown for them."
        ),
        bundle_check=_recorders,
        severity=Severity.WARNING,
    ),
)
