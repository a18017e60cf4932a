"""What is not counted into a run's time and energy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.bundle.log import Log, LogEvent
from suite.bundle.reader import Bundle
from suite.metrics.counted_time import (
    UncountedInterval,
    counted_energy,
    counted_s,
    counted_windows,
    uncounted_intervals,
)
from suite.metrics.energy import integrate_power
from suite.metrics.summary import derive_summary
from suite.metrics.uncertainty import Uncertainty
from tests.builders import Scenario, make_bundle

SECOND = 10**9


def log_of(*events: tuple[str, float, str | None]) -> Log:
    """A log with these keys, times in seconds and reasons."""
    metadata = [{"mono_ns": round(at_s * SECOND), "reason": reason} for _, at_s, reason in events]
    made = [
        LogEvent(line, 0, "", key, None, metadata[line - 1])
        for line, (key, _, _) in enumerate(events, 1)
    ]
    return Log(Path("log.txt"), tuple(made), ())


def interval(start_s: float, stop_s: float) -> UncountedInterval:
    return UncountedInterval("state", None, round(start_s * SECOND), round(stop_s * SECOND), 1)


def test_intervals_are_read_in_order() -> None:
    first = (
        ("uncounted_start", 1, "state"),
        ("state_digests", 2, None),
        ("uncounted_stop", 3, "state"),
    )
    log = log_of(*first, ("uncounted_start", 5, "pause"), ("uncounted_stop", 9, "pause"))
    assert [(one.reason, one.length_s, one.line) for one in uncounted_intervals(log)] == [
        ("state", 2.0, 1),
        ("pause", 4.0, 4),
    ]


@pytest.mark.parametrize(
    "events",
    [
        (("uncounted_start", 1, "state"),),
        (("uncounted_stop", 1, "state"),),
        (("uncounted_start", 1, "state"), ("uncounted_stop", 2, "pause")),
        (("uncounted_start", 2, "state"), ("uncounted_stop", 1, "state")),
        (*(("uncounted_start", 1, "a"), ("uncounted_stop", 2, "b")), ("uncounted_stop", 3, "a")),
        (("uncounted_start", 1, None), ("uncounted_stop", 2, None)),
    ],
)
def test_half_an_interval_takes_nothing_out(
    events: tuple[tuple[str, float, str | None], ...],
) -> None:
    assert uncounted_intervals(log_of(*events)) == ()


def test_an_interval_that_overlaps_the_one_before_is_not_taken_out_twice() -> None:
    log = log_of(
        ("uncounted_start", 1, "state"),
        ("uncounted_stop", 5, "state"),
        ("uncounted_start", 3, "state"),
        ("uncounted_stop", 6, "state"),
    )
    assert [one.length_s for one in uncounted_intervals(log)] == [4.0]


@given(st.lists(st.integers(0, 100), max_size=10), st.integers(0, 50), st.integers(51, 100))
def test_counted_windows_and_intervals_fill_the_window(
    moments: list[int], start: int, stop: int
) -> None:
    ends = sorted(moments)
    intervals = [
        UncountedInterval("state", None, *pair, 1)
        for pair in zip(ends[::2], ends[1::2], strict=False)
    ]
    counted = {
        ns for first, last in counted_windows((start, stop), intervals) for ns in range(first, last)
    }
    left_out = {ns for one in intervals for ns in range(one.start_ns, one.stop_ns)}
    assert counted == set(range(start, stop)) - left_out
    assert counted_s((start, stop), intervals) == pytest.approx(len(counted) * 1e-9)


def test_energy_is_that_of_the_counted_time() -> None:
    """Ten watts while training, thirty while a state is written from second 4 to 6; the meter reads
    every tenth of a second."""
    t_ns = np.arange(0, 10 * SECOND + 1, SECOND // 10)
    power_w = np.where((t_ns > 4 * SECOND) & (t_ns < 6 * SECOND), 30.0, 10.0)

    def energy_of(start_ns: int, stop_ns: int):  # type: ignore[no-untyped-def]
        return integrate_power(t_ns, power_w, start_ns, stop_ns, 0.1, (0.0, 100.0))

    whole = counted_energy(energy_of, (0, 10 * SECOND), ())
    counted = counted_energy(energy_of, (0, 10 * SECOND), (interval(4, 6),))
    assert whole.energy_j == pytest.approx(10 * 10 + 2 * 20, rel=0.02)
    assert counted.energy_j == pytest.approx(8 * 10.0)
    assert (whole.count, counted.count) == (101, 80)
    from_it_on = counted_energy(energy_of, (4 * SECOND, 10 * SECOND), (interval(4, 6),))
    assert from_it_on.energy_j == pytest.approx(4 * 10.0, rel=0.02)


def test_without_readings_around_an_interval_there_is_no_energy() -> None:
    t_ns = np.arange(0, 10 * SECOND + 1, SECOND // 10)
    power_w = np.full(len(t_ns), 10.0)

    def energy_of(start_ns: int, stop_ns: int):  # type: ignore[no-untyped-def]
        return integrate_power(
            t_ns if stop_ns - start_ns > 5 * SECOND else t_ns[:1],
            power_w[: len(t_ns) if stop_ns - start_ns > 5 * SECOND else 1],
            start_ns,
            stop_ns,
            0.1,
            (0.0, 100.0),
        )

    found = counted_energy(energy_of, (0, 10 * SECOND), (interval(4, 6),))
    assert found.energy_j is None
    assert "not counted" in str(found.reason)


def test_a_moment_after_the_last_reading_is_taken_at_the_mean_power_and_widens_the_interval() -> (
    None
):
    t_ns = np.arange(0, 9 * SECOND + 1, SECOND)
    exact = Uncertainty(
        sampling=0.0, quantisation=0.0, gain=0.0, gaps=0.75, time=0.0, possibly_aliased=False
    )

    def energy_of(start_ns: int, stop_ns: int):  # type: ignore[no-untyped-def]
        return replace(
            integrate_power(t_ns, np.full(len(t_ns), 10.0), start_ns, stop_ns, 1.0, (0.0, 100.0)),
            uncertainty=exact,
        )

    counted = counted_energy(energy_of, (0, 10 * SECOND), (interval(9.7, 9.8),))
    assert counted.energy_j == pytest.approx(9.9 * 10.0)
    assert counted.uncertainty.half_width == pytest.approx(1.25)


def test_a_summary_shows_the_gross_time_beside_the_counted_one(tmp_path: Path) -> None:
    path = make_bundle(tmp_path / "run", Scenario(power_w=5.0))
    figures, log = derive_summary(Bundle(path)).figures, Bundle(path).log()
    intervals = uncounted_intervals(log)
    start, reached, stop = (
        log.first("run_start"),
        log.all("eval_accuracy")[-1],
        log.first("run_stop"),
    )
    assert (
        start is not None
        and stop is not None
        and start.mono_ns
        and stop.mono_ns
        and reached.mono_ns
    )
    left_out_s = sum(one.length_s for one in intervals)
    assert left_out_s > 0
    assert figures["gross_time_s"].value == pytest.approx((stop.mono_ns - start.mono_ns) * 1e-9)
    assert (figures["uncounted_s"].value, figures["uncounted_s"].count) == (
        pytest.approx(left_out_s),
        len(intervals),
    )
    assert figures["time_to_target_s"].value == pytest.approx(
        (reached.mono_ns - start.mono_ns) * 1e-9 - left_out_s
    )
