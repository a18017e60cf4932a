"""Quantities as people read them: seconds as minutes or hours, joules as kilojoules, with the
digits that their spread leaves."""

import math
from collections.abc import Sequence

from reporter.data.text import significant

SCALES: dict[str, tuple[tuple[float, float, str], ...]] = {
    "s": ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h"), (math.inf, 86_400, "d")),
    "J": ((1000, 1, "J"), (1e6, 1e3, "kJ"), (1e9, 1e6, "MJ"), (math.inf, 1e9, "GJ")),
    "W": ((1, 1e-3, "mW"), (1000, 1, "W"), (math.inf, 1e3, "kW")),
    "MiB": ((1024, 1, "MiB"), (math.inf, 1024, "GiB")),
}
"""Of a unit: (values below this, are divided by this, and have this unit). site.js has the same
numbers."""
MAX_DIGITS, USUAL_DIGITS = 4, 3
ROUNDING = 1e-9
"""A smaller share of a value is that of its calculation, no spread."""


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """What a value is divided by to be read, and the unit that it then has."""
    rounded = float(f"{abs(value):.3g}")
    return next(
        ((factor, shown) for below, factor, shown in SCALES.get(unit, ()) if rounded < below),
        (1.0, unit),
    )


def quantity(value: float, unit: str, ends: Sequence[float] = ()) -> tuple[str, str]:
    """The value with its unit ("8.92 min"), and its interval in the same unit ("8.81 to 9.03"),
    empty without ``ends``.

    The interval's half-width has one significant digit, two if the first is 1; the value has three
    without an interval.
    """
    if not _is_interval(ends):
        factor, shown = scale_of(value, unit)
        return _with_unit(significant(value / factor, USUAL_DIGITS), shown), ""
    text, low, high = _written(value, unit, (ends[1] - ends[0]) / 2, ends)
    return text, f"{low} to {high}"


def quantity_with_spread(value: float, unit: str, spread: float | None) -> tuple[str, str]:
    """As :func:`quantity` with a standard deviation, in the value's unit: "8.92 min" and "±
    0.11"."""
    if not spread or not math.isfinite(spread) or spread < ROUNDING * abs(value):
        return quantity(value, unit)
    (text,), (factor, _) = _written(value, unit, spread, ()), scale_of(value, unit)
    return text, f"± {significant(spread / factor, 1 + f'{spread / factor:.1e}'.startswith('1'))}"


def _is_interval(ends: Sequence[float]) -> bool:
    return len(ends) == 2 and all(map(math.isfinite, ends)) and ends[0] < ends[1]


def _written(value: float, unit: str, half_width: float, others: Sequence[float]) -> list[str]:
    """The value with its unit, then the others without, all with the same decimal places."""
    factor, shown = scale_of(value, unit)
    places = max(0, _places(value / factor, half_width / factor))
    first, *rest = (f"{one / factor:.{places}f}" for one in (value, *others))
    return [_with_unit(first, shown), *rest]


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text


def _places(value: float, half_width: float) -> int:
    """Decimal places of the value, from its interval's half-width; from two to four significant
    digits remain."""
    first = f"{half_width:.1e}"
    places = -int(first.split("e")[1]) + first.startswith("1")
    size = math.floor(math.log10(abs(value))) if value else 0
    return min(max(places, 1 - size), MAX_DIGITS - 1 - size)
