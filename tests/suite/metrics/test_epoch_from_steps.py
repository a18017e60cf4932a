"""The time of an epoch from some of its steps."""

import math

import numpy as np
import pytest

from suite.bundle.steps import StepRecords
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.metrics.epoch_from_steps import MIN_STEPS, epoch_from_steps, intervals_s

SCORING = load_scoring()


def steps(between_s: list[float], epochs: list[int] | None = None) -> StepRecords:
    """Steps of one rank, the first at 0."""
    count = len(between_s) + 1
    starts = np.concatenate([[0], np.cumsum(between_s)]) * 1e9
    numbers, nothing = np.arange(1, count + 1), np.zeros(count)
    epoch = np.array(epochs or [1] * count)
    return StepRecords(
        epoch,
        numbers,
        numbers * 0,
        numbers * 0 + 16,
        np.rint(starts).astype(np.int64),
        *[nothing] * 5,
    )


def test_an_epoch_is_its_steps_without_the_slow_first_one() -> None:
    found = epoch_from_steps(steps([9.0, *[2.0] * 40]), 100, SCORING)
    assert found.epoch_s.value == pytest.approx(200)
    assert found.steps == 42
    assert found.epoch_s.high / 200 == pytest.approx(math.exp(1.959964 * SCORING.noise_floor))  # type: ignore[operator]


def test_an_evaluation_between_epochs_is_no_step() -> None:
    assert intervals_s(steps([1.0, 1.0, 500.0, 1.0, 1.0], [1, 1, 1, 2, 2, 2])).tolist() == [
        1.0,
        1.0,
        1.0,
    ]


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_interval_holds_the_true_time_though_neighbours_are_alike(correlation: float) -> None:
    """19 of 20, steps that scatter by a fifth; with neighbours alike an interval of single steps
    would hold half of them."""
    random, held, tries = np.random.default_rng(3), 0, 200
    for _ in range(tries):
        noise = np.zeros(1000)
        for place in range(1, len(noise)):
            noise[place] = (
                correlation * noise[place - 1] + math.sqrt(1 - correlation**2) * random.normal()
            )
        found = epoch_from_steps(
            steps([1.0, *np.maximum(0.01, 1 + 0.2 * noise)]), 1, SCORING
        ).epoch_s
        assert found.low is not None and found.high is not None
        held += found.low <= 1 <= found.high
    assert held >= 0.9 * tries


def test_too_few_steps_say_nothing() -> None:
    with pytest.raises(SuiteError, match=f"{MIN_STEPS} are needed"):
        epoch_from_steps(steps([1.0] * (MIN_STEPS - 2)), 100, SCORING)
    found = epoch_from_steps(steps([9.0, 1.0, 1.1, 0.9]), 100, SCORING).epoch_s
    assert found.value == pytest.approx(100)
    # three intervals that scatter by a tenth, Student's t of 2 degrees of freedom
    margin = math.hypot(4.302653 * 0.1 / math.sqrt(3), 1.959964 * SCORING.noise_floor)
    assert found.high == pytest.approx(100 * math.exp(margin))
