"""Asks a run's witness at its start, at its end and as its bundle is closed, outside what is
timed."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from reference_impls import contract
from suite.bundle.log import chain_head
from suite.bundle.manifest import evidence_digests
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.execution.redacting import kept_redactor, redacted_witness, witness_address
from suite.execution.request import RunRequest
from suite.witness.client import ask, check_address
from suite.witness.record import (
    SCHEMA,
    WitnessRecord,
    files_digest,
    read_witness_record,
    receipt_digest,
    stamp_digest,
)


def ask_receipt(request: RunRequest, recorded: Mapping[str, Any]) -> WitnessRecord | None:
    """Show the witness the request as run.json records it, before the implementation starts; None
    if no witness was named."""
    if request.witness is None:
        return None
    nonce = None if request.nonce is None else asdict(request.nonce)
    digest = receipt_digest(request.run_id, recorded, nonce)
    return WitnessRecord(SCHEMA, request.witness, ask(request.witness, digest), (), None)


def ask_stamp(request: RunRequest, record: WitnessRecord, directory: Path) -> WitnessRecord:
    """Show the witness the heads of all ranks' logs, after the implementation has ended."""
    logs = [directory / contract.log_name(rank) for rank in range(request.training.parallel.ranks)]
    heads = tuple(chain_head(path) or "" for path in logs)
    return replace(
        record,
        heads=heads,
        stamp=ask(record.address, stamp_digest(request.run_id, heads, record.receipt.token)),
    )


def ask_files_stamp(directory: Path, leftovers: Collection[Path]) -> WitnessRecord | None:
    """Show the witness the digests of the files of a finished run's bundle, and return the record
    with its answer.

    None where there is nothing to ask: no witness, a run that did not finish, a record that cannot
    be read, or one with a stamp over these files.
    """
    try:
        record, run = read_witness_record(directory), Bundle(directory).run()
        if record is None or record.schema != SCHEMA or run.status != "finished":
            return None
        address = witness_address(directory, record.address)
        check_address(address)
    except SuiteError:  # nobody's witness.json ends a closing
        return None
    files = evidence_digests(directory, leftovers)
    if has_files_stamp(record) and record.files == files:
        return None
    digest = files_digest(
        run.run_id,
        files,
        record.receipt.token,
        None if record.stamp is None else record.stamp.token,
    )
    stamped = replace(record, files=files, files_stamp=ask(address, digest))
    return (
        redacted_witness(stamped, kept_redactor(directory))
        if address != record.address
        else stamped
    )


def has_files_stamp(record: WitnessRecord) -> bool:
    """The witness has answered at the closing."""
    return record.files_stamp is not None and record.files_stamp.token is not None
