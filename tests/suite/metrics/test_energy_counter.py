"""Energy counters that fall, jump or stand still in a run: what they lost is a gap, not energy."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from suite.bundle.arrays import Values
from suite.bundle.channels import Channel, Channels
from suite.catalog.power import load_power_rules, totals_of_channels
from suite.metrics.energy import Energy, energy_of
from suite.metrics.energy_counter import mended_counter
from suite.metrics.liveness import plausible_readings

Fault = Callable[[Values, Values], Values]
"""What the counter shows, J, by times, s, and the true energies; NaN is no reading."""


def energy(fault: Fault, run_s: int = 100, is_before_v03: bool = False) -> tuple[Energy, float]:
    """The energy by a counter of 20 to 40 W, read once a second, and the true one."""
    random = np.random.default_rng(1)
    moments_s = np.arange(-2.0, run_s + 3)
    true_j = 1000 + np.cumsum(random.uniform(20, 40, len(moments_s)))
    t_s = np.sort(moments_s + random.uniform(0, 0.2, len(moments_s)))
    counts = fault(t_s, np.interp(t_s, moments_s, true_j))
    t_s, counts = t_s[np.isfinite(counts)], counts[np.isfinite(counts)]
    t_ns = np.round(t_s * 1e9).astype(np.int64)
    channel = Channel("rapl", "package-0", "J", 1, 0, len(t_ns), lambda: (t_ns, counts))
    (total,) = totals_of_channels(load_power_rules(), [("rapl", "package-0")])
    if is_before_v03:
        total = replace(total, rule=replace(total.rule, must_agree=False, still_factor=0.0))
    found = energy_of(Channels((channel,), t_ns), total, 0, run_s * 10**9)
    return found, float(np.diff(np.interp([0, run_s], moments_s, true_j))[0])


def lost(from_s: float, to_s: float) -> Fault:
    """The counter stands still and goes on later, without what was used meanwhile."""

    def shown(t_s: Values, true_j: Values) -> Values:
        stopped_j, again_j = np.interp([from_s, to_s], t_s, true_j)
        late_j = true_j - (again_j - stopped_j)
        return np.where(t_s < from_s, true_j, np.where(t_s < to_s, stopped_j, late_j))

    return shown


def jump(at_s: float, by_j: float) -> Fault:
    return lambda t_s, true_j: true_j + np.where(t_s > at_s, by_j, 0.0)


def reset(at_s: float) -> Fault:
    return lambda t_s, true_j: np.where(t_s < at_s, true_j, true_j - np.interp(at_s, t_s, true_j))


def glitch(t_s: Values, true_j: Values) -> Values:
    return np.where(np.abs(t_s - 50) < 0.6, 0.0, true_j)


@pytest.mark.parametrize(
    ("fault", "run_s", "least_coverage"),
    [
        (jump(1800.5, 262143), 3600, 0.999),
        (jump(50.5, 18000), 100, 0.98),
        (jump(50.5, 5000), 100, 0.96),
        (jump(50.5, 1000), 100, 0.98),
        (lambda t_s, true_j: jump(50.5, 261000)(t_s, jump(51.5, 1200)(t_s, true_j)), 100, 0.97),
        (lost(40.5, 48.5), 100, 0.90),
        (reset(7.5), 100, 0.98),
        (glitch, 100, 0.97),
    ],
    ids=[
        "a range in an hour",
        "18 kJ",
        "5 kJ",
        "1 kJ",
        "a wrap",
        "8 s not counted",
        "reset",
        "one reading of 0",
    ],
)
def test_what_a_counter_lost_or_made_up_is_a_gap_at_a_usual_power(
    fault: Fault, run_s: int, least_coverage: float
) -> None:
    found, true_j = energy(fault, run_s)
    error = found.uncertainty
    assert found.energy_j is not None and error is not None
    lost_s = (1 - found.coverage) * run_s
    assert least_coverage < found.coverage < 1 and found.gaps >= 1
    assert 3 * lost_s < error.gaps < 20 * lost_s  # of 20 to 40 W
    assert abs(found.energy_j - true_j) < error.gaps + error.time


def test_a_counter_that_caught_up_keeps_its_count_and_the_pause_is_a_gap() -> None:
    def late(t_s: Values, true_j: Values) -> Values:
        still = (t_s > 40) & (t_s < 47)
        return np.where(still, np.interp(40, t_s, true_j), true_j)

    found, _ = energy(late)
    whole, _ = energy(lambda _, true_j: true_j)
    assert found.energy_j == pytest.approx(whole.energy_j, rel=1e-9)
    assert (found.gaps, whole.gaps) == (1, 0) and whole.uncertainty is not None
    assert found.uncertainty is not None and found.uncertainty.gaps > whole.uncertainty.gaps == 0


def test_a_counter_without_readings_for_a_while_missed_nothing() -> None:
    found, true_j = energy(lambda t_s, true_j: np.where((t_s > 40) & (t_s < 46), np.nan, true_j))
    assert found.energy_j == pytest.approx(true_j, rel=0.001)
    assert found.uncertainty is not None and found.uncertainty.gaps == 0


def test_readings_that_are_no_numbers_are_no_gap_and_a_repeated_time_has_no_width() -> None:
    t_ns = np.arange(60, dtype=np.int64) * 10**9
    counts = 1000 + 30.0 * np.arange(60)
    unknown = mended_counter(t_ns, np.where(t_ns == t_ns[20], np.nan, counts), t_ns < 0, 2e3, 0.0)
    assert not unknown.is_gap.any() and len(unknown.t_ns) == 59
    t_ns[30], counts[30:] = t_ns[29], counts[30:] - 1500
    again = mended_counter(t_ns, counts, t_ns < 0, 2e3, 0.0)
    assert again.is_gap[29] and again.gaps_half_width((0, int(t_ns[-1]))) >= 0


def test_a_counter_that_loses_count_again_and_again_has_no_energy() -> None:
    found, _ = energy(lambda t_s, true_j: true_j + 9000 * np.floor(t_s / 6))
    assert found.energy_j is None and "cover" in str(found.reason)


def test_bundles_from_before_round_v03_keep_the_energy_that_they_had() -> None:
    found, true_j = energy(jump(50.5, 12000), is_before_v03=True)
    assert found.energy_j == pytest.approx(true_j + 12000, rel=0.001)


@pytest.mark.parametrize(("update_s", "step_j"), [(0.1, 0.001), (0.001, 6e-5), (0.001, 3.6)])
def test_honest_counters_have_no_gaps(update_s: float, step_j: float) -> None:
    """Read at random moments, some of them just before and after an update: loads of 50 to 700 W
    beside idle times of 10 W, fine and coarse steps."""
    for seed in range(50):
        random = np.random.default_rng((7, seed))
        t_s = (np.arange(1000) + random.random(1000)) * random.choice([0.1, 0.5, 1.0])
        fine_s = np.arange(0, t_s[-1] + 1, 0.02)
        is_load = np.sin(fine_s * 2 * np.pi / random.uniform(0.05, 300)) > 0
        true_j = np.cumsum(np.where(is_load, random.uniform(50, 700), 10.0) * 0.02)
        shown_j = np.interp(np.floor(t_s / update_s) * update_s, fine_s, true_j)
        counts = np.round(shown_j / step_j) * step_j
        is_stuck = ~plausible_readings(counts, 3.0, is_counter=True)
        t_ns = np.round(t_s * 1e9).astype(np.int64)
        counter = mended_counter(t_ns, counts, is_stuck, 2000.0, update_s)
        assert not counter.is_gap.any()
        assert counter.energy_j.tolist() == counts.tolist()
