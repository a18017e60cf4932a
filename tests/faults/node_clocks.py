"""Faults that the rules of suite.compliance.rules.node_clocks find, by check."""

from tests.faults.edits.fault import Fault, recomputed
from tests.faults.edits.log_edits import set_event, set_request
from tests.faults.edits.rank_log_edits import move_offset, set_in_all_logs

FAULTS: dict[str, tuple[Fault, ...]] = {
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
}
