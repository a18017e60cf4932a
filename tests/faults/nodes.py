"""Faults that the rules of suite.compliance.rules.nodes find, by check."""

from suite.bundle.node_records import NODES
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Fault, in_turn, recomputed
from tests.faults.edits.file_edits import change_file, set_link, set_node
from tests.faults.edits.log_edits import set_request
from tests.faults.edits.rank_log_edits import set_boot_of_rank, set_in_all_logs


def _first_boot_described(bundle: EditableBundle) -> None:
    """Describe the second node's boot as the first one's."""
    change_file(
        NODES, lambda values: values["nodes"][1]["system"].update(boot=bundle.system["boot"])
    )(bundle)


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
            set_node(1, ranks=[2]),
            ranks=2,
        ),
        recomputed(
            "another node",
            set_node(1, node="pi7"),
            ranks=2,
        ),
    ),
    "nodes-placed": (
        recomputed("two nodes shown as one", set_request("parallel.nodes", 1), ranks=2),
        recomputed("another boot of rank 1 than of its node", set_boot_of_rank(1, 0), ranks=2),
    ),
    "nodes-recorders": (
        recomputed(
            "a recorder that was lost",
            set_node(1, problem="its recorder ended"),
            ranks=2,
        ),
    ),
    "nodes-machines": (
        recomputed(
            "one boot id on both nodes",
            in_turn(set_boot_of_rank(1, 0), _first_boot_described),
            ranks=2,
        ),
        recomputed(
            "one clock on both nodes",
            set_in_all_logs("clock_offsets_ns", [[0, 0], [622, 15_870]]),
            ranks=2,
        ),
    ),
    "nodes-addresses": (
        recomputed(
            "the first node's address on both",
            set_link(1, address="address0"),
            ranks=2,
        ),
    ),
}
