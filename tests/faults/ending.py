"""Faults that the rules of suite.compliance.rules.results find, by check."""

from tests.faults.edits.fault import Fault, both
from tests.faults.edits.log_edits import remove_last_epoch, set_accuracy, set_metadata
from tests.faults.edits.table_edits import scale_column

FAULTS: dict[str, tuple[Fault, ...]] = {
    "ends-as-asked": (
        *both("a success that is claimed an epoch too early", set_accuracy(0, 0.996)),
        *both("an end before target and last epoch", remove_last_epoch()),
    ),
    "status-follows": tuple(
        fault
        for status in ("aborted", "failed", None, 1)
        for fault in both(f"status {status!r}", set_metadata("run_stop", status=status))
    ),
    "epoch-filled": tuple(
        fault
        for share in (0.5, 0.01)
        for fault in both(f"{share} of the compute time", scale_column("compute_s", share))
    ),
}
