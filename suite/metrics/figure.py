"""A figure: one derived number with its unit, source, count, period, coverage and spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suite.bundle.arrays import Values
from suite.catalog.power import Coverage, PowerTotal, Tier


@dataclass(frozen=True)
class Sensor:
    """The sensor of an energy or power: meters, the rules that summed their channels, what they cover, and the tier of the worst meter."""

    instruments: tuple[str, ...]
    rules: tuple[str, ...]
    covers: Coverage
    tier: Tier

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "instruments": list(self.instruments),
            "rules": list(self.rules),
            "covers": self.covers.value,
            "tier": self.tier.value,
        }


@dataclass(frozen=True)
class Figure:
    """One derived number. ``value`` is None, with a ``reason``, when it is unknown; it is never guessed.

    ``source`` is the raw record that it is computed from, ``period_s`` the readings' period (None: every event is recorded), ``coverage`` the
    fraction of the measured time that the record covers, ``spread`` the sample standard deviation over ``count`` values in the same unit
    (None for fewer than two). ``method`` is a remark for people on how the value was obtained; programs read ``sensor`` (of energies and
    powers) and ``is_significant`` (of differences: more than twice the standard error; None: not tested).
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
    sensor: Sensor | None = None
    is_significant: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``sensor`` and ``is_significant`` only where they apply."""
        plain = {**vars(self), "sensor": None if self.sensor is None else self.sensor.to_dict()}
        return {name: value for name, value in plain.items() if value is not None or name not in ("sensor", "is_significant")}


def unknown(unit: str, source: str, reason: str) -> Figure:
    """A figure without a value, with the reason."""
    return Figure(value=None, unit=unit, source=source, count=0, reason=reason)


def mean_figure(
    values: Sequence[float] | Values, unit: str, source: str, reason_if_empty: str, period_s: float | None = None, coverage: float | None = None
) -> Figure:
    """Mean of the values with their sample standard deviation; unknown if there are none or one of them is not finite."""
    if not len(values):
        return unknown(unit, source, reason_if_empty)
    if not all(map(math.isfinite, values)):
        return unknown(unit, source, "one of its values is NaN or infinite")
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)) if len(values) > 1 else None
    return Figure(mean, unit, source, len(values), period_s, coverage, spread)


def sensor_of(totals: Sequence[PowerTotal]) -> Sensor:
    """The sensor of one power total, or of the sum of several with the same coverage."""
    tiers = list(Tier)
    return Sensor(
        instruments=tuple(dict.fromkeys(total.source for total in totals)),
        rules=tuple(dict.fromkeys(total.rule.name for total in totals)),
        covers=totals[0].rule.coverage,
        tier=max((total.rule.tier for total in totals), key=tiers.index),
    )
