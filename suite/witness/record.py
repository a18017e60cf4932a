"""``witness.json``: what a run asked of a witness, at its start and at its end, and the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from suite.errors import FileError
from suite.files.canonical import canonical_json, sha256_of_text
from suite.files.json_file import read_record, write_json

NAME = "witness.json"
SCHEMA = 1
MAX_HEADS = 4096


@dataclass(frozen=True)
class Answer:
    """What came of one question to the witness. Times are on CLOCK_MONOTONIC of the harness's machine, those of the last attempt.

    ``digest`` is what the witness was asked to sign. ``token`` is the signed statement; None with a ``reason`` where there is none.
    """

    digest: str
    asked_ns: int
    answered_ns: int
    attempts: int
    token: Mapping[str, Any] | None
    reason: str | None


@dataclass(frozen=True)
class WitnessRecord:
    """The file: the witness's address, the receipt asked for before the run, and the stamp asked for after it.

    ``heads`` are the last chain values of all ranks' logs. A run that did not finish has neither heads nor stamp.
    """

    schema: int
    address: str
    receipt: Answer
    heads: tuple[str, ...]
    stamp: Answer | None

    def write(self, directory: Path) -> None:
        """Write the file into a run directory."""
        write_json(directory / NAME, asdict(self))


def receipt_digest(run_id: str, request: Mapping[str, Any], nonce: Mapping[str, Any] | None) -> str:
    """What the receipt is over: the run's id, its request and its nonce as run.json records them."""
    values = {"what": "receipt", "run_id": run_id, "request_sha256": sha256_of_text(canonical_json(dict(request))), "nonce": nonce}
    return sha256_of_text(canonical_json(values))


def stamp_digest(run_id: str, heads: Sequence[str], receipt: Mapping[str, Any] | None) -> str:
    """What the stamp is over: the run's id, the heads of all ranks' logs, and the receipt."""
    return sha256_of_text(canonical_json({"what": "stamp", "run_id": run_id, "heads": list(heads), "receipt": receipt}))


def read_witness_record(directory: Path) -> WitnessRecord | None:
    """The record of a run directory; None if the run asked no witness. Raises FileError for a malformed file."""
    path = directory / NAME
    if not path.exists() and not path.is_symlink():
        return None
    values = read_record(path, SCHEMA)
    try:
        return _record(values)
    except (TypeError, ValueError, KeyError) as error:
        raise FileError(path, f"is no record of a witness ({str(error)[:200]})") from error


def _record(values: dict[str, Any]) -> WitnessRecord:
    if set(values) != {each.name for each in fields(WitnessRecord)}:
        raise ValueError(f"its keys must be {', '.join(each.name for each in fields(WitnessRecord))}")
    heads = values["heads"]
    if (
        not isinstance(values["address"], str)
        or not isinstance(heads, list)
        or len(heads) > MAX_HEADS
        or not all(isinstance(each, str) for each in heads)
    ):
        raise ValueError("address must be text and heads a list of texts")
    return WitnessRecord(
        SCHEMA, values["address"], _answer(values["receipt"]), tuple(heads), None if values["stamp"] is None else _answer(values["stamp"])
    )


def _answer(values: Any) -> Answer:
    read = Answer(**values)
    whole = (read.asked_ns, read.answered_ns, read.attempts)
    if not all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 for value in whole):
        raise ValueError("asked_ns, answered_ns and attempts must be whole numbers")
    if not isinstance(read.digest, str) or not isinstance(read.reason, str | None) or not isinstance(read.token, dict | None):
        raise ValueError("digest must be text, reason text or null, token an object or null")
    return read
