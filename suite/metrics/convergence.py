"""Tests whether runs converge as the reference's runs do, from the epochs that each run needed to
reach the target.

Permutation test of the difference of means (Fisher 1935; Good, "Permutation, Parametric and
Bootstrap Tests of Hypotheses", 2005). It assumes no distribution: coarse evaluation intervals,
ties, and runs that all need the same number of epochs need no special treatment.

A run that missed its target has infinite epochs to target. All runs of a closed workload have the
same number of epochs at most, so a missed target is later than every one that was reached. With
such runs the test is of the sum of the midranks instead of the mean, the missed ones sharing the
last ranks (Gehan, "A generalized Wilcoxon test for comparing arbitrarily singly-censored samples",
Biometrika 52, 1965).
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from suite.bundle.arrays import Values

LEVEL = 0.01
RESAMPLES = 9_999
MAX_PARTITIONS = 20_000  # enumerated; beyond, RESAMPLES are drawn
WANTED_POWER = 0.8
INTERVAL_LEVEL = 0.05
SIMULATIONS = 200


@dataclass(frozen=True)
class EpochsComparison:
    """p values of the difference of means: one-sided (the runs need fewer epochs, the runs need
    more) and two-sided."""

    p_faster: float
    p_slower: float
    p_different: float
    smallest_p: float  # that this number of runs can give


def show_epochs(epochs: float) -> str:
    """Epochs to target as text; "missed" for infinitely many."""
    return f"{epochs:g}" if math.isfinite(epochs) else "missed"


def compare_epochs(reference: Sequence[float], runs: Sequence[float]) -> EpochsComparison:
    """Compare the runs' epochs to target with the reference's; at least one run of each. Infinite:
    the run missed its target.

    All partitions into runs and reference are enumerated; if there are more than 20,000, 9,999 are
    drawn (fixed seed) and the observed one added.
    """
    pooled = np.asarray([*runs, *reference], float)
    pooled = pooled if np.isfinite(pooled).all() else _midranks(pooled)
    observed = float(pooled[: len(runs)].sum())
    sums = pooled[_partitions(len(pooled), len(runs))].sum(axis=1)
    rounding = 1e-9 * max(1.0, abs(observed))  # sums of the same numbers in another order
    p_faster = float(np.mean(sums <= observed + rounding))
    p_slower = float(np.mean(sums >= observed - rounding))
    return EpochsComparison(
        p_faster, p_slower, min(1.0, 2 * min(p_faster, p_slower)), 1 / len(sums)
    )


def _midranks(values: Values) -> Values:
    """Each value's rank, from 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    midranks: Values = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return midranks


@lru_cache(maxsize=32)
def _partitions(count: int, chosen: int) -> "np.ndarray[Any, Any]":
    """Indices of the values assigned to the runs, one row per partition."""
    if math.comb(count, chosen) <= MAX_PARTITIONS:
        return np.array(list(itertools.combinations(range(count), chosen)))
    drawn = np.random.default_rng(1).random((RESAMPLES, count)).argsort(axis=1)[:, :chosen]
    return np.vstack([np.arange(chosen), drawn])


def expected_interval(trained: Sequence[int], reached: Sequence[bool]) -> tuple[float, float]:
    """The interval of a reference point's expected epochs, all epochs trained over the runs that
    reached the target; at least one reached it.

    Percentile bootstrap over runs (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993),
    RESAMPLES of them with a fixed seed. The upper end is infinite where more than half the level of
    the resamples have no run that reached the target.
    """
    drawn = np.random.default_rng(1).integers(0, len(trained), (RESAMPLES, len(trained)))
    epochs = np.asarray(trained, float)[drawn].sum(axis=1)
    runs = np.asarray(reached, bool)[drawn].sum(axis=1)
    expected = np.sort(np.divide(epochs, runs, out=np.full(RESAMPLES, np.inf), where=runs > 0))
    outside = math.floor(RESAMPLES * INTERVAL_LEVEL / 2)
    return float(expected[outside]), float(expected[-1 - outside])


def power_of_comparison(
    reference: Sequence[float], runs: int, factor: float, interval: int = 1
) -> float:
    """Power of the one-sided test for ``runs`` runs that need ``factor`` times the reference's
    epochs; by simulation with a fixed seed.

    Runs are drawn from the reference; their epochs are rounded up to the next evaluation (every
    ``interval`` epochs).
    """
    stream = np.random.default_rng(1)
    detected = 0
    for _ in range(SIMULATIONS):
        drawn = stream.choice(np.asarray(reference, float), runs) * factor
        epochs = np.ceil(drawn / interval) * interval
        detected += compare_epochs(reference, list(epochs)).p_faster <= LEVEL
    return detected / SIMULATIONS


def detectable_speedup(reference: Sequence[float], runs: int, interval: int = 1) -> float | None:
    """Smallest speed-up that ``runs`` runs detect with 80 % power, as a factor of the epochs, in
    steps of 0.05; None if 0.1 is not detected."""
    return next(
        (
            step / 20
            for step in range(19, 1, -1)
            if power_of_comparison(reference, runs, step / 20, interval) >= WANTED_POWER
        ),
        None,
    )
