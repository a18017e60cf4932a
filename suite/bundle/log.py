"""Reads an implementation's log: MLPerf lines with a hash chain and a monotonic clock. Problems
carry their line number.

Logs of other producers can be read, too: with a launcher's rank before the line, CR LF line ends,
other output in between, events in any order, no chain, no monotonic clock. Logs are untrusted and
may be truncated anywhere: malformed content becomes a problem, never an exception.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from reference_impls.contract import FIRST_LINK, TOKEN, link, unchained
from suite.files.json_file import strict_json

MAX_LOG_BYTES = 32 * 2**20
MAX_LINE_BYTES = 2**20
MAX_EVENTS = 50_000
MAX_VALUES = 1_000_000
"""In all events together: a list of three bytes takes 64 in memory."""
MAX_PROBLEMS = 100
MAX_TIME_MS = 2.0**53
_TRUNCATED_TOKENS = tuple(TOKEN[:length] for length in range(len(":::"), len(TOKEN)))


@dataclass(frozen=True)
class LogEvent:
    """One event of the log. ``mono_ns`` is CLOCK_MONOTONIC; None in logs of other producers."""

    line: int
    time_ms: float
    event_type: str
    key: str
    value: Any
    metadata: Mapping[str, Any]
    namespace: str | None = None

    @cached_property
    def mono_ns(self) -> int | None:
        """Time stamp on the monotonic clock, ns."""
        return _int64(self.metadata.get("mono_ns"))

    @cached_property
    def epoch(self) -> int | None:
        """The epoch this event belongs to (1, 2, ...)."""
        return _int64(self.metadata.get("epoch_num"))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _int64(value: Any) -> int | None:
    """The value if it is an integer of 64 bits, else None."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        else None
    )


@dataclass(frozen=True)
class LogProblem:
    """Why a line cannot be read or trusted. ``chain``: the hash chain is broken; otherwise the line
    is malformed."""

    line: int
    what: str
    chain: bool = False


@dataclass(frozen=True)
class Log:
    """A rank's log: its readable events and its problems, in file order."""

    path: Path
    events: tuple[LogEvent, ...]
    problems: tuple[LogProblem, ...]

    @cached_property
    def _by_key(self) -> Mapping[str, tuple[LogEvent, ...]]:
        found: dict[str, list[LogEvent]] = {}
        for event in self.events:
            found.setdefault(event.key, []).append(event)
        return {key: tuple(events) for key, events in found.items()}

    @cached_property
    def span_ns(self) -> tuple[int, int] | None:
        """First and last monotonic time, ns; None without any."""
        times_ns = [event.mono_ns for event in self.events if event.mono_ns is not None]
        return (min(times_ns), max(times_ns)) if times_ns else None

    def all(self, key: str) -> tuple[LogEvent, ...]:
        """All events with this key, in file order."""
        return self._by_key.get(key, ())

    def first(self, key: str) -> LogEvent | None:
        """The first event with this key, or None."""
        return next(iter(self.all(key)), None)

    def value(self, key: str) -> Any:
        """The value of the first event with this key; None if there is none."""
        event = self.first(key)
        return None if event is None else event.value

    @property
    def trained_parameters(self) -> int | None:
        """How many parameters are trained, whose gradients the ranks exchange: those of the part
        that is trained, where it is not the whole model; None where the log does not say."""
        part = self.value("trained")
        found = part.get("parameters") if isinstance(part, dict) else self.value("parameters")
        return found if type(found) is int else None

    def window(self, start_key: str, stop_key: str) -> tuple[int, int] | None:
        """From the first event of one key to that of another on the monotonic clock, ns; None
        without either."""
        start, stop = self.first(start_key), self.first(stop_key)
        if start is None or stop is None or start.mono_ns is None or stop.mono_ns is None:
            return None
        return start.mono_ns, stop.mono_ns

    def finished_epochs(self) -> tuple[int, ...]:
        """Epochs with a logged ``epoch_stop``: all their steps are on the storage medium."""
        return tuple(event.epoch for event in self.all("epoch_stop") if event.epoch is not None)

    def evaluations(self) -> tuple[LogEvent, ...]:
        """The evaluations whose accuracy is a number, in file order."""
        return tuple(
            event for event in self.all("eval_accuracy") if isinstance(event.value, int | float)
        )

    def correct(self) -> dict[int, int]:
        """Correctly classified samples, by the epochs whose evaluation logged a number."""
        counted = (
            (event.epoch, _int64(event.metadata.get("correct")))
            for event in self.all("eval_accuracy")
        )
        return {epoch: count for epoch, count in counted if epoch is not None and count is not None}


