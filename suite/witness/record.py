"""``witness.json``: what a run asked of a witness, at its start, at its end and as its bundle was
closed, and the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from suite.bundle.layout import WITNESS
from suite.errors import FileError
from suite.files.canonical import canonical_json, sha256_of_text
from suite.files.json_file import read_json, read_record, write_json

SCHEMA = 2
FIRST_SCHEMA = 1
"""Of records without a stamp over the files."""

MAX_HEADS = 4096
MAX_FILES = 4096


@dataclass(frozen=True)
class Answer:
    """What came of one question to the witness. Times are on CLOCK_MONOTONIC of the harness's
    machine, those of the last attempt.

    ``digest`` is what the witness was asked to sign. ``token`` is the signed statement; None with a
    ``reason`` where there is none.
    """

    digest: str
    asked_ns: int
    answered_ns: int
    attempts: int
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
    receipt: Answer
    heads: tuple[str, ...]
    stamp: Answer | None
    files: Mapping[str, str] = field(default_factory=dict)
    files_stamp: Answer | None = None
    asked_again: str | None = None

    def write(self, directory: Path) -> None:
        """Write the file into a run directory."""
        write_json(directory / WITNESS, asdict(self))


def receipt_digest(run_id: str, request: Mapping[str, Any], nonce: Mapping[str, Any] | None) -> str:
    """What the receipt is over: the run's id, its request and its nonce as run.json records
    them."""
    values = {
        "what": "receipt",
        "run_id": run_id,
        "request_sha256": sha256_of_text(canonical_json(dict(request))),
        "nonce": nonce,
    }
    return sha256_of_text(canonical_json(values))


def stamp_digest(run_id: str, heads: Sequence[str], receipt: Mapping[str, Any] | None) -> str:
    """What the stamp is over: the run's id, the heads of all ranks' logs, and the receipt."""
    return sha256_of_text(
        canonical_json(
            {"what": "stamp", "run_id": run_id, "heads": list(heads), "receipt": receipt}
        )
    )


def files_digest(
    run_id: str,
    files: Mapping[str, str],
    receipt: Mapping[str, Any] | None,
    stamp: Mapping[str, Any] | None,
) -> str:
    """What the stamp of the closing is over: the run's id, the digests of the bundle's files by
    name, the receipt and the first stamp."""
    values = {
        "what": "files",
        "run_id": run_id,
        "files": dict(files),
        "receipt": receipt,
        "stamp": stamp,
    }
    return sha256_of_text(canonical_json(values))


def read_witness_record(directory: Path) -> WitnessRecord | None:
    """The record of a run directory; None if the run asked no witness. Raises FileError for a
    malformed file."""
    path = directory / WITNESS
    if not path.exists() and not path.is_symlink():
        return None
    is_first = (
        not path.is_symlink() and path.is_file() and read_json(path).get("schema") == FIRST_SCHEMA
    )
    values = read_record(path, FIRST_SCHEMA if is_first else SCHEMA)
    try:
        return _record({**_UNSTAMPED, **values} if is_first else values)
    except (TypeError, ValueError, KeyError) as error:
        raise FileError(path, f"is no record of a witness ({str(error)[:200]})") from error


_UNSTAMPED: Mapping[str, Any] = {"files": {}, "files_stamp": None, "asked_again": None}


def _record(values: dict[str, Any]) -> WitnessRecord:
    if set(values) != {each.name for each in fields(WitnessRecord)}:
        raise ValueError(
            f"its keys must be {', '.join(each.name for each in fields(WitnessRecord))}"
        )
    heads, files = values["heads"], values["files"]
    if (
        not isinstance(values["address"], str)
        or not isinstance(heads, list)
        or len(heads) > MAX_HEADS
        or not all(isinstance(each, str) for each in heads)
    ):
        raise ValueError("address must be text and heads a list of texts")
    if (
        not isinstance(files, dict)
        or len(files) > MAX_FILES
        or not all(isinstance(each, str) for each in files.values())
    ):
        raise ValueError("files must be an object of texts")
    if not isinstance(values["asked_again"], str | None):
        raise ValueError("asked_again must be text or null")
    stamp, files_stamp = (
        None if values[name] is None else _answer(values[name]) for name in ("stamp", "files_stamp")
    )
    named = (values["schema"], values["address"], _answer(values["receipt"]), tuple(heads), stamp)
    return WitnessRecord(*named, files, files_stamp, values["asked_again"])


def _answer(values: Any) -> Answer:
    read = Answer(**values)
    whole = (read.asked_ns, read.answered_ns, read.attempts)
    if not all(
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        for value in whole
    ):
        raise ValueError("asked_ns, answered_ns and attempts must be whole numbers")
    if (
        not isinstance(read.digest, str)
        or not isinstance(read.reason, str | None)
        or not isinstance(read.token, dict | None)
    ):
        raise ValueError("digest must be text, reason text or null, token an object or null")
    return read
