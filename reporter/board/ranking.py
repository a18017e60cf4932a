"""Ranks of entries that reflect only statistically significant differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MIN_RUNS = 3
SIGNIFICANCE_LEVEL = 0.05


@dataclass(frozen=True)
class Rank:
    """``rank`` is 1 + the number of significantly better entries, so entries can share a rank.

    It is None, with a ``reason``, for an entry with fewer than MIN_RUNS runs. ``not_different`` is the number of other entries from which it does
    not differ significantly.
    """

    rank: int | None
    not_different: int
    reason: str | None


def rank_entries(values: Mapping[str, Sequence[float]], level: float = SIGNIFICANCE_LEVEL) -> dict[str, Rank]:
    """Ranks of entries by the values of their runs, which must be positive; smaller is better.

    Every pair of entries with at least MIN_RUNS runs is compared by Welch's t-test on the logarithms (times and energies vary by a factor).
    Holm's method corrects the p-values for the number of pairs.
    """
    enough = sorted(name for name, runs in values.items() if len(runs) >= MIN_RUNS)
    ranks = {name: Rank(None, 0, f"{len(runs)} of the {MIN_RUNS} runs needed") for name, runs in values.items()}
    if not enough:
        return ranks
    logs = [np.log(np.asarray(values[name], dtype=float)) for name in enough]
    means = np.array([log.mean() for log in logs])
    first, second = np.triu_indices(len(enough), k=1)
    differ = np.zeros((len(enough), len(enough)), dtype=bool)
    differ[first, second] = holm(_welch(logs, means, first, second), level)
    differ |= differ.T
    better = differ & (means[None, :] < means[:, None])
    for index, name in enumerate(enough):
        ranks[name] = Rank(1 + int(better[index].sum()), len(enough) - 1 - int(differ[index].sum()), None)
    return ranks


def _welch(logs: Sequence[np.ndarray], means: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Two-sided p-values. Two entries without any spread differ unless their means are equal."""
    from scipy.special import stdtr  # type: ignore[import-untyped]  # start-up: worker processes import this module and do not rank

    counts = np.array([len(log) for log in logs], dtype=float)
    squared = np.array([log.var(ddof=1) for log in logs]) / counts
    error = squared[first] + squared[second]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(means[first] - means[second]) / np.sqrt(error)
        freedom = error**2 / (squared[first] ** 2 / (counts[first] - 1) + squared[second] ** 2 / (counts[second] - 1))
        p = 2 * stdtr(freedom, -t)
    return np.where(error > 0, p, np.where(means[first] == means[second], 1.0, 0.0))


def holm(p_values: np.ndarray, level: float) -> np.ndarray:
    """Mask of the hypotheses that Holm's step-down method rejects; the family-wise error rate is at most ``level``."""
    order = np.argsort(p_values, kind="stable")
    rejected = p_values[order] <= level / (len(p_values) - np.arange(len(p_values)))
    until = len(rejected) if rejected.all() else int(np.argmin(rejected))
    answer = np.zeros(len(p_values), dtype=bool)
    answer[order[:until]] = True
    return answer
