"""Which modes to profile: the first ones, before anything is known, and the next one that teaches
most."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from suite.extensions.prediction.record.limits import Question, best
from suite.extensions.prediction.record.modes import Modes
from suite.extensions.prediction.record.samples import Samples

Array = Any  # of floats

LOW, RATHER_LOW = 0.05, 0.2
"""Places of a low and of a rather low value on an axis: of its values, from 0 for the lowest to 1
for the highest."""
JITTER = 0.05
TARGETS = 400
CANDIDATES = 1500
NOISE = 0.02
"""Relative standard error that a measurement of the next mode is expected to have."""
TRIAL_CERTAINTY = 0.8
"""A mode is measured for a question although it may turn out to exceed a limit; the answer is
not."""


def initial_design(modes: Modes, seed: int = 0) -> list[int]:
    """Indices of the first modes to profile: all high, the centre, each resource low in turn, all
    rather low.

    With a ``seed`` above 0 each is a mode near that place.
    """
    count = len(modes.names)
    targets = np.ones((count + 3, count))
    targets[1], targets[-1] = 0.5, RATHER_LOW
    targets[2 : count + 2][np.diag_indices(count)] = LOW
    if seed:
        targets = targets + np.random.default_rng(seed).uniform(-JITTER, JITTER, targets.shape)
    places = _places(modes)
    chosen: list[int] = []
    for target in targets:
        distance = np.sum((places - target) ** 2, axis=1)
        distance[chosen] = np.inf
        if np.isfinite(distance).any():
            chosen.append(int(np.argmin(distance)))
    return chosen


def _places(modes: Modes) -> Array:
    """Place of each mode on each axis: rank of its value, from 0 to 1."""
    columns = [np.unique(column, return_inverse=True)[1] for column in modes.rows.T]
    return np.stack([column / max(1, column.max()) for column in columns], axis=1)


def next_mode(
    samples: Samples, profiled: Sequence[int], asked: Question | None = None, seed: int = 0
) -> int | None:
    """Index of the mode to profile next, by a prediction of all modes; None if all are profiled.

    With a question: the mode that would be its answer if a little less certainty were enough,
    unless it was profiled. Otherwise the one that is expected to reduce the variance of time and
    power most, on average over all modes (active learning: Cohn, Neural Networks 1996).
    """
    free = np.setdiff1d(np.arange(samples.log_time.shape[1]), np.asarray(profiled, dtype=int))
    if not len(free):
        return None
    if asked is not None and asked.limits():
        index = best(samples, asked, TRIAL_CERTAINTY)
        if index is not None and index not in profiled:
            return index
    return _most_informative(samples, free, np.random.default_rng(seed))


def _most_informative(samples: Samples, free: Array, random: np.random.Generator) -> int:
    count = samples.log_time.shape[1]
    candidates = random.choice(free, min(CANDIDATES, len(free)), replace=False)
    targets = random.choice(count, min(TARGETS, count), replace=False)
    reduced = np.zeros(len(candidates))
    for values in (
        (samples.log_time, samples.log_power) if samples.has_power else (samples.log_time,)
    ):
        own, others = (
            values[:, chosen] - np.mean(values[:, chosen], axis=0)
            for chosen in (candidates, targets)
        )
        covariance = own.T @ others / len(values)
        reduced += np.sum(covariance**2, axis=1) / (np.mean(own**2, axis=0) + NOISE**2)
    return int(candidates[np.argmax(reduced)])
