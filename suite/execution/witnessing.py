"""Asks a run's witness at its start and at its end, outside what is timed, and writes the answers into the run directory."""

from dataclasses import asdict, replace
from pathlib import Path

from reference_impls import contract
from suite.bundle.log import chain_head
from suite.execution.request import RunRequest
from suite.witness.client import ask
from suite.witness.record import SCHEMA, WitnessRecord, receipt_digest, stamp_digest


def ask_receipt(request: RunRequest) -> WitnessRecord | None:
    """Show the witness the request, before the implementation starts; None if no witness was named."""
    if request.witness is None:
        return None
    nonce = None if request.nonce is None else asdict(request.nonce)
    digest = receipt_digest(request.run_id, contract.request_to_dict(request.training), nonce)
    return WitnessRecord(SCHEMA, request.witness, ask(request.witness, digest), (), None)


def ask_stamp(request: RunRequest, record: WitnessRecord, directory: Path) -> WitnessRecord:
    """Show the witness the heads of all ranks' logs, after the implementation has ended."""
    logs = [directory / contract.log_name(rank) for rank in range(request.training.parallel.ranks)]
    heads = tuple(chain_head(path) or "" for path in logs)
    return replace(record, heads=heads, stamp=ask(record.address, stamp_digest(request.run_id, heads, record.receipt.token)))
