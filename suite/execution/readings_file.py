"""``readings.csv``: appended to during a run, so that a killed run keeps its readings."""

import csv
import io
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from suite.meters.meter import Reading

COLUMNS = ("t_ns", "source", "channel", "value", "unit")


class ReadingsFile:
    """Appends readings from :meth:`open` to :meth:`close`, each with the next :meth:`flush`; the
    file never ends in an incomplete line.

    The first write that fails (a full disk) is the last one; ``failure`` is then the error message.
    Nothing is raised. What another thread adds after the end is not written.
    """

    def __init__(self, path: Path) -> None:
        self.failure: str | None = None
        self.written = 0
        self._path = path
        self._handle: int | None = None
        self._size = self._buffered = 0
        self._buffer = io.StringIO(newline="")
        self._rows = csv.writer(self._buffer, lineterminator="\n")
        self._lock = threading.RLock()

    def open(self) -> None:
        """Make the file, with its columns."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        try:
            self._handle = os.open(self._path, flags, 0o644)
        except OSError as error:
            self._fail(error)
        self._rows.writerow(COLUMNS)
        self.flush()

    def add(self, readings: Sequence[Reading]) -> None:
        """Add readings, which the next flush writes; floats are written so that they read back
        exactly."""
        with self._lock:
            if self._handle is not None:
                self._rows.writerows(
                    (each.t_ns, each.source, each.channel, float(each.value), each.unit)
                    for each in readings
                )
                self._buffered += len(readings)

    def flush(self) -> None:
        """Write all added readings (write(2), no fsync)."""
        with self._lock:
            data = self._buffer.getvalue().encode()
            self._buffer.seek(0)
            self._buffer.truncate()
            rows, self._buffered = self._buffered, 0
            if self._handle is None or not data:
                return
            try:
                _write_all(self._handle, data)
            except OSError as error:
                self._fail(error)
                return
            self._size += len(data)
            self.written += rows

    def close(self) -> None:
        """Flush and close."""
        with self._lock:
            self.flush()
            handle, self._handle = self._handle, None
            if handle is not None:
                os.close(handle)

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


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
