"""The most rows that a run's tables can have: tables are hostile input, and a small file may unpack
to millions of rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.log import Log, run_window
from suite.files.counted import counted
from suite.files.schema import Positive

MAX_STEP_ROWS = 1_500_000
MAX_EPOCHS = 1500
"""An epoch and its evaluation have 250 values in counters.json, 300 where a processor has two kinds
of cores; a JSON file has half a million at most."""
MAX_READING_ROWS = 100_000_000
"""Nine days of the 120 readings a second that the meters of a board take."""
MAX_READINGS_PER_S = 2000
"""More than ten times what the meters of one machine read so far."""
BESIDE_LOG_S = 600.0
"""Readings begin before the log's first event and end after its last one."""
MARGIN_ROWS = 10_000
"""A table with a few rows too many is for the rules, which say which rows they are."""
OWN_LIMIT = "the limit of this version of the suite"


@dataclass(frozen=True)
class _Samples:
    train_samples: Positive


@dataclass(frozen=True)
class _Ranks:
    ranks: Positive


@dataclass(frozen=True)
class _Amounts:
    """What a request says of the number of its steps."""

    data: _Samples
    parallel: _Ranks
    epochs: Positive
    global_batch_size: Positive
    steps: Positive | None = None


@dataclass(frozen=True)
class RowLimit:
    """The number of ``rows`` that a table can have, and why it cannot have more."""

    rows: int
    reason: str


def possible_steps(request: Mapping[str, Any]) -> RowLimit:
    """Rows of step records that a run of this request can have written; MAX_STEP_ROWS at most, and
    for a malformed request."""
    try:
        read = msgspec.convert(request, _Amounts)
    except msgspec.ValidationError:
        return RowLimit(MAX_STEP_ROWS, OWN_LIMIT)
    epochs, ranks = read.epochs, read.parallel.ranks
    per_epoch = -(-read.data.train_samples // read.global_batch_size)
    whole = min(epochs * per_epoch, read.steps or epochs * per_epoch)
    reason = (
        f"{counted(epochs, 'epoch')} of {counted(per_epoch, 'step')}"
        + (f", {whole} in all" if whole < epochs * per_epoch else "")
        + f", on {counted(ranks, 'rank')}"
    )
    return _limit(2 * whole * ranks, MAX_STEP_ROWS, f"the request is for {reason}")


def possible_readings(log: Log | None) -> RowLimit:
    """Readings that the meters of one node can have written during a run with this log;
    MAX_READING_ROWS at most, and without the log of a finished run: another ends before its run."""
    if log is None or run_window(log) is None:
        return RowLimit(MAX_READING_ROWS, OWN_LIMIT)
    first_ns, last_ns = log.span_ns or (0, 0)
    seconds = (last_ns - first_ns) * SECONDS_PER_NS
    reason = (
        f"the log covers {seconds:.0f} s; the meters read at most {BESIDE_LOG_S:.0f} s longer on"
        f" either side, and all meters of a node together take at most {MAX_READINGS_PER_S}"
        " readings per second"
    )
    return _limit(int((seconds + 2 * BESIDE_LOG_S) * MAX_READINGS_PER_S), MAX_READING_ROWS, reason)


def _limit(rows: int, most: int, reason: str) -> RowLimit:
    if rows + MARGIN_ROWS > most:
        return RowLimit(most, OWN_LIMIT)
    return RowLimit(rows + MARGIN_ROWS, reason)
