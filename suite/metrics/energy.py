"""Energy of a window of time from power readings or an energy counter, with its quality and its
uncertainty.

:func:`energy_of` measures one total; :mod:`suite.metrics.power_totals` chooses among all that were
read.
"""

import fnmatch
import math
from dataclasses import dataclass, replace

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Mask, Times, Values, Window, span_s
from suite.bundle.attached import CLOCK_ERROR, MEAN
from suite.bundle.channels import Channel, Channels
from suite.catalog.power import Coverage, PowerTotal, totals_of_channels
from suite.metrics.energy_counter import EnergyCounter, mended_counter
from suite.metrics.liveness import plausible_readings, plausible_together
from suite.metrics.uncertainty import (
    Uncertainty,
    at_random_moments,
    edges_half_width,
    gaps_half_width,
    quantisation_half_width,
    sampling_half_width,
    shift_half_width,
    uncertainty_of_ends,
)
from suite.metrics.window import (
    GAP_PERIODS,
    WindowValue,
    integrate_rates,
    plausible_counts,
    plausible_rates,
    readings_around,
)


@dataclass(frozen=True)
class Energy(WindowValue):
    """Energy of a window; ``uncertainty`` is None where there is none."""

    uncertainty: Uncertainty | None = None

    @property
    def energy_j(self) -> float | None:
        """The measured value, J; None, with a ``reason``, if the readings do not determine it."""
        return self.value

    @property
    def interval_j(self) -> tuple[float, float] | None:
        """The 95 % interval, J; None where there is none."""
        half_j = None if self.uncertainty is None else self.uncertainty.half_width
        if self.energy_j is None or half_j is None:
            return None
        return self.energy_j - half_j, self.energy_j + half_j


def integrate_power(
    t_ns: Times,
    power_w: Values,
    start_ns: int,
    stop_ns: int,
    period_s: float,
    plausible_w: tuple[float, float],
) -> Energy:
    """Energy in [start, stop] from power readings (W); readings outside ``plausible_w`` are left
    out. See :func:`integrate_rates`."""
    return Energy(**vars(integrate_rates(t_ns, power_w, start_ns, stop_ns, period_s, plausible_w)))


def energy_of(channels: Channels, total: PowerTotal, start_ns: int, stop_ns: int) -> Energy:
    """Energy of a total in a window: the sum of its channels' energies, calibrated as the rule
    says, with its uncertainty.

    None, with the reason, if one channel has none, if the readings cover less of the window than
    the rule demands, if it is 0, or if the rails behind it read more.
    """
    return channels.cached(
        ("energy", total, start_ns, stop_ns), lambda: _energy_of(channels, total, start_ns, stop_ns)
    )


def _energy_of(channels: Channels, total: PowerTotal, start_ns: int, stop_ns: int) -> Energy:
    rule = total.rule
    parts = [_channel_energy(channels, total, name, (start_ns, stop_ns)) for name in total.channels]
    whole = _sum(total, parts)
    stuck = sum(
        _count(channels.get(total.source, name).t_ns, (start_ns, stop_ns))
        - _count(_alive(channels, total, name).t_ns, (start_ns, stop_ns))
        for name in total.channels
    )
    whole = replace(whole, rejected=whole.rejected + stuck)
    left_out = f" ({stuck} readings of a stuck or erring sensor are left out)" if stuck else ""
    if whole.energy_j is None:
        return replace(whole, reason=f"{whole.reason}{left_out}")
    if whole.coverage < rule.min_coverage:
        reason = (
            f"its readings cover {whole.coverage:.0%} of the time, less than"
            f" {rule.min_coverage:.0%}{left_out}"
        )
        return replace(whole, value=None, reason=reason)
    if whole.energy_j == 0.0:
        return replace(whole, value=None, reason="it read 0 all the time")
    energy_j = whole.energy_j * rule.scale + rule.offset_w * (stop_ns - start_ns) * SECONDS_PER_NS
    parts_of_total = _counter_uncertainty if rule.unit == "J" else _power_uncertainty
    uncertainty = parts_of_total(channels, total, (start_ns, stop_ns)).times(rule.scale)
    energy = replace(
        whole,
        value=energy_j,
        uncertainty=replace(uncertainty, gain=rule.gain_error * abs(energy_j)),
    )
    if rule.is_before_v03:
        return energy
    return with_rails_behind(energy, channels, total, (start_ns, stop_ns))


