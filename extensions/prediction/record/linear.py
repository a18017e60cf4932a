"""Baseline: the linear regressions of the paper (Prashanthi et al., POMACS 2022, Section 5.7).

Time is linear in the resources of a mode. Energy is linear in the resources and the predicted time,
fitted to all workloads whose tables are given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.extensions.prediction.record.conformal import JackknifePlus, Point, jackknife_plus
from suite.extensions.prediction.record.table import Profile

Array = Any  # of floats

FLOOR = 0.01
"""A linear law can fall below 0; the prediction is at least this share of the smallest measured
value."""


@dataclass(frozen=True)
class _Linear:
    """``intercept + row . weights`` with standardised columns."""

    centre: Array
    spread: Array
    weights: Array

    def at(self, rows: Array) -> Array:
        return _with_one((rows - self.centre) / self.spread) @ self.weights


def _with_one(rows: Array) -> Array:
    return np.column_stack([np.ones(len(rows)), rows])


def _regression(rows: Array, values: Array) -> _Linear:
    """Least squares; of several equally good solutions the smallest."""
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    return _Linear(
        centre, spread, np.linalg.lstsq(_with_one((rows - centre) / spread), values, rcond=None)[0]
    )


def fit(profile: Profile, others: Sequence[Profile] = ()) -> JackknifePlus:
    """Fit both regressions; ``others`` are tables of other workloads on the same board, for the
    shared energy model."""
    return jackknife_plus(lambda part: _point(part, others), profile)


def _point(profile: Profile, others: Sequence[Profile]) -> Point:
    every = (profile, *others)
    time = _regression(profile.rows, profile.time_s)
    energy = _regression(
        np.concatenate([np.column_stack([one.rows, one.time_s]) for one in every]),
        np.concatenate([one.time_s * one.power_w for one in every]),
    )
    least_s, least_w = FLOOR * profile.time_s.min(), FLOOR * profile.power_w.min()

    def at(rows: Array) -> tuple[Array, Array]:
        time_s = np.maximum(time.at(rows), least_s)
        power_w = np.maximum(energy.at(np.column_stack([rows, time_s])) / time_s, least_w)
        return np.log(time_s), np.log(power_w)

    return at
