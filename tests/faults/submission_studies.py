"""Faults that the rules of suite.compliance.rules.submission_studies find, by rule."""

from tests.faults.edits.fault import Fault, of_first_run, sealed
from tests.faults.edits.file_edits import set_run

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-studies": (
        of_first_run(
            sealed(
                "a run of a study",
                set_run(
                    "study",
                    {"title": "Batches", "settings": {"batch_size": "16"}, "warm_up_steps": 5},
                ),
            )
        ),
        of_first_run(sealed("a run whose mark cannot be read", set_run("study", {}))),
        of_first_run(
            sealed(
                "a run of a sweep without its mark",
                set_run("command", ["suite", "sweep", "--vary", "batch_size=16,32"]),
            )
        ),
    ),
}
