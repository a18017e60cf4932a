"""Uncertainty of an energy: half-widths of 95 % intervals, one per cause.

Sampling: one reading at a random moment of each period is a stratified random sample of the power
over time (Cochran, Sampling Techniques, 3rd edition, chapter 5A.12). One reading per stratum gives
no variance within it, so the variance comes from the differences between neighbours (collapsed
strata, successive differences: Wolter, Introduction to Variance Estimation, 2nd edition, chapter
8). Neighbours are nearer in value the nearer they are in time. A semivariance ``nugget + slope *
distance`` (Cressie, Statistics for Spatial Data, chapter 2) takes both shares apart: the nugget is
what varies faster than the readings, the slope what they follow. On a fixed clock the differences
show nothing of a load with the clock's own period: there is no sampling part, and no interval.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.bundle.arrays import Integers, Values, median

CONFIDENCE = 0.95
NORMAL = 1.959964  # quantile of the normal distribution for 95 % both sides
# power comes in bursts: squared differences scatter far more than those of normal noise
FREEDOM_PER_READING = 0.25
MIN_READINGS = 5
MIN_SPACINGS = 8
# of spacings, a fifth lies within a tenth of the median for random moments; nearly all for a clock
NEAR_MEDIAN, MAX_SHARE_NEAR = 0.1, 0.5
# of random spacings, one in 25 is within 2 % of the median of another; half where two take turns
MIN_PATTERN, ALIKE, MIN_SHARE_ALIKE = 30, 0.02, 0.3
MIN_NEAR, PER_SCATTER = 10, 1.5
"""Pairs of readings from which a scatter is told, and the share of them in two codes for each step
of scatter: 2 / sqrt(pi) on average over the places of the level in a code, more beside an edge."""


@dataclass(frozen=True)
class Uncertainty:
    """Half-widths of 95 % intervals of an energy, J (of a power: W).

    ``sampling``: power between readings; None where the readings do not tell (on a fixed clock, or
    too few). ``quantisation``: the sensor's resolution. ``gain``: its stated accuracy. ``gaps``:
    pauses of more than three periods; of a counter, times in which it may have lost count.
    ``time``: the age of readings, and the window's ends.
    ``possibly_aliased``: the readings were taken on a fixed clock, which beats with a regular load.
    """

    sampling: float | None
    quantisation: float
    gain: float
    gaps: float
    time: float
    possibly_aliased: bool

    @property
    def half_width(self) -> float | None:
        """Half-width of the 95 % interval: the root of the sum of the squared parts; None without a
        sampling part."""
        if self.sampling is None:
            return None
        return math.hypot(self.sampling, self.quantisation, self.gain, self.gaps, self.time)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the parts, and the interval's confidence, None where no coverage
        is claimed."""
        return {**vars(self), "confidence": None if self.sampling is None else CONFIDENCE}

    def times(self, factor: float) -> "Uncertainty":
        """The uncertainty of the energy times ``factor``."""
        size = abs(factor)
        return replace(
            self,
            sampling=None if self.sampling is None else self.sampling * size,
            quantisation=self.quantisation * size,
            gain=self.gain * size,
            gaps=self.gaps * size,
            time=self.time * size,
        )


def uncertainty_of_ends(half_width: float) -> Uncertainty:
    """The uncertainty of a counter's increase, which is exact but for the window's ends, between
    two readings each."""
    return Uncertainty(0.0, 0.0, 0.0, 0.0, half_width, False)


def uncertainty_of_sum(parts: Iterable[Uncertainty], *, of_one_sensor: bool) -> Uncertainty:
    """The uncertainty of a sum. Gain and quantisation of one sensor err alike in all parts and are
    added; all else is independent."""
    known = list(parts)
    samplings = [part.sampling for part in known if part.sampling is not None]
    systematic = math.fsum if of_one_sensor else _root_sum_square
    return Uncertainty(
        sampling=_root_sum_square(samplings) if len(samplings) == len(known) else None,
        quantisation=systematic(part.quantisation for part in known),
        gain=systematic(part.gain for part in known),
        gaps=_root_sum_square(part.gaps for part in known),
        time=_root_sum_square(part.time for part in known),
        possibly_aliased=any(part.possibly_aliased for part in known),
    )


def _root_sum_square(values: Iterable[float]) -> float:
    return math.hypot(*values)


