"""``witness.json``: what a run asked of a witness, at its start, at its end and as its bundle was
closed, and the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from suite.bundle.layout import WITNESS
from suite.files.canonical import canonical_json, sha256_of_text
from suite.files.json_file import read_as, write_json

SCHEMA = 2
FIRST_SCHEMA = 1
"""Of records without a stamp over the files."""
ADDED = {SCHEMA: ("files", "files_stamp", "asked_again")}

MAX_HEADS = 4096
MAX_FILES = 4096
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


@dataclass(frozen=True)
class WitnessAnswer:
    """What came of one question to the witness. Times are on CLOCK_MONOTONIC of the harness's
    machine, those of the last attempt.

    ``digest`` is what the witness was asked to sign. ``token`` is the signed statement; None with a
    ``reason`` where there is none.
    """

    digest: str
    asked_ns: Whole
    answered_ns: Whole
    attempts: Whole
    token: Mapping[str, Any] | None
    reason: str | None


@dataclass(frozen=True)
class WitnessRecord:
    """The file: the witness's address, the receipt asked for before the run, the stamp asked for
    after it, and the one asked for at the closing.

    ``heads`` are the last chain values of all ranks' logs, ``files`` the SHA-256 digests of the
    bundle's other files by name, as they were stamped. A run that did not finish has no stamps.
    ``asked_again`` is why the closing got no stamp over the files, where `suite finish` asked
    again.
    """

    schema: int
    address: str
    receipt: WitnessAnswer
    heads: Annotated[tuple[str, ...], Meta(max_length=MAX_HEADS)]
    stamp: WitnessAnswer | None
    files: Annotated[Mapping[str, str], Meta(max_length=MAX_FILES)] = field(default_factory=dict)
    files_stamp: WitnessAnswer | None = None
    asked_again: str | None = None

    def write(self, directory: Path) -> None:
        """Write the file into a run directory."""
        write_json(directory / WITNESS, asdict(self))


def receipt_digest(run_id: str, request: Mapping[str, Any], nonce: Mapping[str, Any] | None) -> str:
    """What the receipt is over: the run's id, its request and its nonce as run.json records
    them."""
    request_sha256 = sha256_of_text(canonical_json(dict(request)))
    return _digest("receipt", run_id, request_sha256=request_sha256, nonce=nonce)


def stamp_digest(run_id: str, heads: Sequence[str], receipt: Mapping[str, Any] | None) -> str:
    """What the stamp is over: the run's id, the heads of all ranks' logs, and the receipt."""
    return _digest("stamp", run_id, heads=list(heads), receipt=receipt)


def files_digest(
    run_id: str,
    files: Mapping[str, str],
    receipt: Mapping[str, Any] | None,
    stamp: Mapping[str, Any] | None,
) -> str:
    """What the stamp of the closing is over: the run's id, the digests of the bundle's files by
    name, the receipt and the first stamp."""
    return _digest("files", run_id, files=dict(files), receipt=receipt, stamp=stamp)


def _digest(what: str, run_id: str, **values: Any) -> str:
    return sha256_of_text(canonical_json({"what": what, "run_id": run_id, **values}))


def read_witness_record(directory: Path) -> WitnessRecord | None:
    """The record of a run directory; None if the run asked no witness. Raises FileError for a
    malformed file."""
    path = directory / WITNESS
    if not path.exists() and not path.is_symlink():
        return None
    return read_as(path, WitnessRecord, FIRST_SCHEMA, SCHEMA, added=ADDED)
