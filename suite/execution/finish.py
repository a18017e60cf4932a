"""Closes runs that were left unclosed: killed, cut off by a power failure or a full disk, interrupted, or failed."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from suite import __version__
from suite.bundle.layout import RUN, SCHEMA
from suite.bundle.reader import Bundle, RunRecord
from suite.errors import FileError, SuiteError
from suite.execution.closing import RECORDER, close_bundle, disk_errors, has_leftovers, remove_leftovers, training_ended
from suite.execution.meter_session import MeterRecord
from suite.execution.run_lock import RunLock
from suite.files.json_file import write_json

COMMAND = "suite finish"
CUT_OFF = "the run was cut off in training: it was killed, or its machine was"
NO_METER_RECORD = "the record of this meter was lost with the run's process; its readings are counted from the table"


@dataclass(frozen=True)
class FinishedRun:
    """A closed run: its ``status`` as in run.json, its finished ``epochs``, and whether it ``was_closed`` before; ``reason`` says why it was not."""

    path: Path
    status: str
    epochs: int
    was_closed: bool
    reason: str


def finish(path: Path) -> FinishedRun:
    """Close the run in this directory.

    A run whose training ended on all ranks is closed as finished, one that was cut off in training as interrupted; failed and interrupted runs
    keep their status. run.json says that it was closed later, and why. Raises SuiteError for a run that still runs, for a directory without a
    run, and when the bundle cannot be written. Repeatable: a closed run stays as it is.
    """
    bundle = Bundle(path)
    if not (path / RUN).is_file():
        raise SuiteError(f"{path} is no run directory (it has no {RUN}): nothing was trained there. Give the path that `suite run` printed.")
    if bundle.is_sealed and not has_leftovers(path):
        return FinishedRun(path, bundle.run().status, _epochs(bundle), True, "")
    with disk_errors(path, f"Free some space, then: {COMMAND} {path}"), RunLock(path) as lock:
        if bundle.is_sealed:
            remove_leftovers(path)
            return FinishedRun(path, bundle.run().status, _epochs(bundle), True, "")
        record = _ended(bundle)
        lock.write(partial(write_json, path / RUN, record))
        close_bundle(path)
    assert record.closed_later is not None
    return FinishedRun(path, record.status, _epochs(bundle), False, str(record.closed_later["reason"]))


def _ended(bundle: Bundle) -> RunRecord:
    """The run's record with the status that it ends with."""
    record = bundle.run()
    if record.schema != SCHEMA:
        raise SuiteError(f"{bundle.path} was recorded by version {record.suite_version} of the suite; close it with that version.")
    if record.status == "running" and training_ended(bundle.path):
        reason = "the run's process ended after the training and before it wrote its record; the implementation's exit code is unknown"
        return _closed(replace(record, status="finished", meters=_counted_meters(bundle)), reason)
    if record.status == "running":
        return _closed(replace(record, status="interrupted", message=CUT_OFF, meters=_counted_meters(bundle)), CUT_OFF)
    if record.status == "finished":
        return _closed(record, "the closing of the bundle was cut off")
    return _closed(record, f"the run {'failed' if record.status == 'failed' else 'was interrupted'}")


def _closed(record: RunRecord, reason: str) -> RunRecord:
    later = {"by": COMMAND, "suite_version": __version__, "time_ms": int(time.time() * 1000), "reason": reason}
    return replace(record, closed_later=record.closed_later or later)


def _counted_meters(bundle: Bundle) -> tuple[Mapping[str, Any], ...]:
    """A record of every meter that wrote readings, made from the readings."""
    channels = bundle.channels()
    records = []
    for source in dict.fromkeys(channel.source for channel in channels):
        of_source = channels.of(source)
        period_s = min((channel.period_s for channel in of_source if channel.period_s is not None), default=0.0)
        count = sum(map(len, of_source))
        records.append(MeterRecord(source, period_s, True, NO_METER_RECORD, readings=count, achieved_period_s=period_s or None))
    records.append(MeterRecord(RECORDER, 0.0, True, NO_METER_RECORD, readings=len(channels), failures=1, last_error="it was killed with the run"))
    return tuple(asdict(each) for each in records)


def _epochs(bundle: Bundle) -> int:
    try:
        return len(bundle.log().finished_epochs())
    except FileError:
        return 0