def at_random_moments(t_s: Values) -> bool:
    """Whether readings were taken at random moments of their periods, by the scatter of the times
    between them; False for fewer than nine.

    The time between two random moments of neighbouring periods is distributed triangularly from 0
    to 2 periods. A clock has one spacing, or a few that take turns: a logger of 1.5 s that writes
    whole seconds has 1 s and 2 s.
    """
    spacings = np.sort(np.diff(t_s))
    if len(spacings) < MIN_SPACINGS:
        return False
    middle = median(spacings)
    if np.mean(np.abs(spacings - middle) <= NEAR_MEDIAN * middle) >= MAX_SHARE_NEAR:
        return False
    reach = ALIKE * middle
    alike = np.searchsorted(spacings, spacings + reach, "right") - np.searchsorted(
        spacings, spacings - reach
    )
    return len(spacings) < MIN_PATTERN or bool(
        np.mean(alike >= MIN_SHARE_ALIKE * len(spacings)) < MAX_SHARE_NEAR
    )


def weights_s(t_s: Values, window_s: float, longest_s: float = math.inf) -> Values:
    """Each reading's weight in the trapezoidal integral over [0, window_s], s, leaving out pauses
    longer than ``longest_s``."""
    begins, ends = np.clip(t_s[:-1], 0.0, window_s), np.clip(t_s[1:], 0.0, window_s)
    spacings, lengths = np.diff(t_s), ends - begins
    with np.errstate(divide="ignore", invalid="ignore"):
        to_later = np.where(
            spacings > 0, lengths * ((begins + ends) / 2 - t_s[:-1]) / spacings, 0.0
        )
    kept = spacings <= longest_s
    weights = np.zeros(len(t_s))
    weights[:-1] += np.where(kept, lengths - to_later, 0.0)
    weights[1:] += np.where(kept, to_later, 0.0)
    weights[0] += max(0.0, t_s[0])
    weights[-1] += max(0.0, window_s - t_s[-1])
    return weights


