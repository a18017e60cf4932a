"""Gain and offset of an on-board power sensor against a power meter, from readings of both during a
staircase of loads.

Each stair gives one point: the mean of its steady part on both sensors, with the standard errors of
both. The line through the points is fitted with errors in both (York et al., Unified equations for
the slope, intercept, and standard errors of the best straight line, American Journal of Physics 72,
2004).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.bundle.arrays import Values, Window, median
from suite.bundle.channels import Channel
from suite.files.counted import counted
from suite.metrics.comparisons import student_t_quantile
from suite.metrics.uncertainty import CONFIDENCE

MIN_STAIRS = 3
MIN_READINGS = 5
"""Of a stair's steady part, of each sensor."""
MAX_DRIFT_RATIO = 0.05
"""Of the difference between the highest and the lowest stair: a stair that moves further between
its halves has not settled."""
DRIFT_STANDARD_ERRORS = 3.0
MAX_HALF_WIDTH_RATIO = 0.05
"""Of the gain: with a wider interval, nothing is said about a gain that may be right."""
MAX_AUTOCORRELATION = 0.99
MAX_ITERATIONS = 100
SMALLEST_ERROR = 1e-9  # of the range: readings without any noise
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Stair:
    """One constant load: its window (ns, CLOCK_MONOTONIC), the mean power of both sensors over its
    steady part, and their standard errors, W.

    ``reason`` says why the stair is not part of the fit; None where it is. The powers are NaN where
    there are too few readings.
    """

    start_ns: int
    stop_ns: int
    sensor_w: float
    meter_w: float
    sensor_error_w: float
    meter_error_w: float
    reason: str | None = None


