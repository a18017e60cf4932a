"""Runs meters beside a run and writes what they read, as it goes. Nothing that a meter does can stop the run."""
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from reference_impls.contract import monotonic_ns
from suite.bundle import READINGS_RAW
from suite.measure.meter import Meter, Reading, Subject

COLUMNS = "t_ns,source,channel,value,unit\n"
MOST_FAILURES = 3
FLUSH_S = 1.0
STOP_S = 10.0


@dataclass(frozen=True)
class MeterRecord:
    """What became of a meter: ``reason`` says why nothing was read, ``cost_s`` is the CPU time that its reading took."""

    name: str
    period_s: float
    available: bool
    reason: str | None
    readings: int
    failures: int
    last_error: str | None
    cost_s: float
    achieved_period_s: float | None
    longest_gap_s: float | None


@dataclass
class _Running:
    """A meter at work: when it is due next, and what it has done so far."""

    meter: Meter
    due_s: float
    moments_s: list[float] = field(default_factory=list)
    readings: int = 0
    failures: int = 0
    in_a_row: int = 0
    cost_s: float = 0.0
    last_error: str | None = None
    reason: str | None = None

    @property
    def is_open(self) -> bool:
        """Still read."""
        return self.reason is None

    def record(self) -> MeterRecord:
        """The final account."""
        gaps = [after - before for before, after in zip(self.moments_s, self.moments_s[1:], strict=False)]
        return MeterRecord(
            self.meter.name,
            self.meter.period_s,
            self.readings > 0,
            self.reason,
            self.readings,
            self.failures,
            self.last_error,
            self.cost_s,
            median(gaps) if gaps else None,
            max(gaps) if gaps else None,
        )


class Recorder:
    """One thread that reads every meter on its own period and appends to ``readings.csv`` in the run directory."""

    def __init__(self, meters: Sequence[Meter], directory: Path) -> None:
        self._running = [_Running(meter, 0.0) for meter in meters]
        self._path = directory / READINGS_RAW
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._write_error: str | None = None

    def start(self, subject: Subject) -> None:
        """Open the meters and begin to read."""
        for running in self._running:
            self._open(running, subject)
        self._thread = threading.Thread(target=self._record, name="recorder", daemon=True)
        self._thread.start()

    def stop(self) -> tuple[MeterRecord, ...]:
        """End the reading and account for every meter; a meter that hangs is left behind."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)
        return tuple(running.record() for running in self._running)

    def _open(self, running: _Running, subject: Subject) -> None:
        try:
            availability = running.meter.availability()
            if availability.available:
                running.meter.open(subject)
            else:
                running.reason = availability.reason
        except Exception as error:  # noqa: BLE001 - a meter must never stop a run
            running.reason = f"could not be opened: {type(error).__name__}: {error}"

    def _record(self) -> None:
        try:
            with self._path.open("w", encoding="utf-8") as stream:
                stream.write(COLUMNS)
                flushed_s = time.monotonic()
                while not self._stop.wait(self._wait_s()):
                    for reading in self._due(time.monotonic()):
                        stream.write(f"{reading.t_ns},{reading.source},{reading.channel},{float(reading.value)!r},{reading.unit}\n")
                    if time.monotonic() - flushed_s >= FLUSH_S:
                        stream.flush()
                        flushed_s = time.monotonic()
        except OSError as error:  # a full disk, say: the run goes on without readings
            self._give_up(f"readings could not be written: {error.strerror}")
        for running in self._running:
            self._close(running)

    def _wait_s(self) -> float:
        due_s = [running.due_s for running in self._running if running.is_open]
        return max(0.0, min(due_s) - time.monotonic()) if due_s else 3600.0

    def _due(self, now_s: float) -> list[Reading]:
        read: list[Reading] = []
        for running in self._running:
            if running.is_open and running.due_s <= now_s:
                read += self._read(running)
                # The next point of the meter's own grid: a late reading shifts no later one and none is caught up with.
                periods = max(1, int((time.monotonic() - running.due_s) // running.meter.period_s) + 1)
                running.due_s = running.due_s + periods * running.meter.period_s if running.due_s else now_s + running.meter.period_s
        return read

    def _read(self, running: _Running) -> list[Reading]:
        began_s = time.thread_time()
        try:
            readings = [reading for reading in running.meter.read(monotonic_ns()) if reading.value == reading.value]
            running.in_a_row = 0
            running.readings += len(readings)
            running.moments_s.append(time.monotonic())
            return readings
        except Exception as error:  # noqa: BLE001 - a meter must never stop a run
            running.failures, running.in_a_row = running.failures + 1, running.in_a_row + 1
            running.last_error = f"{type(error).__name__}: {error}"
            if running.in_a_row >= MOST_FAILURES:
                running.reason = f"closed after {MOST_FAILURES} failures in a row: {running.last_error}"
                self._close(running)
            return []
        finally:
            running.cost_s += time.thread_time() - began_s

    def _give_up(self, reason: str) -> None:
        for running in self._running:
            running.reason = running.reason or reason

    def _close(self, running: _Running) -> None:
        try:
            running.meter.close()
        except Exception as error:  # noqa: BLE001 - a meter must never stop a run
            running.last_error = f"closing: {type(error).__name__}: {error}"
