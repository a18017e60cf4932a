"""Faults that the rules of suite.compliance.rules.resumed find, by check."""

from typing import Any

from suite.compliance.rules.resumed import RESTORED
from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.file_edits import set_run
from tests.faults.edits.rank_log_edits import add_to_all_logs

_DIGESTS = {"parameter": "a" * 64, "velocity": "b" * 64, "statistic": "c" * 64}


_RECORD: dict[str, Any] = {
    "run_id": "lenet-pytorch-20270115T070000Z-000000",
    "epoch": 1,
    "state": _DIGESTS,
    "ranks": 3,
    "nodes": 3,
    "reason": "rank 2 on node node2 exited",
    "ended_time_ms": 1_000,
    "began_time_ms": 0,
    "began_mono_ns": 0,
    "boot": None,
    "uncounted_s": 0.0,
}


_RESUMED = set_run("resumed", _RECORD)


_IN_LOGS = add_to_all_logs(RESTORED, [_DIGESTS, _DIGESTS])


FAULTS: dict[str, tuple[Fault, ...]] = {
    "closed-resumed": both("a record of the earlier run", _RESUMED),
    "resumed-agrees": (
        *both("a record, and nothing restored", _RESUMED),
        *both(
            "a record with a key less",
            set_run("resumed", {name: value for name, value in _RECORD.items() if name != "ranks"}),
        ),
        *both("a record with a number of words", set_run("resumed", {**_RECORD, "epoch": "one"})),
        recomputed("a state restored, and no record", _IN_LOGS, ranks=2),
        recomputed("the state of another epoch", in_turn(_RESUMED, _IN_LOGS), ranks=2),
    ),
}
