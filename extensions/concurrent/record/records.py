"""The raw records of one measurement, in a folder of its own: every figure is computed from these
files.

``measurement.json``
    what was measured: arrivals, batches, schedule, and when it began and ended (:class:`Setting`)
``batches.csv``
    one row per batch, ns from the start (:class:`BatchRow`)
``noticed.csv``
    when each image was really there, ns from the start; its intended arrival follows from the
    setting
``trace.csv``
    the trace's arrivals, where there is one
``training/step_times.csv``
    one row per training step: start and end, monotonic ns, and samples
``training/`` and ``inference/``
    each side's request and output
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reference_impls.turns.messages import COLUMNS, STEP_TIMES
from suite.errors import FileError
from suite.extensions.concurrent.record.arrivals import (
    NS_PER_S,
    ArrivalKind,
    Arrivals,
    Times,
    intended_ns,
    of_trace,
)
from suite.extensions.concurrent.record.batching import BatchRule
from suite.extensions.concurrent.record.layout import MEASUREMENT
from suite.files.json_file import read_record, write_json
from suite.files.schema import from_plain

SCHEMA = 1
BATCHES, NOTICED, TRACE, TRAINING, INFERENCE = (
    "batches.csv",
    "noticed.csv",
    "trace.csv",
    "training",
    "inference",
)
MAX_DIGITS = 18
"""Of a time in ns: thirty years."""
MAX_ROWS = 10_000_000
"""Of a table: training steps of four hours at 600 a second. Images are fewer, see Arrivals."""
MAX_BYTES = 50 * MAX_ROWS
MAX_DURATION_S = 30 * 86400.0


class BatchRow(NamedTuple):
    """One batch of inference, times in ns from the start of the measurement."""

    batch: int
    first: int
    """Number of its first image; the others follow it."""
    images: int
    asked_ns: int
    """It was complete and inference was idle: from here on the schedule decides when it runs."""
    sent_ns: int
    start_ns: int
    """The worker's clock right before the copy to the device."""
    end_ns: int
    """The worker's clock when the device had finished."""


@dataclass(frozen=True)
class Setting:
    """What one measurement is. ``start_ns`` is the monotonic clock at its start; ``window_ns`` its
    length, and ``end_ns`` when the queue was left.

    ``infers`` and ``trains`` say who took part: a baseline has one of them. ``generator_nice`` is
    the priority that the generator really had.
    """

    infers: str | None
    trains: str | None
    kind: str
    rate_per_s: float
    duration_s: float
    seed: int
    batch: int
    deadline_s: float | None
    schedule: str
    threads_infer: int
    threads_train: int
    start_ns: int
    window_ns: int
    end_ns: int
    generator_nice: int
    schema: int = SCHEMA

    @property
    def rule(self) -> BatchRule:
        """How images make up batches."""
        return BatchRule(
            self.batch, None if self.deadline_s is None else round(self.deadline_s * 1e9)
        )


@dataclass(frozen=True)
class Recording:
    """One measurement, read back. ``intended_ns`` and ``noticed_ns`` are per image, ``batches``
    (rows, columns of BatchRow), ``steps`` (rows, start, end and samples), all int64; times from the
    start of the measurement. Without inference or training, their arrays are empty."""

    setting: Setting
    intended_ns: Times
    noticed_ns: Times
    batches: Any
    steps: Any

    def column(self, name: str) -> Times:
        """A column of the batches."""
        return self.batches[:, BatchRow._fields.index(name)]


