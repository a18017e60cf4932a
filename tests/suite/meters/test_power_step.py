import random

import pytest

from suite.meters.power_step import power_step_s


def trace(seconds_before: int, seconds_after: int, low_w: float, high_w: float, noise_w: float, seed: int = 1) -> tuple[list[float], list[float]]:
    """Ten readings a second of a board that idles and then works, from second 1000 on."""
    noise = random.Random(seed)
    t_s = [1000 + index / 10 for index in range(10 * (seconds_before + seconds_after))]
    powers_w = [(low_w if t < 1000 + seconds_before else high_w) + noise.gauss(0, noise_w) for t in t_s]
    return t_s, powers_w


@pytest.mark.parametrize("seed", range(10))
def test_the_step_is_found_to_one_period_in_noise(seed: int) -> None:
    assert power_step_s(*trace(10, 20, 3.0, 6.0, 0.5, seed)) == pytest.approx(1010 - 0.05, abs=0.1)


def test_there_is_no_step_before_five_seconds_of_the_load() -> None:
    t_s, powers_w = trace(10, 20, 3.0, 6.0, 0.1)
    assert power_step_s(t_s[:140], powers_w[:140]) is None
    assert power_step_s(t_s[:160], powers_w[:160]) is not None


def test_noise_alone_and_a_falling_load_are_no_step() -> None:
    assert power_step_s(*trace(10, 20, 3.0, 3.0, 0.5)) is None
    assert power_step_s(*trace(10, 20, 6.0, 3.0, 0.1)) is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_readings_have_no_step(count: int) -> None:
    assert power_step_s([0.0, 100.0][:count], [1.0, 9.0][:count]) is None
