"""Faults that the rules of suite.compliance.rules.log_form find, by check."""

from reference_impls.definitions import POINT
from tests.faults.edits.fault import Fault, both, recomputed, sealed
from tests.faults.edits.log_edits import (
    add_point,
    build_at_once,
    delay_epochs,
    delay_later_events,
    delay_start,
    repeat_event,
    set_event,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "log-keys-once": (
        *(
            fault
            for key in ("global_batch_size", "parameters")
            for fault in both(f"{key} twice", repeat_event(key))
        ),
        *both("the number of ranks twice, of two ranks", repeat_event("ranks"), ranks=2),
    ),
    "log-namespace": (
        *both("a line of another program", set_event("epoch_stop", namespace="mlperf")),
        sealed("a line without a namespace", set_event("seed", namespace=None)),
    ),
    "log-event-types": (
        *both("an epoch's start as a point in time", set_event("epoch_start", 1, event_type=POINT)),
        *both("the seed as the end of an interval", set_event("seed", event_type="INTERVAL_END")),
        sealed("run_stop without a type", set_event("run_stop", event_type=None)),
    ),
    "log-keys-own": both("weights that were loaded", add_point("weights_loaded", "/data/lenet.pt")),
    "initialisation-capped": both("40 minutes of initialisation", delay_start(2400)),
    "initialisation-takes": both("init_start right before init_stop", build_at_once()),
    "time-accounted": (
        recomputed(
            "eight seconds before the second epoch", delay_later_events("epoch_start", 1, 8)
        ),
        recomputed(
            "eight seconds before the last evaluation", delay_later_events("eval_start", 2, 8)
        ),
    ),
    "no-pause": both("a second before every epoch", delay_epochs(10**9)),
}