def write_recording(
    folder: Path,
    setting: Setting,
    rows: Sequence[BatchRow],
    noticed_ns: Iterable[int],
    trace_s: Iterable[float] = (),
) -> None:
    """Write a measurement's files; the training process has written its own."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / MEASUREMENT, setting)
    _write(folder / BATCHES, BatchRow._fields, rows)
    _write(folder / NOTICED, ("noticed_ns",), ((time,) for time in noticed_ns))
    if setting.kind == ArrivalKind.TRACE.value:
        _write(folder / TRACE, ("arrival_s",), ((repr(time),) for time in trace_s))


def read_recording(folder: Path) -> Recording:
    """Read a measurement. Raises FileError, with the file and the line, for records that contradict
    their form or each other."""
    path = folder / MEASUREMENT
    setting = from_plain(read_record(path, SCHEMA), Setting, f"{path}: ")
    _refuse_setting(path, setting)
    steps = folder / TRAINING / STEP_TIMES
    steps_found = _read(steps, COLUMNS) if setting.trains is not None else _nothing(len(COLUMNS))
    steps_found[:, :2] -= setting.start_ns
    if setting.infers is None:
        return Recording(
            setting,
            _nothing(1)[:, 0],
            _nothing(1)[:, 0],
            _nothing(len(BatchRow._fields)),
            steps_found,
        )
    intended = intended_ns(_arrivals(folder, setting))
    noticed = _read(folder / NOTICED, ("noticed_ns",))[:, 0]
    found = Recording(
        setting, intended, noticed, _read(folder / BATCHES, BatchRow._fields), steps_found
    )
    _refuse_contradictions(folder, found)
    return found


def _refuse_setting(path: Path, setting: Setting) -> None:
    if setting.batch < 1 or not 0 <= setting.start_ns < 10**MAX_DIGITS:
        raise FileError(
            path,
            f"has a batch of {setting.batch} and a start at {setting.start_ns} ns; one of them is"
            " impossible",
        )
    if not 0 < setting.duration_s < MAX_DURATION_S or setting.window_ns != round(
        setting.duration_s * NS_PER_S
    ):
        raise FileError(
            path,
            f"has a duration of {setting.duration_s:g} s and a window of {setting.window_ns} ns, "
            f"which must be equal, above 0 and below {MAX_DURATION_S / 86400:g} days",
        )


def _arrivals(folder: Path, setting: Setting) -> Arrivals:
    if setting.kind == ArrivalKind.TRACE.value:
        _refuse_foreign(folder / TRACE)
        return of_trace(folder / TRACE, setting.duration_s)
    try:
        kind = ArrivalKind(setting.kind)
    except ValueError:
        raise FileError(
            folder / MEASUREMENT,
            f"has arrivals of the kind {setting.kind[:40]!r}, which is unknown",
        ) from None
    return Arrivals(kind, setting.rate_per_s, setting.duration_s, setting.seed)


def _refuse_contradictions(folder: Path, found: Recording) -> None:
    intended, noticed, batches = found.intended_ns, found.noticed_ns, found.batches
    if len(noticed) > len(intended):
        raise FileError(
            folder / NOTICED,
            f"has {len(noticed)} images, but according to the setting only {len(intended)} arrive",
        )
    early = np.flatnonzero(noticed < intended[: len(noticed)])
    if len(early):
        raise FileError(
            folder / NOTICED,
            f"line {early[0] + 2}: the image was noticed before its intended arrival at"
            f" {intended[early[0]]} ns",
        )
    counts, ends = found.column("images"), np.cumsum(found.column("images"))
    size = found.setting.batch
    names = [
        (
            "does not begin with the image that follows the previous batch's last image",
            found.column("first") != ends - counts,
        ),
        ("has no images, or more than the batch size", (counts < 1) | (counts > size)),
        (
            "was sent before its last image had arrived",
            _before_noticed(found.column("sent_ns"), ends, noticed),
        ),
        (
            "has times that are not in the order asked, sent, start, end",
            (np.diff(batches[:, BatchRow._fields.index("asked_ns") :], axis=1) < 0).any(axis=1),
        ),
        (
            "starts before its predecessor ended",
            np.concatenate(([False], found.column("start_ns")[1:] < found.column("end_ns")[:-1])),
        ),
    ]
    for what, wrong in names:
        if wrong.any():
            line = np.flatnonzero(wrong)[0] + 2
            raise FileError(folder / BATCHES, f"line {line}: the batch {what}")


def _before_noticed(sent_ns: Times, ends: Times, noticed_ns: Times) -> Any:
    unknown = ends > len(noticed_ns)
    last = (
        noticed_ns[np.minimum(ends, len(noticed_ns)) - 1]
        if len(noticed_ns)
        else np.zeros(len(ends), np.int64)
    )
    return unknown | (sent_ns < last)


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="ascii", newline="") as stream:
        stream.write(",".join(names) + "\n")
        stream.writelines(",".join(map(str, row)) + "\n" for row in rows)


def _read(path: Path, names: Sequence[str]) -> Any:
    """The rows of a CSV file of whole numbers, (rows, columns) int64. A last row that a killed
    process cut off is left out."""
    _refuse_foreign(path)
    try:
        with path.open(encoding="ascii", newline="") as stream:
            numbers = array(
                "q", (number for row in _integer_rows(path, stream, names) for number in row)
            )
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, f"cannot be read ({error})") from error
    return np.array(numbers, np.int64).reshape(-1, len(names))


def _refuse_foreign(path: Path) -> None:
    """Raise FileError for a link, what is no file, and a file larger than any measurement's."""
    if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    if path.stat().st_size > MAX_BYTES:
        raise FileError(path, f"is larger than {MAX_BYTES} bytes")


def _integer_rows(path: Path, stream: Iterable[str], names: Sequence[str]) -> Iterator[list[int]]:
    for number, line in enumerate(stream, 1):
        values = line.rstrip("\r\n").split(",")
        if number == 1:
            if values != list(names):
                raise FileError(
                    path, f"begins with {line[:80]!r}; expected the columns {','.join(names)}"
                )
            continue
        if not line.endswith("\n"):
            return
        if len(values) != len(names) or not all(
            value.isdecimal() and len(value) <= MAX_DIGITS for value in values
        ):
            raise FileError(
                path, f"line {number}: expected {len(names)} whole numbers, found {line[:80]!r}"
            )
        if number > MAX_ROWS + 1:
            raise FileError(path, f"has more than {MAX_ROWS:,} rows")
        yield list(map(int, values))


def _nothing(columns: int) -> Any:
    return np.zeros((0, columns), np.int64)
