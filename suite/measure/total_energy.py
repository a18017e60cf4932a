"""Energy of a window from a bundle's readings, by the rule that made the total."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suite.measure.energy import Energy, difference_counter, integrate_power
from suite.measure.power import PowerTotal

if TYPE_CHECKING:
    import pandas

NANO = 1e-9


def energy_of(readings: "pandas.DataFrame", total: PowerTotal, start_ns: int, stop_ns: int) -> Energy:
    """Energy of a total in a window: every channel by itself, then the sum; one channel without an energy leaves none.

    ``readings`` has the columns of readings.parquet. The period is the median time between a channel's readings.
    """
    parts = []
    of_source = readings[readings["source"] == total.source]
    for channel in total.channels:
        chosen = of_source[of_source["channel"] == channel].sort_values("t_ns", kind="stable")
        t_ns, values = chosen["t_ns"].to_numpy(np.int64), chosen["value"].to_numpy(np.float64)
        period_s = float(np.median(np.diff(t_ns))) * NANO if len(t_ns) > 1 else 0.0
        if total.rule.unit == "J":
            parts.append(difference_counter(t_ns, values, start_ns, stop_ns, period_s, total.rule.plausible_w[1]))
        else:
            parts.append(integrate_power(t_ns, values, start_ns, stop_ns, period_s, total.rule.plausible_w))
    return _sum(total, parts)


def _sum(total: PowerTotal, parts: list[Energy]) -> Energy:
    """The channels' energies added up; as good as the worst of them."""
    worst = min(parts, key=lambda part: part.coverage)
    missing = [f"{channel}: {part.reason}" for channel, part in zip(total.channels, parts, strict=True) if part.reason]
    energies_j = [part.energy_j for part in parts if part.energy_j is not None]
    return replace(
        worst,
        energy_j=None if missing else float(np.sum(energies_j)),
        reason="; ".join(missing) or None,
        rejected=sum(part.rejected for part in parts),
    )
