"""Faults that the rules of suite.compliance.rules.exchanges find, by check."""

from suite.compliance.rules.exchanges import EVENT
from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import request_also, set_everywhere
from tests.faults.edits.rank_log_edits import add_after_epochs, add_to_all_logs
from tests.faults.edits.table_edits import scale_column_of_rank, set_column_of_rank

_FOUR = request_also("accumulation", 4)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "ranks-in-step": (
        recomputed(
            "half of rank 1's compute time", scale_column_of_rank(1, "compute_s", 0.5), ranks=2
        ),
        recomputed(
            "rank 1's steps twice as far apart",
            scale_column_of_rank(1, "start_ns", 2.0),
            ranks=2,
        ),
        recomputed(
            "half of rank 1's compute time, in a run with a limit of three whole epochs",
            in_turn(set_everywhere("steps", 3 * 1875), scale_column_of_rank(1, "compute_s", 0.5)),
            ranks=2,
        ),
        recomputed(
            "the same, with a limit within the fourth epoch",
            in_turn(
                set_everywhere("steps", 3 * 1875 + 1), scale_column_of_rank(1, "compute_s", 0.5)
            ),
            ranks=2,
        ),
    ),
    "ranks-exchange": (
        recomputed(
            "no communication on either rank",
            set_column_of_rank(None, "communication_s", 0.0),
            ranks=2,
        ),
        recomputed(
            "no communication in nine of ten steps of rank 1",
            set_column_of_rank(1, "communication_s", 0.0, every=10),
            ranks=2,
        ),
        recomputed(
            "communication in a run of one rank",
            set_column_of_rank(0, "communication_s", 0.0005),
        ),
    ),
    "exchange-takes": (
        recomputed(
            "waits of half a microsecond",
            set_column_of_rank(None, "communication_s", 5e-7),
            ranks=2,
        ),
    ),
    "accumulation-agrees": (
        *both("four mini-batches an update in the request only", _FOUR),
        recomputed(
            "four mini-batches an update in the logs only",
            add_to_all_logs(EVENT, [4, 4]),
            ranks=2,
        ),
        recomputed(
            "four mini-batches an update on rank 0, two on rank 1",
            in_turn(_FOUR, add_to_all_logs(EVENT, [4, 2])),
            ranks=2,
        ),
        recomputed(
            "an update of four mini-batches whose gradients are all exchanged",
            in_turn(_FOUR, add_to_all_logs(EVENT, [4, 4])),
            ranks=2,
        ),
        recomputed(
            "ten exchanges an epoch",
            add_after_epochs("bucket_times", [{"size_bytes": 246_824, "exchanges": 10}]),
            ranks=2,
        ),
        recomputed("exchanges of words", add_after_epochs("bucket_times", ["all"]), ranks=2),
    ),
}
