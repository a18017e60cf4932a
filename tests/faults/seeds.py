"""Faults that the rules of suite.compliance.rules.seeds find, by rule."""

from tests.faults.edits.fault import Fault, sealed
from tests.faults.edits.nonce_edits import (
    nonce_of_another_request,
    nonce_with,
    seed_after_nonce,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "seed-of-nonce": (
        sealed("another seed than the nonce's", seed_after_nonce(7)),
        sealed("the nonce of another configuration", nonce_of_another_request()),
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
}
