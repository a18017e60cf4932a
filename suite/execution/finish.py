"""Closes runs that were left unclosed: killed, cut off by a power failure or a full disk,
interrupted, or failed."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from suite import __version__
from suite.bundle.layout import MANIFEST, RUN, SCHEMA
from suite.bundle.manifest import file_digests
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import FileError, SuiteError
from suite.execution.closing import (
    close_bundle,
    disk_errors,
    leftovers,
    remove_leftovers,
    training_ended,
    write_manifest,
)
from suite.execution.meter_session import RECORDER, MeterRecord
from suite.execution.run_directory import RunLock
from suite.execution.run_records import kept_records
from suite.execution.witnessing import ask_files_stamp, forget_witness, has_files_stamp
from suite.files.json_file import write_json
from suite.witness.record import read_witness_record

COMMAND = "suite finish"
CUT_OFF = "the run was cut off in training: it was killed, or its machine went down"
NOT_RECORDED = (
    "the run's process ended after the training and before it wrote its record; the"
    " implementation's exit code is unknown"
)
REASONS = {"finished": "sealing the bundle was interrupted", "failed": "the run failed"}
NO_METER_RECORD = (
    "the run's process ended before it wrote this meter's record; the number of readings"
    " is the number of rows in the table of readings"
)


@dataclass(frozen=True)
class FinishedRun:
    """A closed run: its ``status`` as in run.json, its finished ``epochs``, and whether it
    ``was_closed`` before.

    ``reason`` says why it was not closed; of one that was, what its witness answered now, if it was
    asked.
    """

    path: Path
    status: str
    epochs: int
    was_closed: bool
    reason: str


def finish(path: Path) -> FinishedRun:
    """Close the run in this directory.

    A run whose training ended on all ranks is closed as finished, one that was cut off in training
    as interrupted; failed and interrupted runs keep their status. run.json says that it was closed
    later, and why. Raises SuiteError for a run that still runs, for a directory without a run, and
    when the bundle cannot be written. Repeatable: a closed run stays as it is, but for a witness's
    stamp that its closing did not get.
    """
    bundle = Bundle(path)
    bundle.expect_run()
    if not bundle.is_sealed or leftovers(path):
        with disk_errors(path, f"Free some space, then: {COMMAND} {path}"), RunLock(path) as lock:
            if not bundle.is_sealed:
                return _close(bundle, lock)
            remove_leftovers(path)
    return FinishedRun(
        path, bundle.run().status, bundle.finished_epochs(), True, _ask_witness_again(path)
    )


def _close(bundle: Bundle, lock: RunLock) -> FinishedRun:
    """Close the bundle of a run that was left unclosed."""
    record = _ended(bundle)
    lock.write(partial(write_json, bundle.path / RUN, record))
    close_bundle(bundle.path)
    assert record.closed_later is not None
    return FinishedRun(
        bundle.path,
        record.status,
        bundle.finished_epochs(),
        False,
        str(record.closed_later["reason"]),
    )


def _ask_witness_again(path: Path) -> str:
    """Ask for a stamp over the files that the closing did not get, and seal the bundle with it;
    returns what came of it ("": nothing was asked)."""
    try:
        before = read_witness_record(path)
    except FileError:
        return ""
    if before is None or before.files_stamp is None or has_files_stamp(before):
        return ""
    if [f"{digest}  {name}" for name, digest in file_digests(path).items()] != Bundle(
        path
    ).manifest():
        return (
            "the run's files differ from its manifest, so the witness was not asked to stamp them"
        )
    record = ask_files_stamp(path, ())
    if record is None or record.files_stamp is None:
        return ""
    if not has_files_stamp(record):
        return f"the witness did not stamp the run's files ({record.files_stamp.reason})"
    with disk_errors(path, f"Free some space, then: {COMMAND} {path}"), RunLock(path):
        (path / MANIFEST).unlink()  # until it is sealed again, `suite finish` closes it
        again = replace(record, asked_again=before.files_stamp.reason)
        kept_records(path).write_witness(again)
        write_manifest(path)
        remove_leftovers(path)
    forget_witness(path)
    return "the witness has now stamped the run's files"


def _ended(bundle: Bundle) -> RunRecord:
    """The run's record with the status that it ends with."""
    record = bundle.run()
    if record.schema != SCHEMA:
        raise SuiteError(
            f"{bundle.path} was recorded by version {record.suite_version} of the suite; run"
            " `suite finish` of that version."
        )
    reason = REASONS.get(record.status, "the run was interrupted")
    if record.status == "running":
        has_ended = training_ended(bundle.path)
        reason = NOT_RECORDED if has_ended else CUT_OFF
        record = replace(
            record,
            status="finished" if has_ended else "interrupted",
            message=None if has_ended else CUT_OFF,
            meters=_counted_meters(bundle),
        )
    later = {
        "by": COMMAND,
        "suite_version": __version__,
        "time_ms": int(time.time() * 1000),
        "reason": reason,
    }
    return replace(record, closed_later=record.closed_later or later)


def _counted_meters(bundle: Bundle) -> tuple[Mapping[str, Any], ...]:
    """A record of every meter that wrote readings, made from the readings."""
    channels = bundle.channels()
    records = []
    for source in dict.fromkeys(channel.source for channel in channels):
        of_source = channels.of_source(source)
        periods_s = [each.period_s for each in of_source if each.period_s is not None]
        period_s = min(periods_s, default=0.0)
        records.append(
            MeterRecord(
                source,
                period_s,
                True,
                NO_METER_RECORD,
                readings=sum(map(len, of_source)),
                achieved_period_s=period_s or None,
            )
        )
    records.append(
        MeterRecord(
            RECORDER,
            0.0,
            True,
            NO_METER_RECORD,
            readings=len(channels),
            failures=1,
            last_error="the recorder was killed with the run",
        )
    )
    return tuple(asdict(each) for each in records)
