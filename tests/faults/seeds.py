"""Faults that the rules of suite.compliance.rules.seeds find, by check."""

from tests.faults.edits.fault import Fault, of_submission, sealed
from tests.faults.edits.nonce_edits import (
    NONCE,
    ROUND,
    nonce_of_another,
    nonce_with,
    number_runs,
    seed_after_nonce,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "seed-of-nonce": (
        sealed("the nonce in a round that was made up", nonce_of_another(round=f"{ROUND} try 1")),
        sealed("another seed than the nonce's", seed_after_nonce(7)),
        sealed(
            "the nonce of another configuration", nonce_of_another(configuration_sha256="2" * 64)
        ),
        sealed(
            "the nonce of another implementation than the one that ran",
            nonce_of_another(implementation_sha256="4" * 64),
        ),
        *(
            sealed(f"{name} = {value!r} beside the seed of a nonce", nonce_with(**{name: value}))
            for name, value in (
                ("nonce", "another"),
                ("nonce", ""),
                ("nonce", 5),
                ("round", "v9"),
                ("run_number", 1),
                ("run_number", -1),
                ("run_number", True),
                ("implementation_sha256", "3" * 64),
                ("configuration_sha256", "3" * 64),
                ("entry_sha256", "3" * 64),
                ("more", "x"),
            )
        ),
    ),
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
            number_runs((0, 1, 2), implementations=(None, None, "4" * 64)),
        ),
    ),
}
