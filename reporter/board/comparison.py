"""Compares the entries of a leaderboard pairwise by the values of their runs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reporter.board.ranking import SIGNIFICANCE_LEVEL, holm, rank_entries
from reporter.data.entries import make_labels
from reporter.data.frames import Frames, rows_of
from reporter.data.values import values_of_runs
from suite.errors import SuiteError
from suite.metrics.mean_ratio import MeanRatio, mean_ratio

BOARD = ["workload", "division", "data"]


@dataclass(frozen=True)
class EntryComparison:
    """Two entries of one workload, division and data set: the geometric mean of ``entry``'s runs over that of ``base``'s.

    ``low`` and ``high`` bound the ratio's 95 % interval. ``differs`` is True where the ratio differs from 1 at the 5 % level, corrected for
    the number of pairs on their board (Holm). All four are None, with the ``reason``, where an entry has too few runs.
    """

    workload: str
    division: str
    data: str
    entry: str
    base: str
    ratio: float | None
    low: float | None
    high: float | None
    differs: bool | None
    reason: str | None


def compare_entries(frames: Frames, figure: str) -> tuple[EntryComparison, ...]:
    """Compare every pair of accepted entries on each board by one figure of their runs. Runs without the figure do not count."""
    if figure not in set(frames.figures["figure"]):
        raise SuiteError(f"No run has a figure {figure!r}; they have {', '.join(sorted(set(frames.figures['figure'])))}.")
    accepted = frames.accepted()
    values = values_of_runs(accepted, figure)
    boards = accepted.entries.groupby(BOARD, sort=True)
    return tuple(pair for _, entries in boards for pair in _compare_board(list(rows_of(entries)), values))


def _compare_board(entries: Sequence[Mapping[str, object]], values: Mapping[str, Sequence[float]]) -> Iterator[EntryComparison]:
    """All pairs of a board; the pairs with enough runs share Holm's correction."""
    labels = make_labels(entries)
    runs = {name: values.get(name, ()) for name in labels}
    reasons = {name: rank.reason for name, rank in rank_entries(runs).items()}
    pairs = list(itertools.combinations(labels, 2))
    ratios = {pair: mean_ratio(runs[pair[0]], runs[pair[1]]) for pair in pairs if not (reasons[pair[0]] or reasons[pair[1]])}
    rejected = dict(zip(ratios, holm(np.array([one.p_value for one in ratios.values()]), SIGNIFICANCE_LEVEL).tolist(), strict=True))
    for entry, base in pairs:
        found: MeanRatio | None = ratios.get((entry, base))
        yield EntryComparison(
            **{name: str(entries[0][name]) for name in BOARD},
            entry=labels[entry],
            base=labels[base],
            ratio=found.ratio if found else None,
            low=found.low if found else None,
            high=found.high if found else None,
            differs=rejected.get((entry, base)),
            reason=None if found else "; ".join(f"{labels[name]}: {reasons[name]}" for name in (entry, base) if reasons[name]),
        )
