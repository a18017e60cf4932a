"""Counters at the edges of a window, by hand."""

import numpy as np
import pytest

from suite.bundle.channels import Channel
from suite.metrics.window import CounterChannel, counter_increase, edge_distance_s

SECOND = 10**9


def counter(t_s: list[float], counts: list[float]) -> CounterChannel:
    t_ns = np.round(np.array(t_s) * SECOND).astype(np.int64)
    return CounterChannel(
        Channel("counters", "a", "events", 1.0, 0, len(t_s), lambda: (t_ns, np.array(counts)))
    )


def test_a_window_of_exactly_the_least_periods_is_long_enough() -> None:
    steady = counter([*range(13)], [7.0 * second for second in range(13)])
    assert steady.increase((1 * SECOND, 11 * SECOND), 10).value == pytest.approx(70)
    assert steady.increase((1 * SECOND, 11 * SECOND - 1), 10).value is None


def test_an_edge_is_as_far_off_as_its_rate_and_at_most_the_step_allow() -> None:
    """10 a second up to 2 s, then 100 a second: 0.25 s from a reading at the larger rate beside it;
    in the last step it is no more than the step itself."""
    found = counter([0, 1, 2, 3, 4], [0, 10, 20, 120, 125])
    start, stop = 1.75, 3.5
    edge = found.edge((round(start * SECOND), round(stop * SECOND)))
    assert edge.distance_s == pytest.approx(0.5)
    assert edge.uncertainty == pytest.approx(min(10, 100 * 0.25) + min(5, 100 * 0.5))
    near = found.edge((round(2.05 * SECOND), round(3.04 * SECOND)))
    assert near.uncertainty == pytest.approx(100 * 0.05 + 100 * 0.04)
    assert counter([1], [5]).edge((0, 3 * SECOND)).uncertainty is None


@pytest.mark.parametrize(
    ("moment_s", "expected"), [(0.5, 0.5), (1.4, -0.4), (1.5, -0.5), (1.6, 0.4), (9, -7.0)]
)
def test_the_nearest_reading_is_before_or_after_an_edge(moment_s: float, expected: float) -> None:
    times_ns = np.array([1, 2]) * SECOND
    assert edge_distance_s(times_ns, round(moment_s * SECOND)) == pytest.approx(expected)
    assert edge_distance_s(times_ns[:0], 5) is None


def test_a_count_is_held_against_the_last_plausible_one() -> None:
    """At most 10 a second: 45 after 2 s is too much, 15 after 3 s is not, nor 10 more a second
    later."""
    t_ns = np.array([0, 1, 2, 3, 4]) * SECOND
    found = counter_increase(t_ns, np.array([0, 5, 45, 15, 25.0]), 0, 4 * SECOND, 1.0, 10.0)
    assert (found.value, found.rejected, found.count) == (25.0, 1, 4)
    assert (found.coverage, found.longest_gap_s, found.achieved_period_s) == (1.0, 2.0, 1.0)
