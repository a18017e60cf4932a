"""Energy of a window of time from power readings or an energy counter, with its quality."""

import math
from dataclasses import dataclass, replace

import numpy as np

from suite.bundle.arrays import Times, Values
from suite.bundle.channels import Channel, Channels
from suite.catalog.power import PowerRule, PowerTotal
from suite.metrics.window import Measured, increase, integral


@dataclass(frozen=True)
class Energy:
    """Energy of a window. ``energy_j`` is None, with a ``reason``, if the readings do not determine it.

    The other fields are those of :class:`suite.metrics.window.Measured`.
    """

    energy_j: float | None
    reason: str | None
    coverage: float
    gaps: int
    achieved_period_s: float | None
    longest_gap_s: float | None
    count: int
    rejected: int


def integrate_power(t_ns: Times, power_w: Values, start_ns: int, stop_ns: int, period_s: float, plausible_w: tuple[float, float]) -> Energy:
    """Energy in [start, stop] from power readings (W); readings outside ``plausible_w`` are left out. See :func:`integral`."""
    return _energy(integral(t_ns, power_w, start_ns, stop_ns, period_s, plausible_w))


def difference_counter(t_ns: Times, energy_j: Values, start_ns: int, stop_ns: int, period_s: float, max_w: float = math.inf) -> Energy:
    """Energy in [start, stop] from readings of an energy counter (J) without wraps; see :func:`increase`.

    A reading is left out if its increase needs more power than ``max_w``.
    """
    return _energy(increase(t_ns, energy_j, start_ns, stop_ns, period_s, max_w))


def _energy(measured: Measured) -> Energy:
    return Energy(
        energy_j=measured.value,
        reason=measured.reason,
        coverage=measured.coverage,
        gaps=measured.gaps,
        achieved_period_s=measured.achieved_period_s,
        longest_gap_s=measured.longest_gap_s,
        count=measured.count,
        rejected=measured.rejected,
    )


def energy_of(channels: Channels, total: PowerTotal, start_ns: int, stop_ns: int) -> Energy:
    """Energy of a total in a window: the sum of its channels' energies; None if one channel has none."""
    return _sum(total, [_channel_energy(channels.get(total.source, name), total.rule, start_ns, stop_ns) for name in total.channels])


def _channel_energy(channel: Channel, rule: PowerRule, start_ns: int, stop_ns: int) -> Energy:
    ordered, period_s = channel.in_time, channel.period_s or 0.0
    if rule.unit == "J":
        return difference_counter(ordered.t_ns, ordered.values, start_ns, stop_ns, period_s, rule.plausible_w[1])
    return integrate_power(ordered.t_ns, ordered.values, start_ns, stop_ns, period_s, (rule.plausible_w[0], rule.plausible_w[1]))


def _sum(total: PowerTotal, parts: list[Energy]) -> Energy:
    """Sum of the channels' energies, with the quality of the channel with the lowest coverage."""
    worst = min(parts, key=lambda part: part.coverage)
    missing = [f"{channel}: {part.reason}" for channel, part in zip(total.channels, parts, strict=True) if part.reason]
    energies_j = [part.energy_j for part in parts if part.energy_j is not None]
    return replace(
        worst,
        energy_j=None if missing else float(np.sum(energies_j)),
        reason="; ".join(missing) or None,
        rejected=sum(part.rejected for part in parts),
    )
