"""The statistics behind the rules about numbers: honest noise passes whatever its distribution,
edited series do not."""

from collections.abc import Callable

import numpy as np
import pytest

from suite.bundle.arrays import Values
from suite.compliance.evidence import (
    MAX_BLOCKS,
    interquartile_range,
    mean_rate,
    repeated_block,
    too_few_turning_points,
    turning_points,
)
from suite.compliance.rules.losses import BLOCK, DISTINCT, TURNING_SHARE
from tests.checks_alone import NS, channel

STEPS = 5625
DISTRIBUTIONS: tuple[Callable[[np.random.Generator], Values], ...] = (
    lambda chance: chance.normal(size=STEPS),
    lambda chance: chance.standard_cauchy(size=STEPS),
    lambda chance: chance.exponential(size=STEPS),
    lambda chance: chance.lognormal(0, 2, size=STEPS),
)


def falling(chance: np.random.Generator) -> Values:
    """Losses that fall as those of LeNet-5, and scatter by a fifth."""
    return np.asarray(2.3 / (1 + 0.01 * np.arange(STEPS)) * np.exp(chance.normal(0, 0.2, STEPS)))


@pytest.mark.parametrize("draw", [*DISTRIBUTIONS, falling])
def test_independent_values_turn_often_enough(
    draw: Callable[[np.random.Generator], Values],
) -> None:
    assert [
        too_few_turning_points(draw(np.random.default_rng(seed)), TURNING_SHARE)
        for seed in range(200)
    ] == [None] * 200


@pytest.mark.parametrize("steps", [3, 10, 50])
def test_a_running_mean_turns_too_seldom(steps: int) -> None:
    smooth = np.convolve(falling(np.random.default_rng(1)), np.ones(steps) / steps, mode="valid")
    assert too_few_turning_points(smooth, TURNING_SHARE) is not None


@pytest.mark.parametrize(
    ("times_s", "rate"), [((3, 8.1), 10.0), ((3, 8), None), ((0, 9, 11), 10.0), ((5,), None)]
)
def test_a_rate_is_of_readings_over_more_than_half_of_the_window(
    times_s: tuple[float, ...], rate: float | None
) -> None:
    count = channel("a b", "s", times_s, [7 + 10 * at_s for at_s in times_s])
    assert mean_rate(count, (0, 10 * NS)) == (None if rate is None else pytest.approx(rate))


def test_quarters_of_eight_values() -> None:
    assert interquartile_range(np.array([8.0, 1, 64, 2, 4, 16, 32, 128])) == 64 - 4


def test_equal_neighbours_do_not_count() -> None:
    assert turning_points(np.array([1.0, 1.0, 2.0, 1.0])) == (1, 1)


def test_a_block_that_occurs_twice_is_found_with_its_places() -> None:
    losses = falling(np.random.default_rng(1))
    losses[900 : 900 + BLOCK] = losses[100 : 100 + BLOCK]
    assert repeated_block(losses, BLOCK, DISTINCT) == (100, 900)


@pytest.mark.parametrize(
    ("digits", "length", "distinct", "places"),
    [
        ("41239123", 3, 3, (1, 5)),
        ("123123", 3, 3, (0, 3)),
        ("123124", 3, 2, None),
        ("1120112", 3, 2, (0, 4)),
        ("1120112", 3, 3, None),
        ("121212", 4, 2, None),
    ],
)
def test_two_equal_blocks_have_no_value_in_common(
    digits: str, length: int, distinct: int, places: tuple[int, int] | None
) -> None:
    assert repeated_block(np.array([*digits], float), length, distinct) == places


@pytest.mark.parametrize(
    "losses",
    [
        falling(np.random.default_rng(1)),
        # a thousand different values
        falling(np.random.default_rng(1)).astype(np.float16).astype(np.float64),
        np.zeros(3 * MAX_BLOCKS),
        np.array([1.0]),
        np.full(100, np.nan),
    ],
    ids=["float64", "float16", "zeros", "one", "NaN"],
)
def test_values_that_repeat_by_chance_are_no_block(losses: Values) -> None:
    assert repeated_block(losses, BLOCK, DISTINCT) is None
