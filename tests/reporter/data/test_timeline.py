"""Power and load over time: sums of channels, counters of energy, intervals and spans, by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from reporter.data import timeline
from reporter.data.timeline import Series, TimelineSpan
from suite.metrics.machine_figures import gpu_of_figures
from tests.checks_alone import channel, channels

S = 1_000_000_000


def series(*pairs: tuple[float, float]) -> Series:
    """Readings at these times, s."""
    times, values = zip(*pairs, strict=True)
    return Series((np.array(times) * S).astype(np.int64), np.array(values, float))


def rule(**other: Any) -> Any:
    told = {"unit": "W", "plausible_w": (0.0, 100.0), "scale": 1.0, "offset_w": 0.0}
    return SimpleNamespace(**{**told, **other})


def test_other_channels_are_interpolated_at_the_times_of_the_first_one() -> None:
    first = series((1, 10), (2, 20), (5, 50))
    found = timeline._sum([first, series((0, 0), (4, 8)), series((2, 100), (3, 200))])
    assert found.t_ns is first.t_ns
    assert found.values.tolist() == [10 + 2 + 100, 20 + 4 + 100, 50 + 8 + 200]
    whole = [
        series((0, 1), (10, 2), (20, 3)),
        series((0, 10), (20, 30)),
        series((5, 100), (15, 200)),
    ]
    assert timeline._sum(whole).values.tolist() == [111.0, 172.0, 233.0]


def test_an_energy_counter_has_the_power_since_its_previous_reading() -> None:
    counter = series((0, 5), (2, 25), (3, 20), (7, 420), (9, 1420), (10, 1421))
    found = timeline._watts(counter, rule(unit="J"))
    # 10 W, a counter that went back, 100 W (still plausible), 500 W, 1 W
    assert (found.t_ns.tolist(), found.values.tolist()) == ([2 * S, 7 * S, 10 * S], [10, 100, 1])
    ends = timeline._watts(series((1, -0.1), (2, 0), (3, 100), (4, 100.1)), rule())
    assert ends.values.tolist() == [0, 100], "the ends of what is plausible are"


def test_a_total_is_scaled_after_its_channels_are_added_and_needs_each() -> None:
    channels = {"a": series((1, 2), (2, 3)), "b": series((1, 10), (2, 10)), "none": series((1, -1))}
    recorded: Any = SimpleNamespace(
        get=lambda source, name: SimpleNamespace(in_time=channels[name] if source == "x" else None)
    )
    total: Any = SimpleNamespace(source="x", channels=["a", "b"], rule=rule(scale=2.0, offset_w=5))
    found = timeline._calibrated(recorded, total)
    assert found.values.tolist() == [29, 31], "twice the sum, and 5 W"
    total.channels = ["a", "none"]
    assert len(timeline._calibrated(recorded, total).t_ns) == 0


def test_the_load_of_several_gpus_is_that_of_the_busiest() -> None:
    times_s, used = (1.0, 2.0, 3.0), {"gpu0": 1.0, "gpu1": 97.0}
    read = channels(
        *(channel(f"nvml {gpu}.utilisation", "%", times_s, [of] * 3) for gpu, of in used.items())
    )
    (found,) = timeline._loads(read, gpu_of_figures(read, (S, 3 * S), is_before_v03=False), 0)
    assert (found.name, found.mean) == ("GPU (nvml: gpu1.utilisation)", (97.0,) * 3)
    assert gpu_of_figures(read, (S, 3 * S), is_before_v03=True) == "gpu0"


def test_few_readings_are_as_they_are_and_unknown_ones_are_left_out() -> None:
    (found,) = timeline._time_series("n", "W", series((3, 1), (4, np.nan), (5, 9)), 2 * S)
    assert (found.t_s, found.mean) == ((1.0, 3.0), (1.0, 9.0))
    assert found.low == found.high == found.mean
    assert list(timeline._time_series("n", "W", series((1, np.nan)), 0)) == []


def test_many_readings_are_means_of_equal_intervals_with_their_extremes() -> None:
    """Ten a second for 100 s: ten in each of 100 intervals, the last of which has one more."""
    times = np.arange(1001) / 10
    readings = series(*((10 + time_s, number % 5) for number, time_s in enumerate(times)))
    (found,) = timeline._time_series("n", "W", readings, 10 * S)
    assert len(found.t_s) == 100
    middle = slice(1, 98)
    assert set(np.round(np.diff(found.t_s[middle]), 6)) == {1.0}
    assert {*found.low[middle]} == {0} and {*found.high[middle]} == {4}
    assert {*np.round(found.mean[middle], 9)} == {2}
    weights = np.diff([0, *np.searchsorted(times, np.linspace(0, 100, 101)[1:-1]), 1001])
    assert np.dot(found.mean, weights) == sum(number % 5 for number in range(1001))


def test_the_run_its_epochs_and_evaluations_are_spans_in_order_once_they_have_ended() -> None:
    def event(epoch: int | None, seconds: float | None) -> SimpleNamespace:
        return SimpleNamespace(epoch=epoch, mono_ns=None if seconds is None else int(seconds * S))

    events = {
        "epoch_start": [event(2, 30), event(1, 10), event(3, 50), event(4, None)],
        "epoch_stop": [event(1, 20), event(2, 45), event(4, 60)],
        "eval_start": [event(1, 20)],
        "eval_stop": [event(1, 29), event(3, 70)],
    }
    log: Any = SimpleNamespace(
        all=lambda name: events[name], window=lambda *_: (int(10 * S), int(75 * S))
    )
    found = sorted(timeline._spans(log, 10 * S), key=timeline._order)
    assert found == [
        TimelineSpan("epoch 1", True, 0.0, 10.0),
        TimelineSpan("whole run", False, 0.0, 65.0),
        TimelineSpan("evaluation 1", False, 10.0, 19.0),
        TimelineSpan("epoch 2", True, 20.0, 35.0),
    ]
