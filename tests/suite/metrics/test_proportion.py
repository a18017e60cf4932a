"""Shares with Wilson's interval: published values, the ends, and its coverage."""

import numpy as np
import pytest

from suite.metrics.proportion import proportion


def test_published_intervals() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20,
    1 of 29."""
    published = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (successes, count), (low, high) in published.items():
        found = proportion(successes, count)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
        assert found.value == successes / count


def test_the_interval_stays_within_0_and_1() -> None:
    assert proportion(20, 20).high == 1.0 and proportion(0, 20).low == 0.0


@pytest.mark.parametrize(("successes", "count"), [(0, 0), (2, 1), (-1, 5)])
def test_what_is_no_share_is_refused(successes: int, count: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        proportion(successes, count)


@pytest.mark.proof
def test_it_covers_the_truth_in_about_95_of_100_samples() -> None:
    successes = np.random.RandomState(1).binomial(500, 0.9, 2000)
    covered = [
        found.low <= 0.9 <= found.high
        for found in (proportion(int(each), 500) for each in successes)
    ]
    assert 0.93 < np.mean(covered) < 0.97
