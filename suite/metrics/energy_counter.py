"""Readings of an energy counter that falls, jumps or stands still: where it may have lost count
there is a gap, and its power is a usual one."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Integers, Mask, Times, Values, Window, span_s
from suite.metrics.liveness import spikes
from suite.metrics.window import GAP_PERIODS, WindowValue, counter_increase

SUSTAINED = 3
"""A counter that fell or jumped goes on from there if as many readings in a row rise plausibly."""
BESIDE = 5
"""Times between readings on each side of a gap whose mean power is taken for the gap's."""
USUAL = (5, 95)
"""Percentiles of the power between readings."""


@dataclass(frozen=True, eq=False)
class EnergyCounter:
    """Readings sorted by time, and the energies as if the counter had lost nothing. ``is_gap``: of
    the time from each reading to the next, whether the counter may have lost count in it."""

    t_ns: Times
    energy_j: Values
    is_gap: Mask

    @cached_property
    def power_w(self) -> Values:
        """Mean power from each reading to the next; NaN between two of one time."""
        lengths_s = np.diff(self.t_ns) * SECONDS_PER_NS
        powers_w: Values = np.diff(self.energy_j) / np.where(lengths_s > 0, lengths_s, np.nan)
        return powers_w

    @cached_property
    def usual_w(self) -> tuple[float, float]:
        """The powers that nine tenths of the times between readings span, without the gaps; any
        power if there is none."""
        known_w = self.power_w[~self.is_gap & np.isfinite(self.power_w)]
        low_w, high_w = np.percentile(known_w, USUAL) if len(known_w) else (-np.inf, np.inf)
        return float(low_w), float(high_w)

    def gaps_s(self, window: Window) -> Values:
        """How much of a window each gap takes, s."""
        lengths_s: Values = np.diff(self.t_ns.clip(*window))[self.is_gap] * SECONDS_PER_NS
        return lengths_s

    def increase(self, window: Window, period_s: float) -> WindowValue:
        """Increase in a window; gaps do not count as covered, not even short ones."""
        whole = counter_increase(self.t_ns, self.energy_j, *window, period_s)
        if not self.is_gap.any():
            return whole
        lengths_s = np.diff(self.t_ns)[self.is_gap] * SECONDS_PER_NS
        short_s = self.gaps_s(window)[lengths_s <= GAP_PERIODS * period_s * (1 + 1e-9)]
        return replace(
            whole,
            coverage=whole.coverage - float(short_s.sum()) / (span_s(window) or 1.0),
            gaps=whole.gaps + int(np.count_nonzero(short_s)),
        )

    def gaps_half_width(self, window: Window) -> float:
        """Half-width of what the gaps add to the energy of a window: in a gap the power may be any
        usual one."""
        if not self.is_gap.any():
            return 0.0
        powers_w = self.power_w[self.is_gap]
        apart_w = np.maximum(self.usual_w[1] - powers_w, powers_w - self.usual_w[0])
        # NaN: a gap between two readings of one time
        return float(self.gaps_s(window) @ np.fmax(0.0, apart_w))


def mended_counter(
    t_ns: Times, counts: Values, is_stuck: Mask, max_w: float, delay_s: float
) -> EnergyCounter:
    """The readings of a counter, sorted by time, that count. From one to the next it rises by
    ``max_w`` at most, in the time between them and the age ``delay_s`` that one of them may have.

    A gap is where it fell or jumped and goes on from there, where readings do not count, and where
    its power is absurd; there, an unusual power is replaced by the power beside it.
    """
    known = np.isfinite(counts)  # the counter went on where it was not read
    t_ns, counts, is_stuck = t_ns[known], counts[known], is_stuck[known]
    # the counter stopped at some moment before the first reading that shows it
    is_stopped = is_stuck | np.append(is_stuck[1:], False)
    kept = np.flatnonzero(~is_stopped)
    if not _rises(t_ns[kept], counts[kept], max_w, delay_s).all():
        kept = _followed(kept, t_ns, counts, (max_w, delay_s))
    t_ns, is_gap = t_ns[kept], np.diff(kept) > 1
    counts = counts[kept]
    is_gap |= ~_rises(t_ns, counts, max_w, delay_s)
    powers_w = np.diff(counts) / (np.diff(t_ns).clip(1) * SECONDS_PER_NS + delay_s)
    counted = ~is_gap & (powers_w > 0)  # a coarse counter stands still most of the time
    is_gap[counted] = spikes(powers_w[counted])
    counter = EnergyCounter(t_ns, counts, is_gap)
    return _bridged(counter) if is_gap.any() else counter


def _rises(t_ns: Times, counts: Values, max_w: float, delay_s: float) -> Mask:
    """Whether each reading follows plausibly from the one before it."""
    steps_j, lengths_s = np.diff(counts), np.diff(t_ns) * SECONDS_PER_NS
    plausible: Mask = (steps_j >= 0) & (steps_j <= max_w * (lengths_s + delay_s))
    return plausible


def _followed(
    alive: Integers, t_ns: Times, counts: Values, limits: tuple[float, float]
) -> Integers:
    """The places of the readings that follow plausibly from the last one that counts, or of three
    in a row that rise plausibly among themselves."""
    max_w, delay_s = limits
    energies_j, ends_ns = counts.tolist(), t_ns.tolist()  # a loop of numpy's scalars takes seconds

    def follows(before: int, after: int) -> bool:
        length_s = (ends_ns[after] - ends_ns[before]) * SECONDS_PER_NS + delay_s
        return bool(0 <= energies_j[after] - energies_j[before] <= max_w * length_s)

    kept, apart = alive[:1].tolist(), list[int]()
    for place in alive[1:].tolist():
        if follows(kept[-1], place):
            kept.append(place)
            apart.clear()
            continue
        rises = apart and follows(apart[-1], place) and energies_j[place] > energies_j[apart[-1]]
        apart = [*apart, place] if rises else [place]
        if len(apart) == SUSTAINED:
            kept += apart
            apart = []
    return np.array(kept, np.int64)


def _bridged(counter: EnergyCounter) -> EnergyCounter:
    """The counter with the power beside each gap in it whose own is unusual: it did not catch
    up."""
    lengths_s, steps_j = np.diff(counter.t_ns) * SECONDS_PER_NS, np.diff(counter.energy_j)
    low_w, high_w = counter.usual_w
    is_usual = (counter.power_w >= low_w) & (counter.power_w <= high_w)
    known = np.flatnonzero(~counter.is_gap)
    for place in np.flatnonzero(counter.is_gap & ~is_usual):
        after = int(known.searchsorted(place))
        beside = known[max(0, after - BESIDE) : after + BESIDE]
        beside_s = float(lengths_s[beside].sum())
        steps_j[place] = lengths_s[place] * (steps_j[beside].sum() / beside_s if beside_s else 0.0)
    return replace(counter, energy_j=counter.energy_j[0] + np.append(0.0, np.cumsum(steps_j)))
