"""Faults that the rules of suite.compliance.rules.submission_rounds find, by rule."""

from suite.submission.declaration import NAME
from tests.faults.edits.fault import Fault, of_first_run, of_submission, sealed
from tests.faults.edits.file_edits import set_run
from tests.faults.edits.submission_edits import set_value

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-round": (
        *(
            of_submission(f"round {value!r} declared", set_value(NAME, "round", value))
            for value in ("banana", "v0.1")
        ),
        of_first_run(sealed("one run of another round", set_run("round", "v0.1"))),
    ),
}