@dataclass(frozen=True)
class SensorCalibration:
    """``sensor = gain * meter + offset_w``, with standard errors, and the 95 % interval of the
    gain, which includes the meter's own gain error.

    ``deviates`` is True where the interval lies outside ``expected_gain``, False where it does not
    and is narrow enough to say so, else None. ``scatter`` is the root of the reduced chi-square:
    above 1 the points lie further from the line than their errors explain, and the standard errors
    are that much larger. Numbers are None, with a ``reason``, where the stairs do not determine the
    line.
    """

    gain: float | None
    gain_error: float | None
    gain_low: float | None
    gain_high: float | None
    offset_w: float | None
    offset_error_w: float | None
    scatter: float | None
    expected_gain: tuple[float, float]
    deviates: bool | None
    reason: str | None
    stairs: tuple[Stair, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a NaN becomes None."""
        stairs = [
            {name: _nan_as_none(value) for name, value in vars(stair).items()}
            for stair in self.stairs
        ]
        return {**vars(self), "expected_gain": list(self.expected_gain), "stairs": stairs}

    def corrected(self, sensor_w: float) -> float:
        """The meter's power where the sensor reads ``sensor_w``; raises ValueError without a
        gain."""
        if not self.gain or self.offset_w is None:
            raise ValueError(self.reason or "the gain is 0")
        return (sensor_w - self.offset_w) / self.gain


@dataclass(frozen=True)
class _Line:
    slope: float
    intercept: float
    slope_error: float
    intercept_error: float
    reduced_chi_square: float


def calibrate(
    sensor: Channel,
    meter: Channel,
    stairs: Sequence[Window],
    *,
    expected_gain: tuple[float, float] = (1.0, 1.0),
    meter_gain_error: float = 0.0,
) -> SensorCalibration:
    """Fit ``sensor = gain * meter + offset`` over the steady parts of ``stairs``; both channels in
    W on one clock.

    ``expected_gain`` is the range of gains of a sensor that is right: (1, 1) where both measure at
    one place; where the meter also sees a power supply or an adapter, the range of their
    efficiencies. The power of parts that only the meter sees is in the offset. ``meter_gain_error``
    is the half-width of the 95 % interval of the meter's own gain, as a ratio.
    """
    pair = (_Readings.of(sensor, stairs), _Readings.of(meter, stairs))
    judged = [_stair(*pair, window) for window in stairs]
    used = [stair for stair in judged if stair.reason is None]
    reason = _too_little(used)
    if reason is not None:
        return SensorCalibration(
            None, None, None, None, None, None, None, expected_gain, None, reason, tuple(judged)
        )
    line = _york(used)
    scatter = math.sqrt(line.reduced_chi_square)
    gain_error, offset_error = (
        error * max(1.0, scatter) for error in (line.slope_error, line.intercept_error)
    )
    half = math.hypot(
        student_t_quantile(len(used) - 2, CONFIDENCE) * gain_error, meter_gain_error * line.slope
    )
    low, high = line.slope - half, line.slope + half
    deviates = low > expected_gain[1] or high < expected_gain[0]
    is_known = deviates or half <= MAX_HALF_WIDTH_RATIO * abs(line.slope)
    return SensorCalibration(
        gain=line.slope,
        gain_error=gain_error,
        gain_low=low,
        gain_high=high,
        offset_w=line.intercept,
        offset_error_w=offset_error,
        scatter=scatter,
        expected_gain=expected_gain,
        deviates=deviates if is_known else None,
        reason=(
            None
            if is_known
            else (f"the gain is known only to within {half:.2g}; use more steps, or longer ones")
        ),
        stairs=tuple(judged),
    )


@dataclass(frozen=True)
class _Readings:
    """One sensor's readings sorted by time, its resolution, and by how much it may move on a steady
    stair, W."""

    channel: Channel
    step_w: float
    tolerance_w: float

    @classmethod
    def of(cls, channel: Channel, stairs: Sequence[Window]) -> "_Readings":
        """The readings; the resolution is the smallest difference between two that differ."""
        ordered = channel.in_time
        levels_w = [median(part) for window in stairs if len(part := ordered.during(window).known)]
        steps_w = np.diff(np.unique(ordered.known))
        return cls(
            ordered,
            float(steps_w.min(initial=math.inf)) if len(steps_w) else 0.0,
            MAX_DRIFT_RATIO * float(np.ptp(levels_w or [0.0])),
        )

    def standard_error_w(self, values: Values) -> float:
        """Standard error of a mean: neighbours that are alike count less (AR(1)), and half a step
        of the resolution remains in every mean."""
        apart = values - values.mean()
        squares = float(apart @ apart)
        alike = (
            min(max(float(apart[1:] @ apart[:-1]) / squares, 0.0), MAX_AUTOCORRELATION)
            if squares > 0
            else 0.0
        )
        variance = squares / (len(values) - 1) * (1 + alike) / (1 - alike)
        return math.sqrt(variance / len(values) + self.step_w**2 / 12)

    def drift_w(self, values: Values) -> float:
        """How far the mean moves from the first half to the second; 0 if that is small or may be
        chance."""
        halves = values[: len(values) // 2], values[len(values) // 2 :]
        moved_w = abs(float(halves[1].mean() - halves[0].mean()))
        chance_w = DRIFT_STANDARD_ERRORS * math.hypot(*map(self.standard_error_w, halves))
        return moved_w if moved_w > max(self.tolerance_w, chance_w) else 0.0


def _stair(sensor: _Readings, meter: _Readings, window: Window) -> Stair:
    """The means over the part of a stair that is steady on both sensors; the reason of one that
    cannot be used."""
    begin_ns = max(
        _settled_ns(sensor.channel.during(window)),
        _settled_ns(meter.channel.during(window)),
        window[0],
    )
    steady = [each.channel.during((begin_ns, window[1])).known for each in (sensor, meter)]
    fewest = min(map(len, steady))
    if fewest < MIN_READINGS:
        return Stair(
            *window,
            math.nan,
            math.nan,
            math.nan,
            math.nan,
            f"its steady part has {counted(fewest, 'reading')}; {MIN_READINGS} are needed",
        )
    errors_w = [
        each.standard_error_w(values) for each, values in zip((sensor, meter), steady, strict=True)
    ]
    drifts_w = [each.drift_w(values) for each, values in zip((sensor, meter), steady, strict=True)]
    reason = (
        f"its power changed by {max(drifts_w):.3g} W between the halves of its steady part"
        if max(drifts_w) > 0
        else None
    )
    return Stair(
        *window, float(steady[0].mean()), float(steady[1].mean()), errors_w[0], errors_w[1], reason
    )


def _settled_ns(part: Channel) -> int:
    """When a stair's readings are steady: the truncation in its first half that makes the standard
    error of the mean smallest.

    MSER: White, An effective truncation heuristic for bias reduction in simulation output,
    Simulation 69, 1997.
    """
    if not len(part):
        return 0
    values = np.nan_to_num(part.values)
    counts = np.arange(len(values), 0, -1)
    sums, squares = (
        np.cumsum(column[::-1])[::-1]
        for column in (values - values[-1], (values - values[-1]) ** 2)
    )
    criterion = np.maximum(squares - sums**2 / counts, 0.0) / counts.astype(float) ** 2
    return int(part.t_ns[int(np.argmin(criterion[: len(values) // 2 + 1]))])


def _too_little(stairs: Sequence[Stair]) -> str | None:
    if len(stairs) < MIN_STAIRS:
        return (
            f"{counted(len(stairs), 'step')} of the staircase can be used; {MIN_STAIRS} are needed"
        )
    for name, powers_w in (
        ("meter", [stair.meter_w for stair in stairs]),
        ("sensor", [stair.sensor_w for stair in stairs]),
    ):
        if not max(powers_w) > min(powers_w):
            return f"the {name} read the same power in all steps of the staircase"
    return None


def _york(stairs: Sequence[Stair]) -> _Line:
    """The line through points with independent errors in both coordinates."""
    x, y = (
        np.array([getattr(stair, name) for stair in stairs]) for name in ("meter_w", "sensor_w")
    )
    errors = (
        np.array([getattr(stair, name) for stair in stairs])
        for name in ("meter_error_w", "sensor_error_w")
    )
    x_weights, y_weights = (
        1 / np.maximum(error, SMALLEST_ERROR * np.ptp(axis)) ** 2
        for error, axis in zip(errors, (x, y), strict=True)
    )
    slope = float(np.ptp(y) / np.ptp(x)) * (1 if np.corrcoef(x, y)[0, 1] >= 0 else -1)
    for _ in range(MAX_ITERATIONS):
        weights = x_weights * y_weights / (x_weights + slope**2 * y_weights)
        total = weights.sum()
        mean_x, mean_y = float(weights @ x / total), float(weights @ y / total)
        from_x, from_y = x - mean_x, y - mean_y
        nearest = weights * (from_x / y_weights + slope * from_y / x_weights)
        before, slope = slope, float((weights * nearest) @ from_y / ((weights * nearest) @ from_x))
        if abs(slope - before) <= TOLERANCE * abs(slope):
            break
    intercept = mean_y - slope * mean_x
    adjusted = mean_x + nearest
    middle = float(weights @ adjusted / total)
    slope_error = 1 / math.sqrt(float(weights @ (adjusted - middle) ** 2))
    chi_square = float(weights @ (y - slope * x - intercept) ** 2)
    return _Line(
        slope,
        intercept,
        slope_error,
        math.hypot(1 / math.sqrt(total), middle * slope_error),
        chi_square / (len(stairs) - 2),
    )


def _nan_as_none(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
