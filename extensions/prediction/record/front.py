"""Pareto front of modes over quantities to minimise, exact, and which modes are on it for sure."""

import enum
from statistics import NormalDist
from typing import Any

import numpy as np

from suite.extensions.prediction.record.samples import Intervals
from suite.extensions.prediction.record.table import Profile

Array = Any  # of floats

CONFIDENCE = 0.95


class Membership(str, enum.Enum):
    """Whether a mode is on the front: for sure, possibly, or for sure not."""

    ON = "on"
    POSSIBLY = "possibly"
    OFF = "off"


def pareto_front(values: Array) -> Array:
    """Mask of the rows that no other row dominates; ``values`` has one column per quantity to
    minimise.

    A row dominates another if it is nowhere larger and somewhere smaller; equal rows are all on the
    front. Exact.
    """
    values = np.asarray(values, dtype=float)
    order = np.lexsort(values.T[::-1])  # a row is dominated by rows before it only
    on = np.zeros(len(values), dtype=bool)
    front = np.empty((0, values.shape[1]))
    for index in order:
        row = values[index]
        smaller = np.all(front <= row, axis=1)
        if not np.any(smaller & np.any(front < row, axis=1)):
            on[index] = True
            front = np.vstack([front, row]) if not smaller.any() else front
    return on


def memberships(low: Array, high: Array) -> list[Membership]:
    """Membership of each row, given simultaneous intervals of its quantities (columns).

    On: no mode dominates it wherever in the intervals the values lie. Off: some mode is better in
    everything wherever they lie. Exact.
    """
    found = []
    for index in range(len(low)):
        others = np.arange(len(low)) != index
        if np.any(np.all(high[others] < low[index], axis=1)):
            found.append(Membership.OFF)
        elif not np.any(np.all(low[others] <= high[index], axis=1)):
            found.append(Membership.ON)
        else:
            found.append(Membership.POSSIBLY)
    return found


def measured_intervals(
    profile: Profile, confidence: float = CONFIDENCE
) -> tuple[Intervals, Intervals, Intervals]:
    """Intervals of the time, power and energy of profiled modes that hold all together with
    ``confidence`` (Bonferroni; normal errors).

    Time and power are two independent measurements of a mode, so the energy's interval is that of
    the product of both.
    """
    half = NormalDist().inv_cdf(1 - (1 - confidence) / (4 * len(profile)))
    time, power = (
        Intervals(value, value * np.maximum(1 - half * error, 0), value * (1 + half * error))
        for value, error in (
            (profile.time_s, profile.time_error),
            (profile.power_w, profile.power_error),
        )
    )
    return (
        time,
        power,
        Intervals(time.value * power.value, time.low * power.low, time.high * power.high),
    )


def front_of(profile: Profile, confidence: float = CONFIDENCE) -> list[tuple[int, Membership]]:
    """Profiled modes that are on the front or may be, over time, power and energy, by ascending
    time; none where no power was measured."""
    if not profile.has_power:
        return []
    time, power, energy = measured_intervals(profile, confidence)
    low, high = (
        np.column_stack([getattr(one, end) for one in (time, power, energy)])
        for end in ("low", "high")
    )
    found = memberships(low, high)
    return [
        (int(index), found[index])
        for index in np.argsort(profile.time_s)
        if found[index] is not Membership.OFF
    ]
