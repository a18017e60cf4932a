"""Sensors that stop in the middle of a run: their readings are a gap, or there is no energy."""

from collections.abc import Callable

import numpy as np
import pytest

from suite.bundle.arrays import Values
from suite.bundle.channels import Channel, Channels
from suite.catalog.power import load_power_rules, totals_of_channels
from suite.metrics.energy import Energy, energy_of
from suite.metrics.liveness import plausible_readings, plausible_together, spikes
from tests.every_case import some
from tests.suite.meters.recorded import needs_recordings, traces

RUN_S, START_NS = 85.0, 10**12
GAUGE, COUNTER = 8.0, 3.0


def energy(source: str, name: str, t_s: Values, values: Values) -> Energy:
    """The energy of a run by the first total of one channel."""
    t_ns = START_NS + np.round(t_s * 1e9).astype(np.int64)
    channel = Channel(source, name, "", 1, 0, len(t_s), lambda: (t_ns, values))
    (total, *_) = totals_of_channels(load_power_rules(), [(source, name)])
    return energy_of(Channels((channel,), t_ns), total, START_NS, START_NS + round(RUN_S * 1e9))


def power(period_s: float) -> tuple[Values, Values]:
    """Times and watts of a load that scatters about 6 W."""
    random = np.random.default_rng(1)
    t_s = np.arange(-10, RUN_S + 10, period_s) + random.uniform(0, period_s / 2)
    return t_s, 6 + 0.8 * np.sin(t_s / 3) + random.normal(0, 0.3, len(t_s))


def rapl(stop_s: float, again_s: float) -> Energy:
    t_s, power_w = power(0.5)
    energy_j = np.cumsum(power_w * 0.5)
    energy_j = np.where(
        (t_s > stop_s) & (t_s < again_s), np.interp(stop_s, t_s, energy_j), energy_j
    )
    return energy("rapl", "package-0", t_s, energy_j)


def ina3221(change: Callable[[Values, Values], Values]) -> Energy:
    t_s, power_w = power(0.1)
    return energy("ina3221", "VDD_IN", t_s, np.round(change(t_s, power_w) / 0.04) * 0.04)


def test_a_counter_that_stops_gives_no_energy() -> None:
    whole = rapl(200, 200).energy_j
    assert whole == pytest.approx(6 * RUN_S, rel=0.03)
    stopped = rapl(40, 200)
    assert stopped.energy_j is None and "a stuck or erring sensor" in str(stopped.reason)
    assert rapl(40, 60).energy_j is None
    paused = rapl(40, 45)
    assert paused.energy_j == pytest.approx(whole, rel=0.001) and paused.gaps == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda t_s, power_w: np.where(t_s > 20, 3.04, power_w),
        lambda t_s, power_w: np.where((t_s % 25 > 8) & (t_s % 25 < 20), 3.04, power_w),
        lambda t_s, power_w: np.full(len(t_s), 3.04),
        lambda t_s, power_w: np.where(t_s > 50, 0.0, power_w),
        lambda t_s, power_w: np.where(t_s > 50, 10 * power_w, power_w),
        lambda t_s, power_w: np.where((t_s > 20) & (t_s < 60), power_w / 10, power_w),
        lambda t_s, power_w: np.where(t_s > 50, 20 * power_w, power_w),
        lambda t_s, power_w: np.where((t_s > 20) & (t_s < 60), 20 * power_w, power_w),
    ],
    ids=[
        "frozen",
        "three plateaus",
        "never alive",
        "mW",
        "tenfold",
        "a tenth",
        "20",
        "20 and back",
    ],
)
def test_a_gauge_that_repeats_itself_gives_no_energy(
    change: Callable[[Values, Values], Values],
) -> None:
    found = ina3221(change)
    assert found.energy_j is None and "a stuck or erring sensor" in str(found.reason)


def test_a_processor_alone_may_draw_twenty_times_as_much_under_load() -> None:
    t_s, power_w = power(0.1)
    jumped = np.where(t_s > 50, 20 * power_w, power_w)
    assert plausible_readings(jumped, GAUGE, is_counter=False).all()
    assert not plausible_readings(jumped, GAUGE, is_counter=False, is_board=True).all()


RAILS_W = {"VDD_GPU_SOC": 9.0, "VDD_CPU_CV": 5.0, "VIN_SYS_5V0": 4.0}
EVERY = tuple(RAILS_W)


def orin(**factors: Callable[[Values], Values]) -> Energy:
    """The energy of an AGX Orin, whose rails scatter by a tenth and are read one after the other;
    each rail times its factor by time, s."""
    channels = []
    for place, (name, mean_w) in enumerate(RAILS_W.items()):
        random = np.random.default_rng(place)
        t_s = np.arange(-10, RUN_S + 10, 0.1) + 0.001 * place
        watts = mean_w * (1 + random.normal(0, 0.1, len(t_s)))
        watts = watts * factors.get(name, np.ones_like)(t_s)
        t_ns = START_NS + np.round(t_s * 1e9).astype(np.int64)
        fetch = lambda t_ns=t_ns, watts=watts: (t_ns, watts)  # noqa: E731
        channels.append(Channel("ina3221", name, "W", 1, 0, len(t_ns), fetch))
    (total,) = totals_of_channels(load_power_rules(), [("ina3221", name) for name in RAILS_W])
    found = Channels(tuple(channels), channels[0].t_ns)
    return energy_of(found, total, START_NS, START_NS + round(RUN_S * 1e9))


