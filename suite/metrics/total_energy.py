"""Energy of a window from a bundle's readings, by the rule that made the total."""

from dataclasses import replace

import numpy as np

from suite.bundle.channels import Channel, Channels
from suite.catalog.power import PowerRule, PowerTotal
from suite.metrics.energy import Energy, difference_counter, integrate_power


def energy_of(channels: Channels, total: PowerTotal, start_ns: int, stop_ns: int) -> Energy:
    """Energy of a total in a window: every channel by itself, then the sum; one channel without an energy leaves none."""
    return _sum(total, [_energy(channels.get(total.source, name), total.rule, start_ns, stop_ns) for name in total.channels])


def _energy(channel: Channel, rule: PowerRule, start_ns: int, stop_ns: int) -> Energy:
    ordered, period_s = channel.in_time, channel.period_s or 0.0
    if rule.unit == "J":
        return difference_counter(ordered.t_ns, ordered.values, start_ns, stop_ns, period_s, rule.plausible_w[1])
    return integrate_power(ordered.t_ns, ordered.values, start_ns, stop_ns, period_s, rule.plausible_w)


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