def sampling_half_width(
    t_s: Values, power: Values, window_s: float, longest_s: float
) -> float | None:
    """Half-width of the sampling part of a trapezoidal integral over [0, window_s] of readings at
    random moments, sorted by time.

    Pauses longer than ``longest_s`` are left to the gaps part. None for fewer than five readings in
    the window.
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # start-up: scipy

    inside = (t_s >= 0) & (t_s <= window_s)
    nearby_s, values = t_s[inside], power[inside]
    if len(values) < MIN_READINGS:
        return None
    fits = (
        _fit_differences(nearby_s, values, longest_s),
        _fit_residuals(nearby_s, values, longest_s),
    )
    nugget, slope = np.mean(fits, axis=0)
    spacings, clipped = np.diff(t_s), np.diff(np.clip(t_s, 0.0, window_s))
    # a straight line between two readings
    between = np.where(spacings <= longest_s, spacings**2 * clipped, 0.0).sum() / 6
    # the first and the last value, extended to the ends
    beyond = (max(0.0, t_s[0]) ** 3 + max(0.0, window_s - t_s[-1]) ** 3) * 2 / 3
    variance = nugget * np.sum(weights_s(t_s, window_s, longest_s) ** 2) + slope * (
        between + beyond
    )
    return float(
        stdtrit(max(2.0, FREEDOM_PER_READING * len(values)), (1 + CONFIDENCE) / 2)
        * math.sqrt(variance)
    )


def _fit_differences(t_s: Values, values: Values, longest_s: float) -> tuple[float, float]:
    """Nugget and slope from half the squared difference of each reading and the next."""
    spacings = np.diff(t_s)
    kept = spacings <= longest_s
    return _fit(np.ones(int(kept.sum())), spacings[kept], np.diff(values)[kept] ** 2 / 2)


def _fit_residuals(t_s: Values, values: Values, longest_s: float) -> tuple[float, float]:
    """Nugget and slope from the squared distance of each reading from the straight line between its
    neighbours."""
    before, after = t_s[1:-1] - t_s[:-2], t_s[2:] - t_s[1:-1]
    kept = (before <= longest_s) & (after <= longest_s) & (before + after > 0)
    before, after = before[kept], after[kept]
    both = before + after
    line = (after * values[:-2][kept] + before * values[2:][kept]) / both
    return _fit(
        1 + (after / both) ** 2 + (before / both) ** 2,
        2 * before * after / both,
        (values[1:-1][kept] - line) ** 2,
    )


def _fit(of_nugget: Values, of_slope: Values, squares: Values) -> tuple[float, float]:
    """Least squares of ``nugget * of_nugget + slope * of_slope``, neither below zero."""
    if not len(squares):
        return 0.0, 0.0
    nn, ns, ss = of_nugget @ of_nugget, of_nugget @ of_slope, of_slope @ of_slope
    n, s = float(of_nugget @ squares), float(of_slope @ squares)
    determinant = float(nn * ss - ns * ns)
    if determinant > 1e-12 * nn * ss:
        nugget, slope = float(ss * n - ns * s) / determinant, float(nn * s - ns * n) / determinant
        if nugget >= 0 and slope >= 0:
            return nugget, slope
    # One of them alone: that which explains more of the squares.
    return (
        (n / float(nn), 0.0) if n * n / nn >= (s * s / ss if ss else 0.0) else (0.0, s / float(ss))
    )


def quantisation_half_width(
    t_s: Values, values: Values, window_s: float, step: float | None, *, varies: bool = True
) -> float:
    """Half-width of what the sensor's ``step`` adds to a trapezoidal integral over [0, window_s].

    All readings of one code err alike, by half a step at most; the codes err independently. Where
    the power ``varies`` from reading to reading, so does the error: what readings of one code have
    in common falls by exp(-2 pi^2 s^2) with a scatter of s steps (Widrow and Kollár, Quantization
    Noise, chapter 9). A step that is not stated is the smallest difference between two readings.
    """
    if step is None:
        differences = np.diff(np.unique(values))
        step = float(differences.min()) if len(differences) else 0.0
    if step <= 0:
        return 0.0
    steps = np.round(values / step)
    _, codes = np.unique(steps, return_inverse=True)
    weights = weights_s(t_s, window_s)
    alike, alone = np.bincount(codes, weights) ** 2, np.bincount(codes, weights**2)
    common = _common(steps, codes) if varies else np.ones(len(alike))
    variance = float(np.sum(alone + common**2 * (alike - alone)))
    return min(NORMAL * step / math.sqrt(12) * math.sqrt(variance), step / 2 * window_s)


def _common(steps: Values, codes: Integers) -> Values:
    """Of each code, the share of the error that its readings have in common, by how often the next
    reading is of the code beside it."""
    jumps = np.abs(np.diff(steps))
    beside = np.bincount(codes[:-1], jumps == 1, minlength=int(codes.max()) + 1)
    near = np.bincount(codes[:-1], jumps <= 1, minlength=int(codes.max()) + 1)
    scatter = np.where(near >= MIN_NEAR, beside / np.maximum(near, 1), 0.0) / PER_SCATTER
    shares: Values = np.exp(-2 * (math.pi * scatter) ** 2)
    return shares


def gaps_half_width(t_s: Values, power: Values, window_s: float, longest_s: float) -> float:
    """Half-width of what pauses longer than ``longest_s`` add: in a pause the power may be any that
    90 % of the readings span."""
    begins, ends = np.clip(t_s[:-1], 0.0, window_s), np.clip(t_s[1:], 0.0, window_s)
    is_gap = (np.diff(t_s) > longest_s * (1 + 1e-9)) & (ends > begins)
    if not is_gap.any():
        return 0.0
    low, high = np.percentile(power, (5, 95))
    means = np.interp((begins + ends) / 2, t_s, power)[is_gap]
    return float(
        np.sum((ends - begins)[is_gap] * np.maximum(0.0, np.maximum(high - means, means - low)))
    )


def edges_half_width(t_s: Values, power: Values, window_s: float) -> float:
    """Half-width at the window's ends, where a load begins or ends at an unknown moment between a
    reading outside and one inside."""
    parts = [0.0]
    for outside, inside, edge_s in ((0, 1, 0.0), (-1, -2, window_s)):
        is_outside = t_s[outside] < edge_s if outside == 0 else t_s[outside] > edge_s
        if len(t_s) > 1 and is_outside:
            length_s, spacing_s = abs(t_s[inside] - edge_s), abs(t_s[inside] - t_s[outside])
            share = length_s / (2 * spacing_s)
            parts.append(abs(power[inside] - power[outside]) * length_s * max(share, 1 - share))
    return _root_sum_square(map(float, parts))


def shift_half_width(t_s: Values, power_w: Values, window_s: float, error_s: float) -> float:
    """Half-width of what an error of the readings' clock, up to ``error_s``, shifts into the window
    [0, window_s] and out of it."""
    if error_s <= 0 or len(t_s) < 2:
        return 0.0
    knots_s = np.concatenate(
        ([min(t_s[0], 0.0) - error_s], t_s, [max(t_s[-1], window_s) + error_s])
    )
    knots_w = np.interp(knots_s, t_s, power_w)
    passed_j = np.concatenate(
        ([0.0], np.cumsum(np.diff(knots_s) * (knots_w[1:] + knots_w[:-1]) / 2))
    )
    ends_j = [
        np.interp(np.array([0.0, window_s]) + shift_s, knots_s, passed_j)
        for shift_s in (-error_s, 0.0, error_s)
    ]
    early_j, right_j, late_j = (float(stop - start) for start, stop in ends_j)
    return max(abs(early_j - right_j), abs(late_j - right_j))
