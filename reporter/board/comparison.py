"""Compares pairs of entries by a score, or by a figure of their runs. A pair's verdict depends on
its two entries alone."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from reporter.data.entries import PRECISION, make_labels
from reporter.data.entry_scores import OF_ENTRIES, SCORE_S, EntryScores
from reporter.data.frames import Frames, Row, rows_of
from reporter.data.machine_names import machine_name
from reporter.data.values import values_of_runs
from suite.catalog.divisions import Division
from suite.catalog.scoring import load_scoring
from suite.catalog.timings import CPU
from suite.errors import SuiteError
from suite.metrics.comparisons import (
    ERROR_UNKNOWN,
    NEEDS_POSITIVE,
    OTHER_ACCELERATORS,
    OTHER_INSTRUMENTS,
    Ratio,
    RunStatistics,
    run_statistics,
    score_ratio,
)

BOARD = ["workload", "division", "data", "round"]
NOT_ONE_INSTRUMENT = "the runs' energies do not all come from one instrument"


@dataclass(frozen=True)
class EntryComparison:
    """Two entries of one workload, division, data set and round: the score of ``entry`` over that
    of ``base``.

    ``low`` and ``high`` bound the ratio's interval at the pair level of the rules; ``differs``
    where it does not hold 1. What is None is so for the ``reason``.
    """

    workload: str
    division: str
    data: str
    round: str
    entry: str
    base: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    differs: bool | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Comparable:
    """An entry's value for comparisons; None with the ``reason`` where there is none.
    ``instrument`` is that of an energy; ``trained_on`` are the machine, the framework and the
    accelerator."""

    label: str
    value: RunStatistics | None
    reason: str | None
    instrument: tuple[str, str] | None = None
    trained_on: tuple[str, str, str] | None = None

    def is_on_another_accelerator(self, other: "Comparable") -> bool:
        """Whether two frameworks on one machine were not given the same accelerator: a build for
        CPUs beside one for GPUs says nothing of the frameworks."""
        if self.trained_on is None or other.trained_on is None:
            return False
        pairs = zip(self.trained_on, other.trained_on, strict=True)
        return [one == two for one, two in pairs] == [True, False, False]


def compare_entries(frames: Frames, figure: str) -> tuple[EntryComparison, ...]:
    """Compare every pair of accepted entries on each board by a score (score_s, score_energy_j) or
    by a figure of their runs.

    Runs without the figure do not count.
    """
    names = {*OF_ENTRIES, *frames.figures["figure"]}
    if figure not in names:
        raise SuiteError(
            f"No run has the figure {figure!r}; choose one of {', '.join(sorted(names))}."
        )
    accepted = frames.accepted()
    values = {} if figure in OF_ENTRIES else values_of_runs(accepted, figure)
    boards = accepted.entries.groupby(BOARD, sort=True, dropna=False)
    return tuple(
        pair
        for _, entries in boards
        for pair in _compare_board(accepted, list(rows_of(entries)), figure, values)
    )


def compare_pair(one: Comparable, other: Comparable, chosen_from: float = 1) -> Ratio | str:
    """The ratio of two entries, or why there is none.

    An entry that was chosen as the best of several is faster than they are by chance, too: with
    ``chosen_from``, the mean of both numbers of settings, the level is divided by it (the union
    over the settings of one side bounds each of the two ways to be wrong)."""
    reasons = [f"{each.label}: {each.reason}" for each in (one, other) if each.reason]
    if reasons or one.value is None or other.value is None:
        return "; ".join(reasons)
    if one.is_on_another_accelerator(other):
        return OTHER_ACCELERATORS
    if one.instrument != other.instrument:
        return OTHER_INSTRUMENTS
    scoring = load_scoring()
    return score_ratio(
        one.value, other.value, scoring.pair_level / chosen_from, scoring.epochs_level
    )


def verdict_fields(found: Ratio | str) -> dict[str, Any]:
    """Ratio, bounds, verdict and reason of a pair: of an instrument whose error is not known, the
    ratio alone."""
    fields = dict.fromkeys(("ratio", "low", "high", "differs", "reason"))
    if isinstance(found, str):
        return {**fields, "reason": found}
    if math.isinf(found.high):
        return {**fields, "ratio": found.ratio, "reason": ERROR_UNKNOWN}
    return {**fields, **asdict(found), "differs": found.is_different}


def comparables(
    frames: Frames,
    entries: Sequence[Row],
    figure: str,
    values: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Comparable]:
    """What is compared of each entry, by entry id: its score, or the values of its runs.

    ``values`` are those of the runs, where the caller has them for several boards.
    """
    if values is None:
        values = {} if figure in OF_ENTRIES else values_of_runs(frames, figure)
    labels, needed = make_labels(entries), load_scoring().min_runs
    is_energy = _is_energy(frames, figure)
    of_entry = {str(entry["entry_id"]): _trained_on(entry) for entry in entries}
    found = {}
    for name, label in labels.items():
        scores = frames.scores[name]
        value, reason = (
            _of_score(scores, figure)
            if figure in OF_ENTRIES
            else _of_runs(values.get(name, ()), scores, figure, is_energy)
        )
        if reason is None and value is not None and value.runs < needed:
            reason = f"the entry has {value.runs} of the {needed} runs needed"
        known, instrument = None if reason else value, scores.instrument if is_energy else None
        found[name] = Comparable(label, known, reason, instrument, of_entry[name])
    return found


def _trained_on(entry: Row) -> tuple[str, str, str]:
    """A machine without a profile is known by its processor, also where its GPU trained."""
    machine = machine_name({**entry, "accelerator": CPU})
    return machine, str(entry["framework"]), str(entry["accelerator"])


def _is_energy(frames: Frames, figure: str) -> bool:
    """Whether instruments measured it: an energy, or a power."""
    if figure in OF_ENTRIES:
        return figure != SCORE_S
    return bool(frames.select("figures", "figure", [figure])["tier"].notna().any())


def _of_score(scores: EntryScores, name: str) -> tuple[RunStatistics | None, str | None]:
    score = scores.score(name)
    return (None, scores.missing[name]) if score is None else (score.measured, None)


def _of_runs(
    runs: Sequence[float], scores: EntryScores, figure: str, is_energy: bool
) -> tuple[RunStatistics | None, str | None]:
    """The statistics of these values, or why there are none: an entry with enough runs can lack the
    figure, or have a value of 0.

    An energy has its instrument's error, which further runs do not average out; unknown without a
    training's energy, which states it.
    """
    if not runs:
        return None, "no run has this figure"
    if min(runs) <= 0:
        return None, NEEDS_POSITIVE
    of_run = scores.sessions or {}
    # by run id, as the values are
    sessions = [of_run[run] for run in sorted(of_run)] if len(of_run) == len(runs) else None
    if not is_energy:
        floor = load_scoring().floor_of(figure, sessions is not None)
        return run_statistics(runs, floor**2, sessions if floor else None), None
    if scores.instrument is None:
        return None, NOT_ONE_INSTRUMENT
    score = scores.energy or scores.measured_energy
    fixed = math.inf if score is None else score.measured.fixed_variance
    return run_statistics(runs, fixed, sessions), None


def _compare_board(
    frames: Frames,
    entries: Sequence[Row],
    figure: str,
    values: Mapping[str, Sequence[float]],
) -> Iterator[EntryComparison]:
    workload, division, data, round_name = (str(entries[0][name]) for name in BOARD)
    precision = {str(entry["entry_id"]): entry[PRECISION] for entry in entries}
    found_of = comparables(frames, entries, figure, values)
    for (first, one), (second, other) in itertools.combinations(found_of.items(), 2):
        if division == Division.CLOSED.value and precision[first] != precision[second]:
            continue  # each precision has a board of its own
        pair = EntryComparison(workload, division, data, round_name, one.label, other.label)
        yield replace(pair, **verdict_fields(compare_pair(one, other)))