def with_rails_behind(
    energy: Energy, channels: Channels, total: PowerTotal, window: Window
) -> Energy:
    """The energy of a total, or none where the rails behind it read more: labels of a carrier board
    can be exchanged."""
    rule, names = total.rule, [each.name for each in channels.of_source(total.source)]
    patterns = [pattern for pattern in rule.contains if fnmatch.filter(names, pattern)]
    if energy.energy_j is None or not patterns:
        return energy
    (behind,) = totals_of_channels(
        [replace(rule, sources=(total.source,), channels=tuple(patterns), contains=())],
        ((total.source, name) for name in names),
    )
    rails_j = energy_of(channels, behind, *window).energy_j or 0.0
    error = rule.gain_error
    if energy.energy_j * (1 + error) >= rails_j * (1 - error):
        return energy
    return refuted(energy, " and ".join(behind.channels), rails_j)


def refuted(energy: Energy, names: str, energy_j: float) -> Energy:
    """No energy: the parts of these names, which it should include, have more."""
    reason = (
        f"it read {energy.energy_j:.4g} J, less than the {energy_j:.4g} J of {names}, which it"
        " should include"
    )
    return replace(energy, value=None, reason=reason, uncertainty=None)


def _count(t_ns: Times, window: Window) -> int:
    return int(np.count_nonzero((t_ns >= window[0]) & (t_ns <= window[1])))


def _alive(channels: Channels, total: PowerTotal, name: str) -> Channel:
    """The readings of a total's channel in time, without those of a meter that no longer
    measures."""
    ordered = channels.get(total.source, name).in_time
    kept = _is_alive(channels, total, name)
    return ordered if kept.all() else ordered.select(kept)


def _is_alive(channels: Channels, total: PowerTotal, name: str) -> Mask:
    """Mask of these readings among those of the channel in time."""
    place = total.channels.index(name)
    return channels.cached(("alive", total), lambda: _which_are_alive(channels, total))[place]


def _which_are_alive(channels: Channels, total: PowerTotal) -> list[Mask]:
    """The same mask of each channel."""
    rule, is_counter, is_whole = total.rule, total.rule.unit == "J", len(total.channels) == 1
    is_board = rule.coverage not in (Coverage.CHIP, Coverage.CHIPS)
    found = [channels.get(total.source, name).in_time for name in total.channels]
    masks = [
        plausible_readings(
            channel.values,
            rule.still_factor,
            is_counter=is_counter,
            is_whole=is_whole,
            is_board=is_board,
            step=total.step(channel.name),
        )
        for channel in found
    ]
    if is_counter or is_whole or not rule.still_factor:
        return masks
    rails = [(channel.t_ns, channel.values) for channel in found]
    together = plausible_together(rails, is_board)
    return [mask & also for mask, also in zip(masks, together, strict=True)]


def _counter(channels: Channels, total: PowerTotal, name: str) -> EnergyCounter:
    """The readings of a total's counter that count."""
    return channels.cached(("counter", total, name), lambda: _read_counter(channels, total, name))


def _read_counter(channels: Channels, total: PowerTotal, name: str) -> EnergyCounter:
    rule, ordered = total.rule, channels.get(total.source, name).in_time
    t_ns, counts, max_w = ordered.t_ns, ordered.values, rule.plausible_w[1]
    if rule.is_before_v03:
        kept = plausible_counts(t_ns, counts, max_w)
        return EnergyCounter(t_ns[kept], counts[kept], np.zeros(max(0, kept.sum() - 1), np.bool_))
    is_stuck = ~_is_alive(channels, total, name)
    return mended_counter(t_ns, counts, is_stuck, max_w, total.delay_s)


def _channel_energy(channels: Channels, total: PowerTotal, name: str, window: Window) -> Energy:
    alive = _alive(channels, total, name)
    min_w, max_w = total.rule.plausible_w[:2]
    if total.rule.unit != "J":
        period_s = alive.period_s or 0.0
        return integrate_power(alive.t_ns, alive.values, *window, period_s, (min_w, max_w))
    counter = _counter(channels, total, name)
    energy = Energy(**vars(counter.increase(window, alive.period_s or 0.0)))
    energy = replace(energy, rejected=_count(alive.t_ns, window) - _count(counter.t_ns, window))
    if energy.energy_j == 0.0 and counter.energy_j[0] == counter.energy_j[-1]:
        reason = f"the counter stood still at {counter.energy_j[0]:g} J"
        return replace(energy, value=None, reason=reason)
    return energy


def _sum(total: PowerTotal, parts: list[Energy]) -> Energy:
    """Sum of the channels' energies, with the quality of the channel with the lowest coverage."""
    worst = min(parts, key=lambda part: part.coverage)
    missing = [
        f"{channel}: {part.reason}"
        for channel, part in zip(total.channels, parts, strict=True)
        if part.reason
    ]
    energies_j = [part.energy_j for part in parts if part.energy_j is not None]
    return replace(
        worst,
        value=None if missing else float(np.sum(energies_j)),
        reason="; ".join(missing) or None,
        rejected=sum(part.rejected for part in parts),
    )


