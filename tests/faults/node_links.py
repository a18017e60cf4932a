"""Faults that the rules of suite.compliance.rules.node_links find, by check."""

from tests.faults.edits.fault import Fault, recomputed
from tests.faults.edits.file_edits import set_link
from tests.faults.edits.reading_edits import scale_readings
from tests.faults.edits.table_edits import change_second_node, scale_unit

FAULTS: dict[str, tuple[Fault, ...]] = {
    "links-carry": (
        recomputed(
            "a link of 10 Mbit/s",
            set_link(1, speed_mbit_s=10),
            ranks=2,
        ),
        recomputed(
            "half of the second node's bytes", change_second_node(scale_unit("B", 0.5)), ranks=2
        ),
        recomputed("half of the first node's bytes", scale_readings("network", "", 0.5), ranks=2),
    ),
    "network-fits": (
        recomputed(
            "five hundred times the bytes", scale_readings("network", "eth0", 500.0), ranks=2
        ),
        recomputed("no byte at all", scale_readings("network", "", 0.0), ranks=2),
    ),
}
