"""Faults that the rules of suite.compliance.rules.node_clocks find, by rule."""

from reference_impls.contract import log_name
from suite.bundle.layout import node_baseloads, node_tables
from suite.bundle.node_records import NODES
from tests.faults.edits.fault import Fault, recomputed, unsealed
from tests.faults.edits.file_edits import append, change_file, copy_file, resealed
from tests.faults.edits.log_edits import set_event, set_request
from tests.faults.edits.rank_log_edits import (
    move_offset,
    set_boot_of_rank,
    set_in_all_logs,
    shift_time_of_day,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "nodes-placed": (
        recomputed("two nodes shown as one", set_request("parallel.nodes", 1), ranks=2),
        recomputed("another boot of rank 1 than of its node", set_boot_of_rank(1, 0), ranks=2),
    ),
    "clock-offsets": (
        recomputed(
            "five minutes of drift",
            set_event("clock_offsets_ns", 1, value=[[0, 0], [7_000_300_000_000_000, 50_000]]),
            ranks=2,
        ),
        recomputed(
            "an uncertainty of a minute",
            set_in_all_logs("clock_offsets_ns", [[0, 0], [7 * 10**15, 6 * 10**10]]),
            ranks=2,
        ),
        recomputed(
            "the offset of one rank only",
            set_in_all_logs("clock_offsets_ns", [[0, 0]]),
            ranks=2,
        ),
        recomputed(
            "two nodes shown as one, with two clocks", set_request("parallel.nodes", 1), ranks=2
        ),
        recomputed(
            "rank 1's offset five seconds larger, before and after the run",
            move_offset(1, 5 * 10**9),
            ranks=2,
        ),
    ),
    "nodes-times-of-day": (
        recomputed(
            "the second node's time of day an hour behind",
            shift_time_of_day(1, -3_600_000),
            ranks=2,
        ),
    ),
    "nodes-addresses": (
        recomputed(
            "the first node's address on both",
            change_file(
                NODES, lambda values: values["nodes"][1]["link"].update(address="address0")
            ),
            ranks=2,
        ),
    ),
    "ranks-files": (
        unsealed("a log of a third rank", resealed(copy_file(log_name(1), log_name(2))), ranks=2),
        unsealed(
            "readings of a third node",
            resealed(copy_file(node_tables(1)[0], node_tables(2)[0])),
            ranks=2,
        ),
        unsealed(
            "a baseload of a second node in a run of one",
            resealed(append(node_baseloads(1)[0], b"x")),
        ),
    ),
}
