"""Edits of the nonce that run.json records, and of the seeds that follow from it."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from suite.catalog.seeds import NonceUse, configuration_sha256, entry_sha256
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit
from tests.faults.edits.submission_edits import run
from tests.open_round import OPEN

NONCE, ROUND, IMPLEMENTATION = "a public text", OPEN, "1" * 64


def set_nonce(
    bundle: EditableBundle,
    nonce: str = NONCE,
    run_number: int = 0,
    implementation: str = IMPLEMENTATION,
) -> None:
    """Record a nonce and give the run the seed that follows from it, in every record."""
    configuration = configuration_sha256(bundle.request)
    used = NonceUse(
        nonce,
        ROUND,
        run_number,
        implementation,
        configuration,
        entry_sha256(implementation, configuration),
    )
    bundle.run["nonce"] = asdict(used)
    bundle.request["seed"] = bundle.event("seed")["value"] = used.seed


@edit
def nonce_with(bundle: EditableBundle, /, **values: Any) -> None:
    """Record a nonce, then change fields of the record; the seed stays."""
    set_nonce(bundle)
    bundle.run["nonce"].update(values)


@edit
def nonce_of_another_request(bundle: EditableBundle) -> None:
    """Record the nonce's seed of another configuration, so that every digest fits the others but
    the request's."""
    used = NonceUse(**_recorded(bundle))
    other = replace(
        used, configuration_sha256="2" * 64, entry_sha256=entry_sha256(IMPLEMENTATION, "2" * 64)
    )
    bundle.run["nonce"] = asdict(other)
    bundle.request["seed"] = bundle.event("seed")["value"] = other.seed


@edit
def seed_after_nonce(bundle: EditableBundle, seed: int) -> None:
    """Record a nonce and another seed than the one that follows from it."""
    set_nonce(bundle)
    bundle.request["seed"] = bundle.event("seed")["value"] = seed


def _recorded(bundle: EditableBundle) -> Any:
    set_nonce(bundle)
    return bundle.run["nonce"]


@edit
def number_runs(
    submission: Path,
    numbers: Sequence[int | None],
    nonces: Sequence[str] = (),
    implementations: Sequence[str] = (),
) -> None:
    """Give the submission's runs 1, 2, … these run numbers (None: no nonce), nonces and
    implementations, each with the seed that follows."""
    for index, number in enumerate(numbers):
        if number is None:
            continue
        bundle = EditableBundle(run(submission, index + 1))
        nonce = nonces[index] if nonces else NONCE
        set_nonce(
            bundle, nonce, number, implementations[index] if implementations else IMPLEMENTATION
        )
        bundle.save()
