"""Arrivals of images, decided before the measurement begins: uniform, Poisson, or those of a trace.
Service never shifts them."""

import csv
import enum
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from suite.errors import FileError, SuiteError

NS_PER_S = 1_000_000_000
MAX_IMAGES = 1_000_000
Times = Any  # array of int64, ns


class ArrivalKind(str, enum.Enum):
    """How images arrive: at equal gaps, as a Poisson process, or at the times of a trace."""

    UNIFORM = "uniform"
    POISSON = "poisson"
    TRACE = "trace"


@dataclass(frozen=True)
class Arrivals:
    """Arrivals within ``duration_s`` at ``rate_per_s`` on average; ``seed`` is that of a Poisson
    process. A trace's rate follows from its times."""

    kind: ArrivalKind
    rate_per_s: float
    duration_s: float
    seed: int = 1
    trace_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.rate_per_s):
            raise SuiteError(
                f"--rate {self.rate_per_s:g} is not finite; give images per second above 0, such as"
                " 100."
            )
        if self.rate_per_s <= 0:
            raise SuiteError(
                f"A rate of {self.rate_per_s:g} images/s sends no image; give --rate a number above"
                " 0, such as 100."
            )
        if not (math.isfinite(self.duration_s) and self.duration_s > 0):
            raise SuiteError(
                f"A duration of {self.duration_s:g} s measures nothing; give --duration a time"
                " above 0, such as 10m."
            )
        if self.rate_per_s * self.duration_s > MAX_IMAGES:
            longest_s = math.floor(MAX_IMAGES / self.rate_per_s)
            remedy = (
                f"the longest --duration at this rate is {longest_s}s"
                if longest_s
                else "use a lower --rate"
            )
            raise SuiteError(
                f"{self.rate_per_s:g} images/s for {self.duration_s:g} s are more than"
                f" {MAX_IMAGES:,} images; {remedy}."
            )
        if self.rate_per_s * self.duration_s < 1:
            raise SuiteError(
                f"No image arrives within {self.duration_s:g} s at {self.rate_per_s:g} images/s;"
                f" use --duration {_in_ms(1 / self.rate_per_s):g}s."
            )

    def refuse_short(self, share: float) -> None:
        """Raise SuiteError where no image arrives within this share of the duration, which the
        shortest measurements take."""
        short_s = share * self.duration_s
        is_too_short = self.rate_per_s * short_s < 1
        if self.kind is ArrivalKind.TRACE:
            self.lasting(short_s)
        elif is_too_short or not len(intended_ns(self.lasting(short_s))):
            remedy = (
                f"use --duration {_in_ms(1 / self.rate_per_s / share):g}s"
                if is_too_short
                else "use a longer --duration, or another --seed"
            )
            raise SuiteError(
                f"At {self.rate_per_s:g} images/s, no image arrives within {short_s:g} s, the"
                f" length of the shortest measurement; {remedy}."
            )

    def lasting(self, duration_s: float) -> "Arrivals":
        """The same arrivals for another time, a trace's for at most its own."""
        times = tuple(time for time in self.trace_s if time < duration_s)
        if self.kind is ArrivalKind.TRACE and not times:
            raise SuiteError(
                f"The file has no arrival within its first {duration_s:g} s, the length of the"
                " shortest measurement; use a longer --duration."
            )
        rate_per_s = (
            self.rate_per_s if self.kind is not ArrivalKind.TRACE else len(times) / duration_s
        )
        return replace(self, duration_s=duration_s, trace_s=times, rate_per_s=rate_per_s)


def _in_ms(time_s: float) -> float:
    """Rounded up to milliseconds, as one types it."""
    return math.ceil(round(time_s * 1e3, 6)) / 1e3


def of_trace(path: Path, duration_s: float) -> Arrivals:
    """The arrivals of a trace within ``duration_s``: a CSV file with the column ``arrival_s``,
    seconds from the start, none before its predecessor.

    Raises FileError with the line of the first value that is not such a time.
    """
    times = [time for time in _read_trace(path) if time < duration_s]
    if not times:
        raise FileError(
            path, f"has no arrival within the first {duration_s:g} s; use a longer --duration"
        )
    return Arrivals(ArrivalKind.TRACE, len(times) / duration_s, duration_s, 0, tuple(times))


def intended_ns(arrivals: Arrivals) -> Times:
    """Each image's intended arrival, ns from the start of the measurement, int64, never decreasing.

    Uniform: image i at i / rate. Poisson: gaps from NumPy's RandomState, whose stream is frozen for
    all versions (NEP 19).
    """
    if arrivals.kind is ArrivalKind.TRACE:
        return np.rint(np.asarray(arrivals.trace_s) * NS_PER_S).astype(np.int64)
    if arrivals.kind is ArrivalKind.UNIFORM:
        count = math.ceil(round(arrivals.rate_per_s * arrivals.duration_s, 6))
        return np.rint(np.arange(count) * (NS_PER_S / arrivals.rate_per_s)).astype(np.int64)
    return _poisson_ns(arrivals)


def _poisson_ns(arrivals: Arrivals) -> Times:
    expected = arrivals.rate_per_s * arrivals.duration_s
    # more are never needed: ten standard deviations
    drawn = int(expected + 10 * math.sqrt(expected) + 20)
    gaps_s = np.random.RandomState([arrivals.seed, 19]).exponential(1 / arrivals.rate_per_s, drawn)
    times_s = np.cumsum(gaps_s)
    return np.rint(times_s[times_s < arrivals.duration_s] * NS_PER_S).astype(np.int64)


def _read_trace(path: Path) -> list[float]:
    times: list[float] = []
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            if reader.fieldnames is None or "arrival_s" not in reader.fieldnames:
                raise FileError(path, "has no column arrival_s in its first line")
            for row in reader:
                times.append(
                    _time(path, reader.line_num, row["arrival_s"], times[-1] if times else 0.0)
                )
                if len(times) > MAX_IMAGES:
                    raise FileError(path, f"has more than {MAX_IMAGES:,} arrivals")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, f"cannot be read as CSV ({error})") from error
    return times


def _time(path: Path, line: int, text: str | None, earliest_s: float) -> float:
    try:
        time_s = float(text or "")
    except ValueError:
        raise FileError(
            path, f"line {line}: arrival_s is {text!r}; it must be a number of seconds"
        ) from None
    if not (math.isfinite(time_s) and time_s >= earliest_s):
        raise FileError(
            path,
            f"line {line}: arrival_s is {text}; it must be finite and not before {earliest_s:g}",
        )
    return time_s
