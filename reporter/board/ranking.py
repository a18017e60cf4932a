"""Which entries differ beyond noise, and which no other beats in every respect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

FEWEST_RUNS = 3
LEVEL = 0.05


@dataclass(frozen=True)
class Rank:
    """``rank`` is 1 + the number of entries that are shown to be better, so entries that cannot be told apart share it.

    It is None, with the ``reason``, for an entry with too few runs to be compared. ``ties`` counts the other entries that it cannot be
    told from.
    """

    rank: int | None
    ties: int
    reason: str | None


def rank_entries(values: Mapping[str, Sequence[float]], level: float = LEVEL) -> dict[str, Rank]:
    """Ranks of entries by the values of their runs; smaller is better.

    Every pair of entries with three runs or more is compared by Welch's t-test on the logarithms (times and energies scatter by a
    factor), and the p-values are corrected for their number by Holm's method. Values must be positive.
    """
    enough = sorted(name for name, runs in values.items() if len(runs) >= FEWEST_RUNS)
    ranks = {name: Rank(None, 0, f"{len(runs)} of the {FEWEST_RUNS} runs needed") for name, runs in values.items()}
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
    """Two-sided p-values. Two entries without any scatter differ unless their means are the same."""
    from scipy.special import stdtr  # type: ignore[import-untyped]

    counts = np.array([len(log) for log in logs], dtype=float)
    squared = np.array([log.var(ddof=1) for log in logs]) / counts
    error = squared[first] + squared[second]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(means[first] - means[second]) / np.sqrt(error)
        freedom = error**2 / (squared[first] ** 2 / (counts[first] - 1) + squared[second] ** 2 / (counts[second] - 1))
        p = 2 * stdtr(freedom, -t)
    return np.where(error > 0, p, np.where(means[first] == means[second], 1.0, 0.0))


def holm(p_values: np.ndarray, level: float) -> np.ndarray:
    """Which hypotheses Holm's step-down method rejects, so that the chance of any false one is at most ``level``."""
    order = np.argsort(p_values, kind="stable")
    rejected = p_values[order] <= level / (len(p_values) - np.arange(len(p_values)))
    until = len(rejected) if rejected.all() else int(np.argmin(rejected))
    answer = np.zeros(len(p_values), dtype=bool)
    answer[order[:until]] = True
    return answer
