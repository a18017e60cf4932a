"""Runs on several nodes: every node is there."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from suite.bundle.nodes import NODES, read_nodes
from suite.compliance.editing import EditableBundle
from suite.compliance.rule import BundleCase, Fault, Rule, Violation

RUN_AGAIN = "these are not the records that the harness writes: run again"


def _complete(case: BundleCase) -> Iterator[Violation]:
    """As many nodes as were asked for, with all ranks, each where the log says."""
    asked = case.request.parallel
    if asked.nodes == 1:
        return
    nodes = read_nodes(case.bundle)
    ranks = [rank for node in nodes for rank in node.ranks]
    if len(nodes) != asked.nodes or ranks != list(range(asked.ranks)):
        yield Violation(NODES, f"{asked.nodes} nodes with the ranks 0 to {asked.ranks - 1}", f"{len(nodes)} nodes with {ranks}"[:200], RUN_AGAIN)
        return
    told = case.log.value("nodes_of_ranks")
    for node in nodes:
        expected = [told[rank] for rank in node.ranks] if isinstance(told, list) and len(told) == asked.ranks else None
        if expected is None or (node.node is not None and expected != [node.node] * len(node.ranks)):
            observed = f"{node.host} calls itself {node.node!r}"
            yield Violation(NODES, f"the log's nodes_of_ranks, {expected!r}, for the ranks {list(node.ranks)}"[:200], observed[:200], RUN_AGAIN)


def _edited(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[EditableBundle], None]:
    def edit(bundle: EditableBundle) -> None:
        values = json.loads((bundle.path / NODES).read_text(encoding="utf-8"))
        change(values["nodes"])
        (bundle.path / NODES).write_text(json.dumps(values), encoding="utf-8")

    return edit


def _no_nodes(bundle: EditableBundle) -> None:
    (bundle.path / NODES).unlink()


RULES = (
    Rule(
        id="nodes-complete",
        sentence="A run on several nodes says of each which ranks ran there, and the log says the same.",
        rationale="Energy and bytes are sums over the nodes: one that is left out makes the others look better.",
        judges_bundle=_complete,
        faults=(
            Fault("no record of the nodes", _no_nodes, ranks=2),
            Fault("a node left out", _edited(lambda nodes: nodes.pop()), ranks=2),
            Fault("a rank left out", _edited(lambda nodes: nodes[1].update(ranks=[2])), ranks=2),
            Fault("another node", _edited(lambda nodes: nodes[1].update(node="pi7")), ranks=2),
        ),
    ),
)
