"""``readings.csv``: appended to during a run, so that a killed run keeps its readings."""

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path

from suite.meters.meter import Reading

COLUMNS = ("t_ns", "source", "channel", "value", "unit")


class ReadingsFile:
    """Appends readings, which :meth:`flush` writes; the file never ends in an incomplete line.

    The first write that fails (a full disk) is the last one; ``failure`` is then the error message.
    Nothing is raised.
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
            self._handle = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644
            )
        except OSError as error:
            self._fail(error)
        self._rows.writerow(COLUMNS)
        self.flush()

    def add(self, readings: Sequence[Reading]) -> None:
        """Add readings, which the next flush writes; floats are written so that they read back
        exactly."""
        if self._handle is not None:
            self._rows.writerows(
                (each.t_ns, each.source, each.channel, float(each.value), each.unit)
                for each in readings
            )
            self._buffered += len(readings)

    def flush(self) -> None:
        """Write all added readings (write(2), no fsync)."""
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
        """Truncate the file to the last complete write and stop writing."""
        self.failure = (
            f"{self._path} cannot be written ({error.strerror}): the readings after this moment are"
            " lost"
        )
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            os.ftruncate(handle, self._size)
        except OSError:
            pass  # a device or pipe cannot be truncated; readers ignore an incomplete line
        finally:
            os.close(handle)
