"""Runs the meters of one run: one thread of the harness process, each meter on its own period.

Nothing a meter does can stop a run: what fails, blocks or cannot be written is recorded, and the training goes on.
"""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reference_impls.contract import NS_PER_S
from suite.bundle.layout import READINGS_RAW
from suite.execution.clock import Clock, SystemClock
from suite.execution.meter_session import MeterRecord, MeterSession
from suite.execution.readings_file import ReadingsFile
from suite.meters.meter import Meter, MeteredProcess, Reading, WithHelper, is_number
from suite.meters.schedule import Schedule

__all__ = ["MeterRecord", "Recorder"]

OWN_NAME = "recorder"
FAILURES_IN_A_ROW = 3
REST_S = 10.0
FLUSH_S = 1.0
PATIENCE_S = 5.0


class Recorder:
    """Reads meters from :meth:`start` to :meth:`stop` and appends what they read to ``file_name`` in ``directory``.

    A meter is opened, read and closed by the recorder's thread only. One that raises three times in a row rests for ten seconds before
    it is asked again: a sensor may come back, and a dead one costs next to nothing. One that blocks delays the others; the gaps show
    in every record. ``patience_s`` is how long :meth:`stop` waits for it.
    """

    def __init__(
        self,
        meters: Sequence[Meter],
        directory: Path,
        clock: Clock | None = None,
        patience_s: float = PATIENCE_S,
        file_name: str = READINGS_RAW,
    ) -> None:
        self._clock = clock or SystemClock()
        self._patience_s = patience_s
        self._path = directory / file_name
        self._tracks = {meter.name: MeterSession(meter) for meter in meters}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._file: ReadingsFile | None = None
        self._file_lock = threading.Lock()
        self._busy_with: str | None = None
        self._own_error: str | None = None
        self._cost_s = 0.0
        self._asked: deque[str] = deque()

    def start(self, subject: MeteredProcess) -> None:
        """Begin to read; returns at once."""
        self._file = ReadingsFile(self._path)
        self._thread = threading.Thread(target=self._run, args=(subject,), name=OWN_NAME, daemon=True)
        self._thread.start()

    def ask(self, name: str) -> None:
        """Have a meter read once besides its turns, when the recorder's thread comes round (within its shortest period); returns at once."""
        self._asked.append(name)

    def stop(self) -> tuple[MeterRecord, ...]:
        """Read once more, close everything, and say what became of each meter, then of the recorder itself.

        Nothing is written afterwards, not even by a meter that is stuck.
        """
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(self._patience_s)
            if self._thread.is_alive() and self._busy_with in self._tracks:
                self._tracks[self._busy_with].failed(f"did not come back within {self._patience_s:g} s when the run had ended; it was left behind")
        with self._file_lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()
        stopped_ns = self._clock.now_ns()
        return (*(track.record(stopped_ns) for track in self._tracks.values()), self._own_record(file))

    def _own_record(self, file: ReadingsFile | None) -> MeterRecord:
        error = self._own_error or (file.failure if file is not None else None)
        written = file.written if file is not None else 0
        return MeterRecord(OWN_NAME, FLUSH_S, True, "", readings=written, failures=int(error is not None), last_error=error, cost_s=self._cost_s)

    def _run(self, subject: MeteredProcess) -> None:
        try:
            for track in self._tracks.values():
                self._open(track, subject)
            self._read_until_stopped()
            for track in self._opened():
                self._read(track)
            for track in self._opened():
                self._close(track)
        except Exception as error:  # noqa: BLE001 - whatever it is, the run goes on and the record says so
            self._own_error = f"{type(error).__name__}: {error}"
        self._cost_s = self._clock.thread_cpu_s()

    def _read_until_stopped(self) -> None:
        clock = self._clock
        periods_s = {track.meter.name: track.meter.period_s for track in self._opened()}
        schedule = Schedule({**periods_s, OWN_NAME: FLUSH_S}, clock.now_ns())
        while True:
            self._read_asked()
            name, due_ns = schedule.next()
            if clock.wait(self._stopping, max(0, due_ns - clock.now_ns()) / NS_PER_S):
                return
            if name == OWN_NAME:
                self._flush()
            elif self._tracks[name].rests_until_ns <= due_ns:
                self._read(self._tracks[name])
            schedule.taken(name, clock.now_ns())

    def _read_asked(self) -> None:
        while self._asked:
            track = self._tracks.get(self._asked.popleft())
            if track is not None and track.is_open:
                self._read(track)

    def _opened(self) -> list[MeterSession]:
        return [track for track in self._tracks.values() if track.is_open]

    def _open(self, track: MeterSession, subject: MeteredProcess) -> None:
        began_ns = self._clock.now_ns()
        with self._guard(track):
            track.availability = track.meter.availability()
            if track.availability.available:
                track.meter.open(subject)
                track.is_open, track.opened_ns = True, began_ns

    def _read(self, track: MeterSession) -> None:
        with self._guard(track):
            readings = [reading for reading in track.meter.read() if is_number(reading.value)]
            self._keep(readings)
            track.took(readings)
        if track.failures_in_a_row >= FAILURES_IN_A_ROW:
            track.rests_until_ns = self._clock.now_ns() + round(REST_S * NS_PER_S)

    def _close(self, track: MeterSession) -> None:
        track.is_open = False
        with self._guard(track):
            track.meter.close()
            if isinstance(track.meter, WithHelper):
                track.cost_s += track.meter.helper_cost_s()

    @contextmanager
    def _guard(self, track: MeterSession) -> Iterator[None]:
        """Whatever a meter does in here is counted: its CPU time, and what it raises."""
        began_s = self._clock.thread_cpu_s()
        self._busy_with = track.meter.name
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a meter may fail in any way, and none may end the run
            track.failed(f"{type(error).__name__}: {error}")
        finally:
            self._busy_with = None
            track.cost_s += self._clock.thread_cpu_s() - began_s

    def _keep(self, readings: Sequence[Reading]) -> None:
        with self._file_lock:
            if self._file is not None:
                self._file.add(readings)

    def _flush(self) -> None:
        with self._file_lock:
            if self._file is not None:
                self._file.flush()
