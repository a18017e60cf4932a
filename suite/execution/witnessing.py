"""Asks a run's witness at its start, at its end and as its bundle is closed, outside what is timed.

The witness's address is kept beside the run directory, whose files do not say it, until the witness
has stamped the closed bundle.
"""

from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path

from reference_impls import contract
from suite.bundle.layout import WITNESS
from suite.bundle.log import chain_head
from suite.bundle.manifest import evidence_digests
from suite.bundle.reader import Bundle
from suite.errors import FileError, SuiteError
from suite.execution.request import RunRequest
from suite.execution.run_records import RunRecords
from suite.files.json_file import read_json, write_json
from suite.witness.client import check_address, request_signature
from suite.witness.record import (
    SCHEMA,
    WitnessRecord,
    files_digest,
    read_witness_record,
    receipt_digest,
    stamp_digest,
)


def ask_receipt(request: RunRequest, records: RunRecords) -> WitnessRecord | None:
    """Show the witness the request as run.json records it, before the implementation starts; None
    if no witness was named."""
    forget_witness(records.path)
    if request.witness is None:
        return None
    nonce = None if request.nonce is None else asdict(request.nonce)
    digest = receipt_digest(request.run_id, records.request_values(request.training), nonce)
    record = WitnessRecord(
        SCHEMA, request.witness, request_signature(request.witness, digest), (), None
    )
    keep_witness_address(records.path, record.address)
    records.write_witness(record)
    return record


def ask_stamp(request: RunRequest, record: WitnessRecord, records: RunRecords) -> None:
    """Show the witness the heads of all ranks' logs, after the implementation has ended."""
    ranks = range(request.ranks)
    heads = tuple(chain_head(records.path / contract.log_name(rank)) or "" for rank in ranks)
    stamp = request_signature(
        record.address, stamp_digest(request.run_id, heads, record.receipt.token)
    )
    records.write_witness(replace(record, heads=heads, stamp=stamp))


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
        address = _kept_address(directory, record.address)
        check_address(address)
    except SuiteError:  # nobody's witness.json ends a closing
        return None
    files = evidence_digests(directory, leftovers)
    if has_files_stamp(record) and record.files == files:
        return None
    first = None if record.stamp is None else record.stamp.token
    digest = files_digest(run.run_id, files, record.receipt.token, first)
    return replace(record, files=files, files_stamp=request_signature(address, digest))


def has_files_stamp(record: WitnessRecord) -> bool:
    """The witness has answered at the closing."""
    return record.files_stamp is not None and record.files_stamp.token is not None


def keep_witness_address(directory: Path, address: str) -> None:
    """Keep the address where `suite finish` finds it."""
    write_json(_address_file(directory), {"address": address})


def forget_witness(directory: Path) -> None:
    """Remove the kept address."""
    _address_file(directory).unlink(missing_ok=True)


def _kept_address(directory: Path, recorded: str) -> str:
    """The address that was kept; without one, what the record says."""
    try:
        return str(read_json(_address_file(directory))["address"])
    except (FileError, KeyError):
        return recorded


def _address_file(directory: Path) -> Path:
    whole = directory.resolve()  # ``.`` has no name, and a link another one
    return whole.with_name(f"{whole.name}.{WITNESS}")
