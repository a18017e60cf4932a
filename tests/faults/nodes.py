"""Faults that the rules of suite.compliance.rules.nodes find, by rule."""

from suite.bundle.node_records import NODES
from tests.faults.edits.fault import Fault, recomputed
from tests.faults.edits.file_edits import change_file

FAULTS: dict[str, tuple[Fault, ...]] = {
    "nodes-complete": (
        recomputed(
            "no record of the nodes", lambda bundle: (bundle.path / NODES).unlink(), ranks=2
        ),
        recomputed(
            "a node left out", change_file(NODES, lambda values: values["nodes"].pop()), ranks=2
        ),
        recomputed(
            "a rank left out",
            change_file(NODES, lambda values: values["nodes"][1].update(ranks=[2])),
            ranks=2,
        ),
        recomputed(
            "another node",
            change_file(NODES, lambda values: values["nodes"][1].update(node="pi7")),
            ranks=2,
        ),
    ),
    "nodes-recorders": (
        recomputed(
            "a recorder that was lost",
            change_file(
                NODES, lambda values: values["nodes"][1].update(problem="its recorder ended")
            ),
            ranks=2,
        ),
    ),
}
