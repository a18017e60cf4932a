"""Scales with round ticks that span the drawn values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reporter.data.quantities import scale_of

DECADE = 10.0
"""Values that span a decade have a logarithmic axis."""
UNITS = {
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
    "d": "days",
    "J": "joules",
    "kJ": "kilojoules",
    "MJ": "megajoules",
    "GJ": "gigajoules",
}
SMALLEST = 1e-9
"""Share of a logarithmic axis' lowest tick that stands for all values below."""


@dataclass(frozen=True)
class Scale:
    """An axis: ``ticks`` are values that span the drawn ones, round in the axis' ``unit``.

    ``unit_size`` is how much of the values' own unit that is; ``unit`` is empty where the axis has
    the values' unit.
    """

    ticks: tuple[float, ...]
    logarithmic: bool = False
    unit_size: float = 1.0
    unit: str = ""

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The ticks with their texts."""
        return tuple(
            (tick, tick_text(float(f"{tick / self.unit_size:.12g}"))) for tick in self.ticks
        )

    def share(self, value: float) -> float:
        """Where the value is between the first tick (0) and the last one (1); beyond them, less and
        more."""
        low, high = self.ticks[0], self.ticks[-1]
        return (
            math.log(max(value, low * SMALLEST) / low) / math.log(high / low)
            if self.logarithmic
            else (value - low) / (high - low)
        )


def tick_text(value: float) -> str:
    """A tick label: thousands are grouped from 10 000, powers of ten are used from 10⁹."""
    return f"{value:,.0f}".replace(",", "\u202f") if 1e4 <= abs(value) < 1e9 else f"{value:g}"


def linear_scale(values: Sequence[float], about: int = 6) -> Scale:
    """A linear scale that includes 0, to the next round value above the highest."""
    return linear_scale_without_zero([*values, 0.0], about)


def linear_scale_without_zero(values: Sequence[float], about: int = 6) -> Scale:
    """A linear scale that need not include 0: for positions, not for bars."""
    low, high = min(values), max(values)
    if low == high:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return Scale((0.0, 1.0))
    step = _round_step((high - low) / about)
    lowest, highest = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(tuple(round(index * step, 12) for index in range(lowest, highest + 1)))


def logarithmic_scale(values: Sequence[float]) -> Scale:
    """A logarithmic scale of positive values; ticks at 1, 2, 5 times powers of ten, or at powers of
    ten over more than three decades."""
    low, high = (
        math.floor(math.log10(min(values)) + 1e-9),
        math.ceil(math.log10(max(values)) - 1e-9),
    )
    factors = (1, 2, 5) if high - low <= 3 else (1,)
    every = sorted(
        round(factor * 10.0**power, 12) for power in range(low, high + 1) for factor in factors
    )
    below = [tick for tick in every if tick <= min(values)] or every[:1]
    above = [tick for tick in every if tick >= max(values)] or every[-1:]
    chosen = tuple(tick for tick in every if below[-1] <= tick <= above[0])
    return Scale(chosen if len(chosen) > 1 else (chosen[0], chosen[0] * 10), True)


Make = Callable[[Sequence[float]], Scale]


def fitting_scale(values: Sequence[float]) -> Scale:
    """A logarithmic scale of positive values that span a decade, else a linear one from 0."""
    return logarithmic_scale(values) if spans_a_decade(values) else linear_scale(values)


def fitting_closely(values: Sequence[float]) -> Scale:
    """As :func:`fitting_scale`, but a linear scale need not include 0."""
    return (
        logarithmic_scale(values) if spans_a_decade(values) else linear_scale_without_zero(values)
    )


def spans_a_decade(values: Sequence[float]) -> bool:
    """Whether positive values differ by a factor of ten or more."""
    return min(values) > 0 and max(values) / min(values) >= DECADE


def scale_in_units(values: Sequence[float], unit: str, make: Make = fitting_scale) -> Scale:
    """The scale that ``make`` returns, in a multiple of the unit that suits the values: minutes or
    hours instead of seconds."""
    positive = [value for value in values if value > 0] or [1.0]
    size, shown = scale_of(
        math.sqrt(min(positive) * max(positive)) if spans_a_decade(positive) else max(positive),
        unit,
    )
    found = make([value / size for value in values])
    return Scale(tuple(tick * size for tick in found.ticks), found.logarithmic, size, shown)


def doubling_scale(values: Sequence[float]) -> Scale:
    """A logarithmic scale of positive values with at most ten intervals between ticks, at powers of
    two."""
    low, high = math.floor(math.log2(min(values)) + 1e-9), math.ceil(math.log2(max(values)) - 1e-9)
    step = 1 + (high - low) // 10
    steps = max(1, math.ceil((high - low) / step))
    return Scale(tuple(2.0 ** (low + index * step) for index in range(steps + 1)), True)


def _round_step(raw: float) -> float:
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-12))
