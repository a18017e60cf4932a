"""Faults that the rules of suite.compliance.rules.submission_names find, by rule."""

from suite.submission.declaration import NAME
from tests.faults.edits.fault import Fault, of_submission
from tests.faults.edits.submission_edits import set_value

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-names-nobody": (
        of_submission(
            "an e-mail address in the notes",
            set_value(NAME, "notes", "questions to jane.doe@example.org"),
        ),
        of_submission(
            "a private repository",
            set_value(NAME, "code.address", "ssh://jane@192.168.1.9/home/jane/suite.git"),
        ),
    ),
}
