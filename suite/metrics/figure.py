"""A figure: one derived number with its unit, source, count, period, coverage and spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suite.bundle.arrays import Values
from suite.catalog.power import Coverage, PowerTotal, Tier
from suite.metrics.power_totals import combined_coverage, worst_tier
from suite.metrics.uncertainty import Uncertainty

NOT_FINISHED = "the run was not finished"
"""Why figures of a whole run are unknown."""
OPTIONAL = ("sensor", "is_significant", "uncertainty", "level", "low", "high")


@dataclass(frozen=True)
class Sensor:
    """The sensor of an energy or power: meters, the rules that summed their channels, what they
    cover, and the tier of the worst meter. ``contradicted_by``: meters of the same that differ from
    them by more than both state."""

    instruments: tuple[str, ...]
    rules: tuple[str, ...]
    covers: Coverage
    tier: Tier
    contradicted_by: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "instruments": list(self.instruments),
            "rules": list(self.rules),
            "covers": self.covers.value,
            "tier": self.tier.value,
            **({"contradicted_by": list(self.contradicted_by)} if self.contradicted_by else {}),
        }


@dataclass(frozen=True)
class Figure:
    """One derived number. ``value`` is None, with a ``reason``, when it is unknown; it is never
    guessed.

    ``source`` is the raw record that it is computed from, ``period_s`` the readings' period (None:
    every event is recorded), ``coverage`` the fraction of the measured time that the record covers,
    ``spread`` the sample standard deviation over ``count`` values in the same unit (None for fewer
    than two). ``method`` is a remark for people on how the value was obtained; programs read
    ``sensor`` (of energies and powers) and ``is_significant`` (of differences: more than twice the
    standard error; None: not tested).

    ``low`` and ``high`` bound the 95 % interval of an energy or a power, ``uncertainty`` holds the
    parts of its half-width, ``level`` is the level of the EE HPC WG's methodology that the
    measurement meets. Without ``low`` no coverage is claimed.
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
    uncertainty: Uncertainty | None = None
    level: str | None = None

    @property
    def low(self) -> float | None:
        """The lower end of the 95 % interval."""
        return self._end(-1)

    @property
    def high(self) -> float | None:
        """The upper end of the 95 % interval."""
        return self._end(1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; optional ones only where they apply."""
        nested = {
            name: None if value is None else value.to_dict()
            for name, value in (("sensor", self.sensor), ("uncertainty", self.uncertainty))
        }
        plain = {**vars(self), **nested, "low": self.low, "high": self.high}
        return {
            name: value
            for name, value in plain.items()
            if value is not None or name not in OPTIONAL
        }

    def _end(self, sign: int) -> float | None:
        half_width = None if self.uncertainty is None else self.uncertainty.half_width
        return None if self.value is None or half_width is None else self.value + sign * half_width


def unknown_figure(unit: str, source: str, reason: str) -> Figure:
    """A figure without a value, with the reason."""
    return Figure(value=None, unit=unit, source=source, count=0, reason=reason)


def mean_figure(
    values: Sequence[float] | Values,
    unit: str,
    source: str,
    reason_if_empty: str,
    period_s: float | None = None,
) -> Figure:
    """Mean of the values with their sample standard deviation; unknown if there are none or one of
    them is not finite."""
    if not len(values):
        return unknown_figure(unit, source, reason_if_empty)
    if not all(map(math.isfinite, values)):
        return unknown_figure(unit, source, "one of its values is NaN or infinite")
    mean = math.fsum(values) / len(values)
    spread = (
        math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
        if len(values) > 1
        else None
    )
    return Figure(mean, unit, source, len(values), period_s, spread=spread)


def sensor_of(totals: Sequence[PowerTotal], coverage: Coverage | None = None) -> Sensor:
    """The sensor of totals that are added: of one machine, or of the nodes of one run, which all
    cover ``coverage``."""
    return Sensor(
        instruments=tuple(dict.fromkeys(total.source for total in totals)),
        rules=tuple(dict.fromkeys(total.rule.name for total in totals)),
        covers=coverage or combined_coverage(totals),
        tier=worst_tier(totals),
        contradicted_by=tuple(
            dict.fromkeys(total.contradicted_by for total in totals if total.contradicted_by)
        ),
    )
