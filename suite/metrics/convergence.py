"""Whether runs converge as the reference's do, told from few whole numbers: the epochs that each took to the target.

A permutation test of the difference of means (Fisher 1935; Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005): it assumes
no distribution, so evaluations at coarse intervals, ties, and runs that all take the same number of epochs are nothing special to it.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

LEVEL = 0.01
RESAMPLES = 9_999
EXACT = 20_000
WANTED_POWER = 0.8
SIMULATIONS = 200


@dataclass(frozen=True)
class Comparison:
    """How likely a difference of means at least as large is if runs and reference are the same: in favour of the runs, and either way."""

    p_faster: float
    p_different: float
    smallest_p: float  # that this number of runs could give at all


def compare(reference: Sequence[float], runs: Sequence[float]) -> Comparison:
    """Test the runs' epochs to target against the reference's; at least one of each.

    Every way to divide all of them is counted, or, of more than 20,000, 9,999 drawn ones (the same every time) and the one that was seen.
    """
    pooled, own = np.asarray([*runs, *reference], float), float(np.sum(runs))
    sums = pooled[_partitions(len(pooled), len(runs))].sum(axis=1)
    slack = 1e-9 * max(1.0, abs(own))  # sums of the same numbers in another order
    p_faster, p_slower = float(np.mean(sums <= own + slack)), float(np.mean(sums >= own - slack))
    return Comparison(p_faster, min(1.0, 2 * min(p_faster, p_slower)), 1 / len(sums))


@lru_cache(maxsize=32)
def _partitions(count: int, chosen: int) -> "np.ndarray[Any, Any]":
    """Which of all numbers are taken for the runs', a row each."""
    if math.comb(count, chosen) <= EXACT:
        return np.array(list(itertools.combinations(range(count), chosen)))
    drawn = np.random.default_rng(1).random((RESAMPLES, count)).argsort(axis=1)[:, :chosen]
    return np.vstack([np.arange(chosen), drawn])


def power(reference: Sequence[float], runs: int, factor: float, interval: int = 1, level: float = LEVEL) -> float:
    """How often so many runs that take ``factor`` times the reference's epochs would be found faster; by simulation, the same every time.

    Runs are drawn from the reference, and what they take is rounded up to the next evaluation, as it would be seen.
    """
    stream = np.random.default_rng(1)
    found = 0
    for _ in range(SIMULATIONS):
        epochs = np.ceil(stream.choice(np.asarray(reference, float), runs) * factor / interval) * interval
        found += compare(reference, list(epochs)).p_faster <= level
    return found / SIMULATIONS


def detectable(reference: Sequence[float], runs: int, interval: int = 1, level: float = LEVEL) -> float | None:
    """The mildest factor that so many runs would be found at four times in five, to a twentieth; None when not even a tenth would."""
    return next((step / 20 for step in range(19, 1, -1) if power(reference, runs, step / 20, interval, level) >= WANTED_POWER), None)
