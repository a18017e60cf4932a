"""Faults that the rules of suite.compliance.rules.accumulation find, by rule."""

from suite.compliance.rules.exchanges import EVENT
from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import request_also
from tests.faults.edits.rank_log_edits import add_after_epochs, add_to_all_logs

_FOUR = request_also("accumulation", 4)


FAULTS: dict[str, tuple[Fault, ...]] = {
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
