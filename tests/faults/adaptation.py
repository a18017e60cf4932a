"""Faults that the rules of suite.compliance.rules.adaptation find, by check."""

from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import add_point, request_also

_START = {"checkpoint": "lenet-mnist", "path": "/checkpoint.npz", "fresh": ["fc3.*"]}
_TRAINS = {"parameters": ["fc?.*"], "statistics": "frozen"}
OLD_TASK = {"name": "mnist", "directory": "$DATA/mnist", "layout": "idx", "classes": 10}
OLD_TASK |= {
    "train_samples": 60000,
    "eval_samples": 10000,
    "verified": True,
    "synthetic": False,
    "side": None,
}
_PART = {"names": ["fc3.weight"], "parameters": 840}

FAULTS: dict[str, tuple[Fault, ...]] = {
    "closed-adaptation": (
        *both("a start of another workload", request_also("start", _START)),
        *both("a part of the model", request_also("trains", _TRAINS)),
        *both("an old task of no workload's", request_also("old_task", OLD_TASK)),
    ),
    "started-from": (
        *both("a checkpoint, and nothing taken", request_also("start", _START)),
        *both("a checkpoint that nobody requested", add_point("started_from", "0" * 64)),
    ),
    "part-trained": (
        *both("a part, and nothing said of it", request_also("trains", _TRAINS)),
        *both("a part that nobody requested", add_point("trained", _PART)),
        recomputed(
            "another layer than the requested ones",
            in_turn(
                request_also("trains", _TRAINS),
                add_point("trained", {"names": ["conv1.weight"], "parameters": 150}),
            ),
        ),
    ),
    "frozen-unchanged": (
        *both("a part, and no digest of the rest", request_also("trains", _TRAINS)),
        *both("a frozen part that nobody requested", add_point("frozen", "0" * 64)),
        recomputed(
            "a frozen part that changed",
            in_turn(
                request_also("trains", _TRAINS),
                add_point("frozen", "0" * 64),
                add_point("frozen", "1" * 64),
            ),
        ),
    ),
}