def _power_uncertainty(channels: Channels, total: PowerTotal, window: Window) -> Uncertainty:
    """The uncertainty of an integral of power; what varies between readings is judged on the sum of
    the channels, and gaps on each."""
    window_s = span_s(window)
    longest_s = [
        GAP_PERIODS * (channels.get(total.source, name).period_s or 0.0) for name in total.channels
    ]
    series = _plausible_readings(channels, total, window)
    (t_s, first_w), *others = series
    power_w = np.sum([first_w, *(np.interp(t_s, *other) for other in others)], axis=0)
    is_random, is_mean = at_random_moments(t_s), bool(len(channels.get(total.source, MEAN)))
    sampling = 0.0 if is_mean else None
    if is_random and not is_mean:
        sampling = sampling_half_width(t_s, power_w, window_s, longest_s[0])
    return Uncertainty(
        sampling=sampling,
        quantisation=math.hypot(
            *(
                quantisation_half_width(
                    *one, window_s, total.step(name), varies=not total.rule.is_before_v03
                )
                for one, name in zip(series, total.channels, strict=True)
            )
        ),
        gain=0.0,
        gaps=math.fsum(
            gaps_half_width(*one, window_s, pause_s)
            for one, pause_s in zip(series, longest_s, strict=True)
        ),
        time=math.hypot(
            edges_half_width(t_s, power_w, window_s),
            _delay_half_width(t_s, power_w, window_s, total.delay_s),
            shift_half_width(t_s, power_w, window_s, _clock_error_s(channels, total)),
        ),
        possibly_aliased=not (is_random or is_mean),
    )


def _counter_uncertainty(channels: Channels, total: PowerTotal, window: Window) -> Uncertainty:
    """The uncertainty of an energy counter's increase: it misses nothing between readings, but in
    its gaps; its ends are interpolated."""
    window_s = span_s(window)
    ends = [
        math.hypot(*(_end_half_width(*one, end_s, total.delay_s) for end_s in (0.0, window_s)))
        for one in _plausible_readings(channels, total, window)
    ]
    # at each end by half a step, evenly distributed
    steps = [total.step(name) or 0.0 for name in total.channels]
    quantisation = math.hypot(*(step / math.sqrt(3) for step in steps))
    counters = (_counter(channels, total, name) for name in total.channels)
    gaps = math.fsum(counter.gaps_half_width(window) for counter in counters)
    return replace(uncertainty_of_ends(math.hypot(*ends)), quantisation=quantisation, gaps=gaps)


def _plausible_readings(
    channels: Channels, total: PowerTotal, window: Window
) -> list[tuple[Values, Values]]:
    """Of each channel of a total, times since the window's start, s, and values of the plausible
    readings in it and of the nearest on both sides; no time twice."""
    found = []
    for name in total.channels:
        if total.rule.unit == "J":
            counter = _counter(channels, total, name)
            t_ns, values = counter.t_ns, counter.energy_j
        else:
            alive, (min_w, max_w) = _alive(channels, total, name), total.rule.plausible_w[:2]
            kept = plausible_rates(alive.values, (min_w, max_w))
            t_ns, values = alive.t_ns[kept], alive.values[kept]
        t_ns, values = readings_around(t_ns, values, *window)
        t_ns, first = np.unique(t_ns, return_index=True)
        found.append(((t_ns - window[0]).astype(np.float64) * SECONDS_PER_NS, values[first]))
    return found


def _delay_half_width(t_s: Values, power_w: Values, window_s: float, delay_s: float) -> float:
    """What readings that are all ``delay_s`` old shift out of the window at its start, less what
    they shift into it at its end."""
    first_w, last_w = np.interp([0.0, window_s], t_s, power_w)
    return delay_s * abs(float(last_w - first_w))


def _clock_error_s(channels: Channels, total: PowerTotal) -> float:
    """The error of a clock that was fitted to the run, as recorded with the readings; 0 for meters
    on the run's own clock."""
    error = channels.get(total.source, CLOCK_ERROR)
    return max(0.0, error.maximum) if len(error.known) else 0.0


def _end_half_width(t_s: Values, energy_j: Values, moment_s: float, delay_s: float) -> float:
    """Half-width of a counter interpolated at a moment: the power beside it may be any between
    those of the neighbouring spacings."""
    if len(t_s) < 2:
        return 0.0
    after = int(np.clip(np.searchsorted(t_s, moment_s), 1, len(t_s) - 1))
    near = slice(max(0, after - 2), after + 2)
    power_w = np.diff(energy_j[near]) / np.diff(t_s[near])
    lengths_s = abs(moment_s - t_s[after - 1]), abs(t_s[after] - moment_s)
    return float((power_w.max() - power_w.min()) * (min(lengths_s) + delay_s))
