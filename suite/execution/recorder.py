"""Reads the meters of a run on their periods, in one thread of the harness process.

Nothing that a meter does can stop a run: failures, blocking calls and failed writes are recorded,
and the training continues.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reference_impls.contract import NS_PER_S
from suite.bundle.layout import READINGS_RAW
from suite.execution.edge_watch import EdgeWatch
from suite.execution.meter_session import RECORDER, MeterRecord, MeterSession
from suite.execution.readings_file import ReadingsFile
from suite.meters.meter import (
    Meter,
    MeteredProcess,
    Moments,
    WithHelper,
    WithSettings,
    is_number,
    is_read_at_edges,
    moments_of,
    opens_first,
)
from suite.meters.schedule import ReadingSchedule

__all__ = ["RECORDER", "MeterRecord", "Recorder"]

MAX_FAILURES_IN_A_ROW = 3
RETRY_S = 10.0
FLUSH_S = 1.0
STOP_TIMEOUT_S = 5.0
ATTACH_TIMEOUT_S = 4.0
"""Less than a rank waits for a reply to its first heartbeat (reference_impls.rank)."""


class Clock:
    """The kernel's clocks; a test's are scripted."""

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC, ns."""
        return time.monotonic_ns()

    def thread_cpu_s(self) -> float:
        """CPU time of the calling thread, s."""
        return time.thread_time()

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait for the event, at most ``timeout_s``; True when it is set."""
        return event.wait(timeout_s)


class Recorder:
    """Reads meters from :meth:`start` to :meth:`stop` and appends what they read to ``file_name``
    in ``directory``.

    Only the recorder's thread opens, reads and closes a meter. A meter that raises three times in a
    row is read again after ten seconds: a sensor may come back, and a dead one costs next to
    nothing. One that blocks delays the others; the gaps show in every record. ``stop_timeout_s`` is
    how long :meth:`stop` waits for it.

    Meters with ``at_edges`` are also read as soon as rank 0 writes the beginning or end of a phase
    into ``directory`` (EdgeWatch).
    """

    def __init__(
        self,
        meters: Sequence[Meter],
        directory: Path,
        clock: Clock | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
        file_name: str = READINGS_RAW,
    ) -> None:
        self._clock = clock or Clock()
        self._stop_timeout_s = stop_timeout_s
        self._file = ReadingsFile(directory / file_name)
        self._sessions = {meter.name: MeterSession(meter) for meter in meters}
        self._wake, self._attached = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._active: MeterSession | None = None
        self._error: str | None = None
        self._cost_s = self._edges_cost_s = 0.0
        self._extra_reads: list[str] = []
        self._is_stopping = False
        self._extra_lock = threading.Lock()
        self._edges = EdgeWatch(directory, self._at_edge)

    def start(self, process: MeteredProcess) -> None:
        """Start reading; returns at once. The process may wait at its gate until
        :meth:`wait_until_attached` has returned."""
        self._file.open()
        self._thread = threading.Thread(
            target=self._run, args=(process,), name=RECORDER, daemon=True
        )
        if any(is_read_at_edges(session.meter) for session in self._sessions.values()):
            self._edges.start()
        self._thread.start()

    def wait_until_attached(self, timeout_s: float = ATTACH_TIMEOUT_S) -> None:
        """Return when every meter with ``opens_first`` is attached to the process, or has failed
        to; one that takes longer is recorded as late."""
        if not self._attached.wait(timeout_s) and (late := self._active) is not None:
            late.count_failure(
                f"was not attached within {timeout_s:g} s; the implementation was started without"
                " it"
            )

    def read_soon(self, name: str) -> None:
        """Read a meter once between its scheduled readings, within the shortest period of all
        meters; returns at once."""
        with self._extra_lock:
            self._extra_reads.append(name)

    def _at_edge(self) -> None:
        """Read the meters that are read at edges, now."""
        with self._extra_lock:
            names = [
                name
                for name, session in self._sessions.items()
                if is_read_at_edges(session.meter) and name not in self._extra_reads
            ]
            self._extra_reads[:0] = names
            self._wake.set()

    def _take_extra(self) -> list[str]:
        """The names of the meters to read between their turns; the recorder sleeps again unless it
        is stopping."""
        with self._extra_lock:
            names, self._extra_reads = self._extra_reads, []
            if not self._is_stopping:
                self._wake.clear()
            return names

    def stop(self) -> tuple[MeterRecord, ...]:
        """Read once more and close every meter; returns each meter's record, then the recorder's
        own.

        Nothing is written afterwards, not even by a meter that still blocks.
        """
        self._edges_cost_s = self._edges.stop()
        with self._extra_lock:
            self._is_stopping = True
            self._wake.set()
        if self._thread is not None:
            self._thread.join(self._stop_timeout_s)
            if self._thread.is_alive() and (blocked := self._active) is not None:
                blocked.count_failure(
                    f"its last call did not return within {self._stop_timeout_s:g} s after the"
                    " end of the run, so its thread was abandoned"
                )
        self._file.close()
        stopped_ns = self._clock.now_ns()
        return (
            *(session.record(stopped_ns) for session in self._sessions.values()),
            self._own_record(),
        )

    def _own_record(self) -> MeterRecord:
        error = self._error or self._file.failure
        return MeterRecord(
            RECORDER,
            FLUSH_S,
            True,
            "",
            readings=self._file.written,
            failures=int(error is not None),
            last_error=error,
            cost_s=self._cost_s + self._edges_cost_s,
        )

    def _run(self, process: MeteredProcess) -> None:
        try:
            self._open_all(process)
            self._read_until_stopped()
            for session in self._opened():
                self._read(session)
            for session in self._opened():
                self._close(session)
        except Exception as error:  # noqa: BLE001 - any error is recorded; the run continues
            self._error = f"{type(error).__name__}: {error}"
            self._attached.set()
        self._cost_s = self._clock.thread_cpu_s()

    def _open_all(self, process: MeteredProcess) -> None:
        """Open every meter; suite.meters.registry puts those first that the process waits for."""
        for session in self._sessions.values():
            if not opens_first(session.meter):
                self._attached.set()
            self._open(session, process)
        self._attached.set()

    def _read_until_stopped(self) -> None:
        clock = self._clock
        periods_s = {session.meter.name: session.meter.period_s for session in self._opened()}
        # a meter with a background thread draws its moments there
        at_random = [
            session.meter.name
            for session in self._opened()
            if moments_of(session.meter) is Moments.RANDOM
            and not isinstance(session.meter, WithHelper)
        ]
        schedule = ReadingSchedule({**periods_s, RECORDER: FLUSH_S}, clock.now_ns(), at_random)
        is_woken = False
        while True:
            extra = self._take_extra()
            if is_woken and not extra:  # woken for nothing else: the end of the run
                return
            for name in extra:
                session = self._sessions.get(name)
                if session is not None and session.is_open:
                    self._read(session)
            name, due_ns = schedule.next_due()
            is_woken = clock.wait(self._wake, max(0, due_ns - clock.now_ns()) / NS_PER_S)
            if is_woken:
                continue
            if name == RECORDER:
                self._file.flush()
            elif self._sessions[name].retry_after_ns <= due_ns:
                self._read(self._sessions[name])
            schedule.mark_read(name, clock.now_ns())

    def _opened(self) -> list[MeterSession]:
        return [session for session in self._sessions.values() if session.is_open]

    def _open(self, session: MeterSession, process: MeteredProcess) -> None:
        began_ns = self._clock.now_ns()
        with self._guard(session):
            session.availability = session.meter.availability()
            if session.availability.available:
                session.meter.open(process)
                session.is_open, session.opened_ns = True, began_ns
                if isinstance(session.meter, WithSettings):
                    session.settings = dict(session.meter.settings())

    def _read(self, session: MeterSession) -> None:
        with self._guard(session):
            readings = [reading for reading in session.meter.read() if is_number(reading.value)]
            self._file.add(readings)
            session.count_readings(readings)
        if session.failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
            session.retry_after_ns = self._clock.now_ns() + round(RETRY_S * NS_PER_S)

    def _close(self, session: MeterSession) -> None:
        session.is_open = False
        with self._guard(session):
            session.meter.close()
            if isinstance(session.meter, WithHelper):
                session.cost_s += session.meter.helper_cost_s()

    @contextmanager
    def _guard(self, session: MeterSession) -> Iterator[None]:
        """Count the CPU time that a call of the meter takes, and an exception as a failure."""
        began_s = self._clock.thread_cpu_s()
        self._active = session
        try:
            yield
        except Exception as error:  # noqa: BLE001 - no meter may end the run, whatever it raises
            session.count_failure(f"{type(error).__name__}: {error}")
        finally:
            self._active = None
            session.cost_s += self._clock.thread_cpu_s() - began_s


@contextmanager
def recording(recorder: Recorder, process: MeteredProcess) -> Iterator[None]:
    """Record while the block runs."""
    recorder.start(process)
    try:
        yield
    finally:
        recorder.stop()
