"""Edits of what a witness saw: records whose signatures fit, made with a key of this process."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from reference_impls.contract import log_name
from suite.bundle.layout import MANIFEST, WITNESS
from suite.bundle.log import chain_head
from suite.bundle.manifest import evidence_digests, seal
from suite.bundle.reader import Bundle
from suite.witness.record import (
    SCHEMA,
    WitnessAnswer,
    WitnessRecord,
    files_digest,
    receipt_digest,
    stamp_digest,
)
from suite.witness.statement import Statement
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit
from tests.faults.edits.keys import signing_key
from tests.faults.edits.log_edits import scale_run_time
from tests.faults.edits.table_edits import PARTS

BEFORE_S, AFTER_S, CLOSED_AFTER_S, LATENCY_NS = 2.0, 0.5, 3.0, 20_000_000
"""From the receipt to init_start, from run_stop to the stamp, from there to the stamp over the
files, and how long each question takes."""
UNIX_S = 1.8e9


Change = Callable[[WitnessRecord], WitnessRecord]


@edit
def witnessed(
    run: Path,
    shorter_s: float = 0.0,
    before_s: float = BEFORE_S,
    after_s: float = AFTER_S,
    closed_after_s: float = CLOSED_AFTER_S,
    change: Change = lambda record: record,
) -> None:
    """Add the record of a witness whose clock ran for ``shorter_s`` less than this machine's
    between receipt and stamp.

    ``change`` edits the record before it is written; the manifest fits.
    """
    record = change(make_record(run, shorter_s, before_s, after_s, closed_after_s))
    record.write(run)
    (run / MANIFEST).unlink()
    seal(run)


def make_record(
    run: Path,
    shorter_s: float = 0.0,
    before_s: float = BEFORE_S,
    after_s: float = AFTER_S,
    closed_after_s: float = CLOSED_AFTER_S,
) -> WitnessRecord:
    """A record that fits the bundle, receipt and stamps signed by a key of this process."""
    bundle = Bundle(run)
    values, log = bundle.run(), bundle.log()
    start, stop = (
        event.mono_ns or 0 for event in (log.all("init_start")[0], log.all("run_stop")[-1])
    )
    received_ns, asked_ns = start - round(before_s * 1e9), stop + round(after_s * 1e9)
    request = bundle.json("run.json")["request"]
    receipt = _answer(
        receipt_digest(values.run_id, request, values.nonce), received_ns - LATENCY_NS, UNIX_S, 1
    )
    heads = tuple(
        chain_head(run / log_name(rank)) or "" for rank in range(int(request["parallel"]["ranks"]))
    )
    elapsed_s = (asked_ns - received_ns) * 1e-9 - shorter_s
    stamp = _answer(
        stamp_digest(values.run_id, heads, receipt.token), asked_ns, UNIX_S + elapsed_s + 2e-3, 2
    )
    files, closed_ns = evidence_digests(run), asked_ns + round(closed_after_s * 1e9)
    over_files = files_digest(values.run_id, files, receipt.token, stamp.token)
    files_stamp = _answer(over_files, closed_ns, UNIX_S + elapsed_s + closed_after_s + 4e-3, 3)
    return WitnessRecord(
        SCHEMA, "http://witness.example:8731", receipt, heads, stamp, files, files_stamp
    )


def _answer(digest: str, asked_ns: int, time_s: float, serial: int) -> WitnessAnswer:
    token = Statement("lab", serial, time_s, digest, "0" * 64).token(signing_key())
    return WitnessAnswer(digest, asked_ns, asked_ns + LATENCY_NS, 1, token, None)


def without_stamp(record: WitnessRecord) -> WitnessRecord:
    """A witness that did not answer at the end, nor at the closing."""
    assert record.stamp is not None
    return without_files_stamp(replace(record, stamp=_unanswered(record.stamp)))


def without_files_stamp(record: WitnessRecord) -> WitnessRecord:
    """A witness that did not answer at the closing."""
    assert record.files_stamp is not None
    return replace(record, files_stamp=_unanswered(record.files_stamp))


def _unanswered(answer: WitnessAnswer) -> WitnessAnswer:
    return replace(
        answer, token=None, attempts=3, reason="no answer in 3 attempts: ConnectionRefusedError"
    )


def stamp_of_log_for_files(record: WitnessRecord) -> WitnessRecord:
    """The stamp over the log in the place of the one over the files."""
    assert record.stamp is not None and record.files_stamp is not None
    return replace(record, files_stamp=replace(record.files_stamp, token=record.stamp.token))


def with_token(**values: Any) -> Change:
    """Set fields of the stamp's token."""

    def change(record: WitnessRecord) -> WitnessRecord:
        assert record.stamp is not None and record.stamp.token is not None
        return replace(record, stamp=replace(record.stamp, token={**record.stamp.token, **values}))

    return change


def slower_answers(by_s: float) -> Change:
    """Let the stamp's answer have taken longer."""

    def change(record: WitnessRecord) -> WitnessRecord:
        assert record.stamp is not None
        return replace(
            record,
            stamp=replace(record.stamp, answered_ns=record.stamp.answered_ns + round(by_s * 1e9)),
        )

    return change


def exchanged(record: WitnessRecord) -> WitnessRecord:
    """Exchange the tokens of receipt and stamp."""
    assert record.stamp is not None
    return replace(
        record,
        receipt=replace(record.receipt, token=record.stamp.token),
        stamp=replace(record.stamp, token=record.receipt.token),
    )


@edit
def edited_after(run: Path, change: Callable[[Path], object]) -> None:
    """Witness the run, then apply a change."""
    witnessed()(run)
    change(run)


@edit
def edited_and_heads_fitted(run: Path, change: Callable[[Path], object]) -> None:
    """Witness the run, apply a change, and write the new head into the witness's record; the
    signature is over the old one."""
    witnessed()(run)
    change(run)
    _set_record(
        run,
        "heads",
        [chain_head(run / log_name(rank)) for rank in range(len(_values(run)["heads"]))],
    )


@edit
def edited_and_digests_fitted(run: Path, change: Callable[[Path], object]) -> None:
    """Witness the run, apply a change, and write the new digests into the witness's record; the
    signature is over the old ones."""
    witnessed()(run)
    change(run)
    _set_record(run, "files", evidence_digests(run))


def _values(run: Path) -> Any:
    """The witness's record as plain values."""
    return json.loads((run / WITNESS).read_text(encoding="utf-8"))


def _set_record(run: Path, key: str, value: Any) -> None:
    """Set a key of the witness's record; the manifest fits."""
    (run / WITNESS).write_text(json.dumps({**_values(run), key: value}), encoding="utf-8")
    (run / MANIFEST).unlink()
    seal(run)


@edit
def make_shorter(bundle: EditableBundle, factor: float) -> None:
    """Multiply every time of the run by a factor, in log, steps and readings, all counted from
    run_start."""
    start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
    scale_run_time(wall=factor, monotonic=factor)(bundle)
    bundle.steps[list(PARTS)] *= factor
    for table, column in ((bundle.steps, "start_ns"), (bundle.readings, "t_ns")):
        table[column] = start_ns + ((table[column] - start_ns) * factor).astype("int64")
