"""Runs on several nodes: every node is there, and what was read on it is of this run."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from suite.bundle import node_tables
from suite.compliance.editing import EditableBundle
from suite.compliance.rule import BundleCase, Complaint, Fault, Rule
from suite.node_records import NODES, NodeRecord, node_readings, read_nodes

NANO = 1e-9
AROUND_S = 600.0
RUN_AGAIN = "these are not the records that the harness writes: run again"
READ_AGAIN = "run again; readings are kept as the meters gave them"


def _complete(case: BundleCase) -> Iterator[Complaint]:
    """As many nodes as were asked for, with all ranks, each where the log says."""
    asked = case.request.parallel
    if asked.nodes == 1:
        return
    nodes = read_nodes(case.bundle)
    ranks = [rank for node in nodes for rank in node.ranks]
    if len(nodes) != asked.nodes or ranks != list(range(asked.ranks)):
        yield Complaint(NODES, f"{asked.nodes} nodes with the ranks 0 to {asked.ranks - 1}", f"{len(nodes)} nodes with {ranks}"[:200], RUN_AGAIN)
        return
    told = case.log.value("nodes_of_ranks")
    for node in nodes:
        expected = [told[rank] for rank in node.ranks] if isinstance(told, list) and len(told) == asked.ranks else None
        if expected is None or (node.node is not None and expected != [node.node] * len(node.ranks)):
            observed = f"{node.host} calls itself {node.node!r}"
            yield Complaint(NODES, f"the log's nodes_of_ranks, {expected!r}, for the ranks {list(node.ranks)}"[:200], observed[:200], RUN_AGAIN)


def _readings(case: BundleCase) -> Iterator[Complaint]:
    """Readings of other nodes: as many as their recorders counted, and around the log's time on the log's clock."""
    times_ns = [event.mono_ns for event in case.log.events if event.mono_ns is not None]
    aligned = node_readings(case.bundle, case.log)
    for place, (node, readings) in enumerate(zip(read_nodes(case.bundle), aligned, strict=True)):
        name, t_ns = node_tables(place)[0], readings.readings["t_ns"]
        outside = t_ns[(t_ns < min(times_ns) - AROUND_S / NANO) | (t_ns > max(times_ns) + AROUND_S / NANO)] if times_ns else t_ns
        if place and len(outside):
            yield Complaint(name, "readings around the log's time, by the logged clock offsets", f"{len(outside)} at another time", READ_AGAIN)
        if place and node.problem is None:
            yield from _counted(case, place, node)


def _counted(case: BundleCase, place: int, node: NodeRecord) -> Iterator[Complaint]:
    recorded = {str(meter.get("name")): meter.get("readings") for meter in node.meters if isinstance(meter, dict)}
    recorded.pop("recorder", None)
    there = case.bundle.readings_of_node(place)["source"].value_counts().to_dict()
    for source in sorted({*recorded, *map(str, there)}):
        if recorded.get(source, 0) != there.get(source, 0):
            expected = f"{recorded.get(source, 0)!r} readings of {source}, as {NODES} records of {node.host}"
            yield Complaint(node_tables(place)[0], expected[:200], f"{there.get(source, 0)}", READ_AGAIN)


def _edited(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[EditableBundle], None]:
    def edit(bundle: EditableBundle) -> None:
        values = json.loads((bundle.path / NODES).read_text(encoding="utf-8"))
        change(values["nodes"])
        (bundle.path / NODES).write_text(json.dumps(values), encoding="utf-8")

    return edit


def _no_nodes(bundle: EditableBundle) -> None:
    (bundle.path / NODES).unlink()


def _other_readings(change: "Callable[[Any], Any]") -> Callable[[EditableBundle], None]:
    def edit(bundle: EditableBundle) -> None:
        from suite import tables

        path = bundle.path / node_tables(1)[0]
        tables.write_table(change(tables.read_readings(path)), path)

    return edit


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
    Rule(
        id="nodes-readings",
        sentence="The readings of every other node are as many as its recorder counted, taken around the log's time by the logged clock offsets.",
        rationale="Readings of another run, or some that were left out, tell nothing of this one.",
        judges_bundle=_readings,
        faults=(
            Fault("readings left out", _other_readings(lambda readings: readings[readings["source"] != "cpu"]), ranks=2),
            Fault("readings of another day", _other_readings(lambda readings: readings.assign(t_ns=readings["t_ns"] + 86_400 * 10**9)), ranks=2),
        ),
    ),
)
