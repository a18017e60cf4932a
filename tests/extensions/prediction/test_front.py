"""The Pareto front: exact, and certain only where the intervals leave no doubt."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suite.extensions.prediction.record.front import (
    Membership,
    front_of,
    memberships,
    pareto_front,
)
from suite.extensions.prediction.record.table import Profile

POINTS = arrays(
    float, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(0, 4).map(float)
)


def dominated(row: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.all(other <= row) and np.any(other < row))


@given(POINTS)
def test_the_front_is_every_row_that_no_other_dominates(values: np.ndarray) -> None:
    expected = [not any(dominated(row, other) for other in values) for row in values]
    assert pareto_front(values).tolist() == expected


@given(POINTS, st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_certain_memberships_hold_wherever_the_values_lie(
    low: np.ndarray, width: int, seed: int
) -> None:
    high = low + width
    found = memberships(low, high)
    for _ in range(5):
        on = pareto_front(low + np.random.default_rng(seed).uniform(0, 1, low.shape) * (high - low))
        assert all(on[index] for index, one in enumerate(found) if one is Membership.ON)
        assert not any(on[index] for index, one in enumerate(found) if one is Membership.OFF)


def test_the_front_of_profiled_modes_is_over_time_power_and_energy_by_ascending_time() -> None:
    """3, 5, 18 and 3.6 J: the third mode is worse than the second in all of them."""
    rows = np.arange(1.0, 5.0)[:, None]
    time_s, power_w = np.array([3.0, 1.0, 2.0, 4.0]), np.array([1.0, 5.0, 9.0, 0.9])
    error = np.full(4, 1e-6)
    exact = Profile(("cores",), rows, time_s, power_w, error, error)
    assert front_of(exact) == [(place, Membership.ON) for place in (1, 0, 3)]
    vague = replace(exact, power_error=np.array([1e-6, 1e-6, 0.3, 1e-6]))
    assert front_of(vague)[1] == (2, Membership.POSSIBLY)
    assert front_of(replace(exact, power_w=np.full(4, np.nan))) == []
