"""A run's progress, read from the log while the implementation writes it, without any work in the
measured process."""

from dataclasses import dataclass
from pathlib import Path

from suite.bundle.log import LogEvent, parse_line


class LogFollower:
    """Reads the events that are appended to a log; an incomplete line is read with the next
    call."""

    def __init__(self, path: Path) -> None:
        self._path, self._position, self._line = path, 0, 0

    def new_events(self) -> list[LogEvent]:
        """Events logged since the last call; none while the file does not exist."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._position)
                added = stream.read()
        except FileNotFoundError:
            return []
        whole = added[: added.rfind(b"\n") + 1]
        self._position += len(whole)
        return [event for event in map(self._parse, whole.splitlines()) if event is not None]

    def _parse(self, raw: bytes) -> LogEvent | None:
        self._line += 1
        return parse_line(self._line, raw.decode("utf-8", errors="replace"))


@dataclass
class EpochEstimate:
    """Estimates the longest time that is left; the run ends earlier when the target is reached."""

    epochs: int
    started_ns: int | None = None
    done: int = 0
    last_ns: int | None = None

    def event(self, event: LogEvent) -> None:
        """Update the estimate at the run's start and after every epoch or evaluation."""
        if event.key == "run_start":
            self.started_ns = event.mono_ns
        if event.key in ("epoch_stop", "eval_stop") and event.epoch is not None:
            self.done, self.last_ns = event.epoch, event.mono_ns

    def left_s(self) -> float | None:
        """Seconds left at most, from the mean of the epochs so far; None before the first one."""
        if not self.done or self.started_ns is None or self.last_ns is None:
            return None
        return (self.last_ns - self.started_ns) * 1e-9 / self.done * (self.epochs - self.done)
