"""Faults that the rules of suite.compliance.rules.short_entries find, by check."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.log_edits import miss_target_in_all_epochs, set_everywhere

FAULTS: dict[str, tuple[Fault, ...]] = {
    "short-length": tuple(
        fault
        for steps in (1, 1875 * 3, 1875 * 4 + 1, 1875 * 10)
        for fault in both(f"a limit of {steps} steps", set_everywhere("steps", steps))
    ),
    "short-needed": (recomputed("a short run of minutes", miss_target_in_all_epochs(short=5)),),
}
