"""Runs on several nodes: a record of every node."""

from collections.abc import Iterator

from suite.bundle.nodes import NODES, read_nodes
from suite.compliance.faults.fault import recomputed
from suite.compliance.faults.file_edits import change_file
from suite.compliance.rule import BundleContext, Rule, Violation

ORDER = 60  # after the ranks

RUN_AGAIN = "the harness does not write such records: run again"


def _complete(context: BundleContext) -> Iterator[Violation]:
    """Check that the requested nodes are recorded, with all ranks, each on the node that the log names."""
    requested = context.request.parallel
    if requested.nodes == 1:
        return
    nodes = read_nodes(context.bundle)
    ranks = [rank for node in nodes for rank in node.ranks]
    if len(nodes) != requested.nodes or ranks != list(range(requested.ranks)):
        yield Violation(
            NODES, f"{requested.nodes} nodes with the ranks 0 to {requested.ranks - 1}", f"{len(nodes)} nodes with {ranks}"[:200], RUN_AGAIN
        )
        return
    logged = context.log.value("nodes_of_ranks")
    for node in nodes:
        expected = [logged[rank] for rank in node.ranks] if isinstance(logged, list) and len(logged) == requested.ranks else None
        if expected is None or (node.node is not None and expected != [node.node] * len(node.ranks)):
            observed = f"{node.node!r}, the name of {node.host}"
            yield Violation(NODES, f"the log's nodes_of_ranks, {expected!r}, for the ranks {list(node.ranks)}"[:200], observed[:200], RUN_AGAIN)


RULES = (
    Rule(
        id="nodes-complete",
        sentence="A run on several nodes records which ranks ran on each node, and the log agrees.",
        rationale="Energy and bytes are sums over the nodes: a missing node makes them smaller.",
        bundle_check=_complete,
        faults=(
            recomputed("no record of the nodes", lambda bundle: (bundle.path / NODES).unlink(), ranks=2),
            recomputed("a node left out", change_file(NODES, lambda values: values["nodes"].pop()), ranks=2),
            recomputed("a rank left out", change_file(NODES, lambda values: values["nodes"][1].update(ranks=[2])), ranks=2),
            recomputed("another node", change_file(NODES, lambda values: values["nodes"][1].update(node="pi7")), ranks=2),
        ),
    ),
)
