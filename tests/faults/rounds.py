"""Faults that the rules of suite.compliance.rules.preconditions find, by check."""

from tests.faults.edits.fault import Fault, sealed
from tests.faults.edits.file_edits import move_to_first_round, set_run

FAULTS: dict[str, tuple[Fault, ...]] = {
    "round-known": (
        *(
            sealed(f"round {value!r}", set_run("round", value))
            for value in ("banana", "v9.9", "", None)
        ),
        *(
            sealed(f"suite version {value!r}", set_run("suite_version", value))
            for value in ("0.1.0", "9.9.9", "")
        ),
    ),
    "round-open": (sealed("a run moved to the first round", move_to_first_round()),),
}
