"""Reads an implementation's log: MLPerf lines, with our hash chain and monotonic clock. Every problem has its true line number."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reference_impls.contract import FIRST_LINK, TOKEN, link, unchained

MAX_LOG_BYTES = 256 * 2**20
MAX_LINE_BYTES = 2**20


@dataclass(frozen=True)
class Event:
    """One line of the log. ``mono_ns`` is the monotonic clock, None in logs of other producers."""

    line: int
    time_ms: float
    event_type: str
    key: str
    value: Any
    metadata: Mapping[str, Any]

    @property
    def mono_ns(self) -> int | None:
        """Monotonic time stamp in nanoseconds."""
        value = self.metadata.get("mono_ns")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def epoch(self) -> int | None:
        """The epoch this event belongs to (1, 2, ...)."""
        value = self.metadata.get("epoch_num")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class LogProblem:
    """Why a line cannot be read or trusted; ``chain`` tells a broken chain from an unreadable line."""

    line: int
    what: str
    chain: bool = False


@dataclass(frozen=True)
class Log:
    """A rank's log: the events that could be read, in file order, and the problems met on the way."""

    path: Path
    events: tuple[Event, ...]
    problems: tuple[LogProblem, ...]

    def all(self, key: str) -> tuple[Event, ...]:
        """Every event with this key, in file order."""
        return tuple(event for event in self.events if event.key == key)

    def first(self, key: str) -> Event | None:
        """The first event with this key."""
        return next((event for event in self.events if event.key == key), None)

    def value(self, key: str) -> Any:
        """The first event's value, None when the key was never logged."""
        event = self.first(key)
        return None if event is None else event.value

    def finished_epochs(self) -> tuple[int, ...]:
        """Epochs whose ``epoch_stop`` was logged: their steps are complete on the storage medium."""
        return tuple(event.epoch for event in self.all("epoch_stop") if event.epoch is not None)


def read_log(path: Path) -> Log:
    """Read a log that may be hostile, cut off or another producer's; never raises for content, only OSError for the file.

    Lines without the MLPerf token are other output and are passed over. A missing chain is a problem of the first line only.
    """
    events: list[Event] = []
    problems: list[LogProblem] = []
    if path.stat().st_size > MAX_LOG_BYTES:
        return Log(path, (), (LogProblem(1, f"the log is larger than {MAX_LOG_BYTES} bytes"),))
    chain: str | None = FIRST_LINK
    for number, text in _lines(path):
        start = text.find(TOKEN)
        if start < 0:
            continue
        event, problem = _parse(number, text[start:])
        if event is not None:
            events.append(event)
        if problem is not None:
            problems.append(problem)
        chain = _follow(chain, number, text[start:], problems)
    return Log(path, tuple(events), tuple(problems))


def parse_line(number: int, text: str) -> Event | None:
    """The event on a line of the log, None when there is none or it cannot be read."""
    start = text.find(TOKEN)
    return _parse(number, text[start:])[0] if start >= 0 else None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES):
            number += 1
            yield number, raw.decode("utf-8", errors="replace").rstrip("\r\n")


def _parse(number: int, text: str) -> tuple[Event | None, LogProblem | None]:
    try:
        record = json.loads(text[len(TOKEN) :])
    except (ValueError, RecursionError):
        return None, LogProblem(number, "the line is not valid JSON after the token (cut off or edited)")
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return None, LogProblem(number, "the line has no event key")
    time_ms, metadata = record.get("time_ms"), record.get("metadata")
    if isinstance(time_ms, bool) or not isinstance(time_ms, int | float):
        return None, LogProblem(number, f"event {record['key']!r} has no time_ms")
    if metadata is not None and not isinstance(metadata, dict):
        return None, LogProblem(number, f"event {record['key']!r} has metadata that is not an object")
    return Event(number, time_ms, str(record.get("event_type")), record["key"], record.get("value"), metadata or {}), None


def _follow(chain: str | None, number: int, text: str, problems: list[LogProblem]) -> str | None:
    """Check one link; returns the value to go on from. A break is reported once: the next line is judged by what is written."""
    plain, written = unchained(text)
    if chain is None:
        return None
    if written is None:
        problems.append(LogProblem(number, "the line carries no chain value", chain=True))
        return None
    if link(chain, plain) != written:
        problems.append(LogProblem(number, "the chain is broken: this line or one before it was changed, dropped or moved", chain=True))
    return written
