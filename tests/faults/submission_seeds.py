"""Faults that the rules of suite.compliance.rules.submission_seeds find, by rule."""

from tests.faults.edits.fault import Fault, of_submission
from tests.faults.edits.nonce_edits import IMPLEMENTATION, NONCE, number_runs

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-nonce": (
        of_submission("run number 2 missing", number_runs((0, 1, 3))),
        of_submission("the first run missing", number_runs((1, 2, 3))),
        of_submission("run number 1 twice", number_runs((0, 1, 1))),
        of_submission("a run whose seed was chosen", number_runs((0, 1, None))),
        of_submission(
            "a run with another nonce", number_runs((0, 1, 2), nonces=(NONCE, NONCE, "another"))
        ),
        of_submission(
            "a run of another implementation",
            number_runs((0, 1, 2), implementations=(IMPLEMENTATION, IMPLEMENTATION, "4" * 64)),
        ),
    ),
}
