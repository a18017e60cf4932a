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

NONCE, ROUND = "a public text", OPEN


def set_nonce(
    bundle: EditableBundle,
    nonce: str = NONCE,
    run_number: int = 0,
    implementation: str | None = None,
) -> None:
    """Record a nonce and give the run the seed that follows from it, in every record; the
    implementation is the run's own where none is named."""
    configuration = configuration_sha256(bundle.request)
    implementation = implementation or bundle.run["implementation"]["sha256"]
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
def nonce_of_another(bundle: EditableBundle, /, **values: Any) -> None:
    """Record the nonce's seed of another round, implementation or configuration, so that the record
    fits the seed, and the rest of run.json does not fit the record."""
    other = replace(NonceUse(**_recorded(bundle)), **values)
    entry = entry_sha256(other.implementation_sha256, other.configuration_sha256)
    other = replace(other, entry_sha256=entry)
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
    implementations: Sequence[str | None] = (),
) -> None:
    """Give the submission's runs 1, 2, … these run numbers (None: no nonce), nonces and
    implementations, each with the seed that follows."""
    for index, number in enumerate(numbers):
        if number is None:
            continue
        bundle = EditableBundle(run(submission, index + 1))
        nonce = nonces[index] if nonces else NONCE
        set_nonce(bundle, nonce, number, implementations[index] if implementations else None)
        bundle.save()
