"""A figure: a number that says its unit, where it comes from, how often it was taken, how much it covers and how it spreads."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One derived number. ``value`` is None when it is unknown, and then ``reason`` says why; it is never guessed.

    ``source`` names the raw record it is computed from, ``period_s`` the readings' period (None: every event is recorded),
    ``coverage`` the fraction of the measured time that the record covers, ``spread`` the sample standard deviation over
    ``count`` values in the same unit (None for fewer than two). ``method`` names what made the value where there is more than one way: of an
    energy, the rule that summed it, what its sensor covers and what kind of instrument it is.
    """

    value: float | None
    unit: str
    source: str
    count: int
    period_s: float | None = None
    coverage: float | None = None
    spread: float | None = None
    reason: str | None = None
    method: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dict(vars(self))


def unknown(unit: str, source: str, reason: str) -> Figure:
    """A figure that could not be established, with the reason."""
    return Figure(value=None, unit=unit, source=source, count=0, reason=reason)


def mean_figure(
    values: Sequence[float], unit: str, source: str, reason_if_empty: str, period_s: float | None = None, coverage: float | None = None
) -> Figure:
    """The mean of the values with their sample standard deviation."""
    if not values:
        return unknown(unit, source, reason_if_empty)
    if not all(map(math.isfinite, values)):
        return unknown(unit, source, "one of its values is no number")
    spread = statistics.stdev(values) if len(values) > 1 else None
    return Figure(math.fsum(values) / len(values), unit, source, len(values), period_s, coverage, spread)