def read_log(path: Path) -> Log:
    """Read a log that may be hostile, truncated or another producer's. Raises OSError for the file,
    nothing for its content.

    Lines without the MLPerf token are skipped as other output. A missing chain is reported once,
    for the first line. Reading stops after ``MAX_EVENTS`` events or ``MAX_PROBLEMS`` problems; that
    is reported as a problem.
    """
    events: list[LogEvent] = []
    problems: list[LogProblem] = []
    if path.stat().st_size > MAX_LOG_BYTES:
        return Log(path, (), (LogProblem(1, f"the log is larger than {MAX_LOG_BYTES} bytes"),))
    chain: str | None = FIRST_LINK
    values = 0
    for number, text, problem in _lines(path):
        start = text.find(TOKEN)
        if problem is not None:
            problems.append(problem)
        if problem is not None or start < 0:
            continue
        values += sum(map(text.count, ",[{"))
        if values > MAX_VALUES:
            problems.append(
                LogProblem(
                    number,
                    f"more than {MAX_VALUES} JSON values up to this line; the rest was not read",
                )
            )
            break
        event, problem = _parse(number, text[start:])
        if event is not None:
            events.append(event)
        if problem is not None:
            problems.append(problem)
        chain = _follow(chain, number, text[start:], problems)
        if len(events) >= MAX_EVENTS or len(problems) >= MAX_PROBLEMS:
            problems.append(
                LogProblem(
                    number,
                    f"{len(events)} events and {len(problems)} problems so far (limits:"
                    f" {MAX_EVENTS} and {MAX_PROBLEMS}); the rest was not read",
                )
            )
            break
    return Log(path, tuple(events), tuple(problems))


def chain_head(path: Path) -> str | None:
    """The chain value of a log's last line, which the whole log follows from; None if there is
    none."""
    try:
        if path.is_symlink() or path.stat().st_size > MAX_LOG_BYTES:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    last = content[max(content.rfind(TOKEN.encode()), 0) :].split(b"\n", 1)[0]
    return unchained(last.decode("utf-8", errors="replace").rstrip("\r"))[1]


def parse_line(number: int, text: str) -> LogEvent | None:
    """The event on a line of the log; None if there is none or it is malformed."""
    start = text.find(TOKEN)
    return _parse(number, text[start:])[0] if start >= 0 else None


def _lines(path: Path) -> Iterator[tuple[int, str, LogProblem | None]]:
    """Every line with its number; a problem for a line that is too long or truncated within the
    token."""
    with path.open("rb") as stream:
        number = 0
        while raw := stream.readline(MAX_LINE_BYTES):
            number += 1
            text, problem = raw.decode("utf-8", errors="replace").rstrip("\r\n"), None
            if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                problem = LogProblem(number, f"the line is longer than {MAX_LINE_BYTES} bytes")
                while raw and not raw.endswith(b"\n"):
                    raw = stream.readline(MAX_LINE_BYTES)
            elif not raw.endswith(b"\n") and text.endswith(_TRUNCATED_TOKENS):
                problem = LogProblem(number, f"the line is truncated within {TOKEN.strip()}")
            yield number, text, problem


def _parse(number: int, text: str) -> tuple[LogEvent | None, LogProblem | None]:
    try:
        record = strict_json(text[len(TOKEN) :])
    except (ValueError, RecursionError) as error:
        what = (
            "truncated or edited" if isinstance(error, json.JSONDecodeError) else str(error)[:200]
        )
        return None, LogProblem(
            number, f"the text after {TOKEN.strip()} is not valid JSON ({what})"
        )
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        return None, LogProblem(number, "the line has no event key")
    key, time_ms, metadata = record["key"], record.get("time_ms"), record.get("metadata")
    if (
        isinstance(time_ms, bool)
        or not isinstance(time_ms, int | float)
        or not abs(time_ms) < MAX_TIME_MS
    ):
        return None, LogProblem(number, f"event {key[:80]!r} has no time_ms")
    if metadata is not None and not isinstance(metadata, dict):
        return None, LogProblem(number, f"event {key[:80]!r} has metadata that is not an object")
    return (
        LogEvent(
            number,
            time_ms,
            str(record.get("event_type")),
            record["key"],
            record.get("value"),
            metadata or {},
            _text(record.get("namespace")),
        ),
        None,
    )


def _follow(chain: str | None, number: int, text: str, problems: list[LogProblem]) -> str | None:
    """Verify one link of the chain and return the line's written value, with which the next line is
    verified: a break is reported once."""
    plain, written = unchained(text)
    if chain is None:
        return None
    if written is None:
        problems.append(LogProblem(number, "the line has no chain value", chain=True))
        return None
    if link(chain, plain) != written:
        problems.append(
            LogProblem(
                number,
                "the chain is broken: this line or one before it was changed, dropped or moved",
                chain=True,
            )
        )
    return written


def run_window(log: Log) -> tuple[int, int] | None:
    """run_start and run_stop on the monotonic clock, ns; None for a run that was not finished."""
    return log.window("run_start", "run_stop")
