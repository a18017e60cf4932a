"""Faults that the rules of suite.compliance.rules.node_readings find, by rule."""

from suite.bundle.layout import node_baseloads
from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.table_edits import (
    change_meter,
    change_second_node,
    copy_first_node,
    forget_meter,
    scale_unit,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "nodes-throughout": (
        recomputed(
            "the second node's readings end after ten seconds",
            change_second_node(lambda rows: rows[rows["t_ns"] < rows["t_ns"].min() + 10**10]),
            ranks=2,
        ),
    ),
    "baseload-metered": (
        *both(
            "the power meter's record says that it was not there",
            change_meter("um25c", available=False, reason="not connected"),
        ),
        recomputed(
            "the second node's power meter left out of its records",
            forget_meter("um25c"),
            ranks=2,
        ),
    ),
    "nodes-load": (
        recomputed("no load on the second node", change_second_node(scale_unit("%", 0.0)), ranks=2),
    ),
    "nodes-read-apart": (
        recomputed("the first node's readings as the second's", copy_first_node(), ranks=2),
        recomputed(
            "the first node's baseload as the second's",
            copy_first_node(node_baseloads(1)[0]),
            ranks=2,
        ),
    ),
}