@pytest.mark.parametrize(
    ("rails", "factor"),
    [(EVERY, 1e-3), (EVERY, 10), (EVERY, 20), (EVERY[:1], 1e-3), (EVERY[2:], 1e-3)],
    ids=["all mW", "all tenfold", "all 20", "GPU mW", "5 V mW"],
)
def test_rails_that_change_their_unit_or_scale_give_no_energy(
    rails: tuple[str, ...], factor: float
) -> None:
    found = orin(**dict.fromkeys(rails, lambda t_s: np.where(t_s > 50, factor, 1.0)))
    assert found.energy_j is None and "a stuck or erring sensor" in str(found.reason)


@pytest.mark.parametrize("factor", [0.003, 0.1, 0.3])
def test_a_rail_that_falls_between_load_and_idle_keeps_its_energy(factor: float) -> None:
    found = orin(VDD_GPU_SOC=lambda t_s: np.where(t_s % 20 > 10, factor, 1.0))
    expected = 9.0 * RUN_S + 9.0 * (45 + factor * 40)
    assert found.energy_j == pytest.approx(expected, rel=0.01) and found.rejected == 0


def test_a_short_stretch_is_a_gap_in_the_interval() -> None:
    alone = ina3221(lambda t_s, power_w: power_w)
    stuck = ina3221(lambda t_s, power_w: np.where((t_s > 20) & (t_s < 24), 6.04, power_w))
    assert alone.energy_j is not None and stuck.energy_j is not None
    assert stuck.energy_j == pytest.approx(alone.energy_j, rel=0.01) and stuck.gaps == 1


def test_single_absurd_values_do_not_count() -> None:
    """A plug whose log has a row of 1800 W now and then."""
    alone = ina3221(lambda t_s, power_w: power_w)
    every = np.arange(len(power(0.1)[0]))
    spiked = ina3221(
        lambda t_s, power_w: np.where(every % 97 < 2, 180, np.where(every == 50, np.nan, power_w))
    )
    assert spiked.energy_j == pytest.approx(alone.energy_j, rel=0.01)


def test_bursts_of_a_load_in_a_long_idle_trace_are_no_absurd_values() -> None:
    """As recorded of a Titan X that waits for data: 17 W idle, 180 W for one to six readings."""
    random = np.random.default_rng(3)
    bursts = [np.r_[[180.0] * lasts, [17.0] * 2] for lasts in (3, 1, 1, 1, 3, 1, 1, 2, 6, 1, 1)]
    watts = np.concatenate([*bursts, np.full(500, 17.0)]) + random.normal(0, 0.5, 543)
    assert not spikes(watts).any()
    watts[300:302] = 18_000.0
    assert np.flatnonzero(spikes(watts)).tolist() == [300, 301]


def test_absurd_levels_are_no_change_of_the_unit() -> None:
    levels = np.repeat([1e-20, 1e300], 50) * np.tile([1.0, 1.5, 1.2, 1.7], 25)
    with np.errstate(over="ignore"):
        assert plausible_readings(levels, GAUGE, is_counter=False).sum() == 50


@needs_recordings
def test_the_rails_of_real_boards_live() -> None:
    for _, rails in traces().values():
        for watts in rails.values():
            for every in (1, 4, 20):
                assert plausible_readings(watts[::every], GAUGE, is_counter=False).all()


@needs_recordings
def test_the_rails_of_a_real_board_live_together() -> None:
    for t_s, rails in traces().values():
        t_ns = np.round(t_s * 1e9).astype(np.int64)
        for every in (1, 4, 20):
            of_total = [(t_ns[::every], rails[name][::every]) for name in RAILS_W]
            assert np.all(plausible_together(of_total, is_board=True))
            assert all(
                plausible_readings(watts, GAUGE, is_counter=False, is_whole=False).all()
                for _, watts in of_total
            )


def test_false_alarms_are_below_one_in_a_hundred() -> None:
    """Loads up to eight times the idle power, with scatter of their own and in proportion, sensors
    of all resolutions, and counters with steps up to a thousandth of a watt-hour."""
    alarms = []
    for seed in some(range(4000), 300):
        random = np.random.default_rng((40, seed))
        count, idle_w = int(random.integers(60, 2000)), 10 ** random.uniform(-0.3, 1.7)
        is_load = np.sin(np.arange(count) * 2 * np.pi / random.uniform(20, 4000)) > 0
        power_w = idle_w * np.where(is_load, random.uniform(1.1, 8), 1)
        power_w *= 1 + random.normal(0, 10 ** random.uniform(-2.5, -1), count)
        power_w += random.normal(0, idle_w * 10 ** random.uniform(-2.5, -0.5), count)
        step_w, step_j = random.choice([0.001, 0.04, 0.4, 1.0]), random.choice([6e-5, 0.5, 3.6])
        counted = np.round(np.cumsum(np.abs(power_w) / 10) / step_j)
        shown_w = np.round(power_w / step_w) * step_w
        alarms += [
            not plausible_readings(
                shown_w, GAUGE, is_counter=False, is_board=True, step=step_w
            ).all(),
            not plausible_readings(counted, COUNTER, is_counter=True).all(),
        ]
    assert np.mean(alarms) < 0.01
