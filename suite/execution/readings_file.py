"""``readings.csv``: appended to as a run goes, so that a killed run keeps what was read."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from suite.meters.meter import Reading

COLUMNS = ("t_ns", "source", "channel", "value", "unit")


class ReadingsFile:
    """Appends readings and hands them to the kernel at every :meth:`flush`; the file never ends in half a line of ours.

    The first write that fails (a full disk) ends the writing for good and its sentence stays in ``failure``: nothing is raised.
    """

    def __init__(self, path: Path) -> None:
        self.failure: str | None = None
        self.written = 0
        self._path = path
        self._handle: int | None = None
        self._size = 0
        self._buffer = io.StringIO(newline="")
        self._rows = csv.writer(self._buffer, lineterminator="\n")
        self._buffered = 0
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            self._fail(error)
        self._rows.writerow(COLUMNS)
        self.flush()

    def add(self, readings: Sequence[Reading]) -> None:
        """Take readings, their values so that they read back exactly; they are written at the next flush."""
        if self._handle is not None:
            self._rows.writerows((each.t_ns, each.source, each.channel, float(each.value), each.unit) for each in readings)
            self._buffered += len(readings)

    def flush(self) -> None:
        """Hand everything taken so far to the kernel."""
        data = self._buffer.getvalue().encode()
        self._buffer.seek(0)
        self._buffer.truncate()
        rows, self._buffered = self._buffered, 0
        if self._handle is None or not data:
            return
        try:
            self._write(data)
        except OSError as error:
            self._fail(error)
            return
        self._size += len(data)
        self.written += rows

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _write(self, data: bytes) -> None:
        handle, view = self._handle, memoryview(data)
        assert handle is not None
        while view:
            view = view[os.write(handle, view) :]

    def _fail(self, error: OSError) -> None:
        """Keep what the kernel already has whole, cut off the rest and write no more."""
        self.failure = f"{self._path} cannot be written ({error.strerror}): the readings after this moment are lost"
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            os.ftruncate(handle, self._size)
        except OSError:
            pass  # a device or pipe has no length; the reader leaves out half a line
        finally:
            os.close(handle)
