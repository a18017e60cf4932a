"""Near copies: step times that vary together, or are the same in another order; honest runs are no
copies."""

from pathlib import Path

import numpy as np
import pytest

from suite.bundle.layout import PARTS
from suite.bundle.reader import Bundle
from suite.bundle.steps import StepRecords
from suite.compliance.copies import KEPT_POWER, Likeness, find_likenesses, power_sample, step_times
from suite.files.paths import repository_root
from tests import checks_alone

SUBMISSIONS = repository_root() / "submissions"


def steps(count: int = 400, seed: int = 1, spread: float = 0.05) -> StepRecords:
    random = np.random.default_rng(seed)
    parts = [
        mean_s * np.exp(random.normal(0, spread, count)) for mean_s in (0.001, 0.0005, 0.02, 0.001)
    ]
    return made(np.array(parts))


def made(parts: np.ndarray) -> StepRecords:
    return checks_alone.steps(1, **dict(zip(PARTS, parts, strict=True)))


def with_noise(records: StepRecords, noise: float, factor: float = 1.0) -> StepRecords:
    return made(
        records.parts_s
        * factor
        * np.exp(np.random.default_rng(9).normal(0, noise, records.parts_s.shape))
    )


def shuffled(records: StepRecords) -> StepRecords:
    return made(records.parts_s[:, np.random.default_rng(9).permutation(len(records))])


def likenesses(*runs: StepRecords) -> tuple[Likeness, ...]:
    return find_likenesses([step_times(run) for run in runs])


def test_reference_runs_are_no_copies() -> None:
    paths: list[Path] = sorted(SUBMISSIONS.glob("v*/reference/lenet/*/run_*"))
    assert len(paths) >= 18
    assert find_likenesses([step_times(Bundle(path).steps()) for path in paths]) == ()


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("count", [120, 400, 3000])
def test_a_copy_with_noise_and_another_speed_is_found(noise: float, count: int) -> None:
    original = steps(count)
    (found,) = likenesses(original, steps(count, seed=2), with_noise(original, noise, 1.01))
    assert (found.one, found.other) == (0, 2) and "vary together" in found.what


def test_a_copy_that_begins_with_steps_of_its_own_is_found() -> None:
    original, own = steps(3000), steps(3000, seed=2)
    copied = with_noise(original, 0.01).parts_s
    copied[:, :400] = own.parts_s[:, :400]
    (found,) = likenesses(original, made(copied))
    assert "over the steps 1001 to 1256" in found.what


def test_a_shorter_copy_is_found() -> None:
    original = steps(400)
    (found,) = likenesses(made(original.parts_s[:, :150]), original)
    assert "over the first 100 steps" in found.what


def test_the_same_steps_in_another_order_are_found() -> None:
    (found,) = likenesses(steps(), steps(seed=2), shuffled(steps(seed=2)))
    assert (found.one, found.other) == (1, 2) and "256 of 256 compared steps" in found.what


def test_runs_that_are_too_short_or_do_not_vary_are_not_compared() -> None:
    constant = made(np.full((4, 400), 0.01))
    assert likenesses(steps(99), steps(99)) == ()
    assert likenesses(constant, constant) == ()


def test_impossible_times_are_not_compared() -> None:
    broken = made(np.full((4, 400), np.nan))
    assert likenesses(broken, broken, made(np.zeros((4, 400))), made(-np.ones((4, 400)))) == ()


def test_two_hundred_honest_runs_are_no_copies() -> None:
    assert likenesses(*(steps(300, seed) for seed in range(200))) == ()


def power(values: np.ndarray) -> frozenset[int]:
    return power_sample([checks_alone.channel("shelly power", "W", np.arange(len(values)), values)])


def read(seed: int, count: int = 600, step_w: float = 0.01) -> np.ndarray:
    found: np.ndarray = (
        np.round(np.random.default_rng(seed).normal(5, 0.3, count) / step_w) * step_w
    )
    return found


def test_power_that_was_read_in_another_run_is_found_wherever_it_begins() -> None:
    own, other = read(1), read(2)
    assert len(power(own)) == KEPT_POWER
    assert not power(own) & power(other)
    assert power(own) == power(own.copy())
    pasted = np.concatenate([other[:40], own])
    assert len(power(own) & power(pasted)) > KEPT_POWER / 2


def test_a_short_run_with_the_power_of_another_is_found() -> None:
    assert len(power(read(1, 13)) & power(read(1, 17)[:13])) >= 2


def test_honest_runs_of_coarse_sensors_share_no_power() -> None:
    runs = [power(read(seed, 3600, step_w=0.1)) for seed in range(60)]
    assert max(len(one & other) for place, one in enumerate(runs) for other in runs[:place]) < 2


@pytest.mark.parametrize(
    "values", [np.linspace(3, 5, 200), np.full(200, 5.0), np.resize([5.0, 5.4, 5.8], 200)]
)
def test_power_that_rises_steadily_or_has_few_values_is_no_sign_of_a_copy(
    values: np.ndarray,
) -> None:
    assert power(values) == frozenset()
