"""Near copies: step times that vary together, or are the same in another order; honest runs are no
copies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.bundle.channels import Channel
from suite.bundle.layout import PARTS
from suite.bundle.reader import Bundle
from suite.bundle.steps import StepRecords
from suite.compliance.copies import (
    KEPT_POWER,
    Likeness,
    StepTimes,
    find_likenesses,
    loss_sample,
    memory_sample,
    power_sample,
    step_times,
)
from suite.files.paths import repository_root
from tests import checks_alone

SUBMISSIONS = repository_root() / "submissions"


def steps(count: int = 400, seed: int = 1, spread: float = 0.05) -> StepRecords:
    random = np.random.default_rng(seed)
    parts = [
        mean_s * np.exp(random.normal(0, spread, count)) for mean_s in (0.001, 0.0005, 0.02, 0.001)
    ]
    return made(np.array(parts))


def made(parts: np.ndarray, epoch: Any = 1) -> StepRecords:
    return checks_alone.steps(epoch, **dict(zip(PARTS, parts, strict=True)))


def with_noise(records: StepRecords, noise: float, factor: float = 1.0) -> StepRecords:
    return made(
        records.parts_s
        * factor
        * np.exp(np.random.default_rng(9).normal(0, noise, records.parts_s.shape))
    )


def shuffled(records: StepRecords) -> StepRecords:
    return made(records.parts_s[:, np.random.default_rng(9).permutation(len(records))])


def likenesses(*runs: StepRecords, accumulation: int = 1) -> tuple[Likeness, ...]:
    return find_likenesses([step_times(run, accumulation=accumulation) for run in runs])


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


@pytest.mark.parametrize(("of_its_own", "first"), [(400, 1001), (1200, 5001)])
def test_a_copy_that_begins_with_steps_of_its_own_is_found(of_its_own: int, first: int) -> None:
    original, own = steps(5300), steps(5300, seed=2)
    copied = with_noise(original, 0.01).parts_s
    copied[:, :of_its_own] = own.parts_s[:, :of_its_own]
    (found,) = likenesses(original, made(copied))
    assert f"over the steps {first} to {first + 255}" in found.what


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


def compared(**given: Any) -> StepTimes:
    """What is compared of a run: what is given, of two lengths and two later places."""
    nothing = dict.fromkeys(("variations", "losses", "later"), (None, None))
    return StepTimes(**{"ratios": None, "seed": None, **nothing, **given})


def row(correlation: float) -> np.ndarray:
    """Of norm 1, with this correlation with (1, 0, 0)."""
    return np.array([correlation, np.sqrt(1 - correlation**2), 0])


@pytest.mark.parametrize(
    ("part", "place", "least", "said"),
    [
        (
            "variations",
            0,
            0.6,
            "step times that vary together (correlation 0.60 over the first 256",
        ),
        (
            "variations",
            1,
            0.8,
            "step times that vary together (correlation 0.80 over the first 100",
        ),
        ("losses", 0, 0.6, "losses that vary together (correlation 0.60 over the first 256 steps)"),
        ("losses", 1, 0.8, "losses that vary together (correlation 0.80 over the first 100 steps)"),
        ("later", 0, 0.6, "(correlation 0.60 over the steps 1001 to 1256)"),
        ("later", 1, 0.6, "(correlation 0.60 over the steps 5001 to 5256)"),
    ],
)
def test_a_copy_varies_together_by_the_limit_or_more(
    part: str, place: int, least: float, said: str
) -> None:
    def found(correlation: float) -> tuple[Likeness, ...]:
        rows = (row(1.0), np.array([0.0, 0, 1]), row(correlation))
        parts: list[list[Any]] = [[None, each] if place else [each, None] for each in rows]
        runs = [compared(**{part: tuple(each)}, seed=seed) for seed, each in enumerate(parts)]
        return find_likenesses(runs)

    (like,) = found(least)
    assert (like.one, like.other) == (0, 2) and said in like.what
    assert found(least - 0.001) == ()


def test_two_long_runs_are_compared_over_their_longer_part_alone() -> None:
    first, other = compared(variations=(row(1), row(1))), (row(0.5), row(0.9))
    assert find_likenesses([first, compared(variations=other)]) == ()
    (found,) = find_likenesses([first, compared(variations=(None, other[1]))])
    assert "0.90 over the first 100" in found.what


def test_losses_are_compared_of_closed_runs_of_different_seeds() -> None:
    for seeds, count in (((0, 1), 1), ((1, 1), 0), ((None, 1), 0), ((1, None), 0)):
        runs = [compared(losses=(row(1), None), seed=seed) for seed in seeds]
        assert len(find_likenesses(runs)) == count


def test_each_pair_is_told_once_in_order_and_by_its_step_times_first() -> None:
    both = {"variations": (row(1), None), "losses": (row(1), None)}
    runs = [compared(losses=(row(1), None), seed=1), compared(**both, seed=2)]
    found = find_likenesses([*runs, compared(**both, seed=3)])
    told = [(each.one, each.other, each.what.split()[0]) for each in found]
    assert told == [(0, 1, "losses"), (0, 2, "losses"), (1, 2, "step")]


def test_a_quarter_of_the_ratios_in_any_order_is_a_copy() -> None:
    def sharing(count: int) -> StepTimes:
        return compared(ratios=np.arange(256.0)[::-1] + 256 - count)

    own = [compared(ratios=np.arange(256.0)), compared()]
    (found,) = find_likenesses([*own, sharing(64)])
    assert (found.one, found.other) == (0, 2) and "in 64 of 256 compared" in found.what
    assert find_likenesses([*own, sharing(63)]) == ()


def test_a_sample_has_256_different_ratios_whatever_their_order() -> None:
    parts = steps(256).parts_s
    repeated = np.tile(parts, 3)
    found = [step_times(made(each)).ratios for each in (repeated, repeated[:, ::-1])]
    assert found[0] is not None and found[1] is not None
    assert len(set(found[0])) == 256 and set(found[0]) == set(found[1])
    assert step_times(made(np.tile(parts[:, :255], 3))).ratios is None


def test_steps_are_those_of_rank_0() -> None:
    own, other = steps(300), steps(300, seed=2)
    columns = np.stack([own.parts_s, other.parts_s], axis=2).reshape(4, -1)
    both = checks_alone.steps(1, rank=[0, 1] * 300, **dict(zip(PARTS, columns, strict=True)))
    assert len(likenesses(own, both)) == 1 and likenesses(other, both) == ()


def asynchronous(stalls_s: np.ndarray, apart_ns: np.ndarray) -> StepRecords:
    """Steps of which the fetch alone was timed, and the time from one to the next."""
    untimed = dict.fromkeys(PARTS[1:], np.nan)
    start_s = np.cumsum([0, *apart_ns[:-1]]) / 1e9
    return checks_alone.steps(1, start_s, fetch_stall_s=stalls_s, **untimed)


def test_copies_of_asynchronous_runs_are_found_by_their_fetches_and_the_times_between() -> None:
    stalls_s, apart_ns = steps().fetch_stall_s, np.round(steps(seed=3).compute_s * 1e9)
    order = [*np.random.default_rng(9).permutation(399), 399]
    own, other = (
        asynchronous(stalls_s, apart_ns),
        asynchronous(steps(seed=2).fetch_stall_s, apart_ns),
    )
    (found,) = likenesses(own, other, asynchronous(stalls_s[order], apart_ns[order]))
    assert (found.one, found.other) == (0, 2) and "256 of 256 compared steps" in found.what
    ratios, rest_s = step_times(own).ratios, apart_ns[:-1] / 1e9 - stalls_s[:-1]
    assert np.isin(np.round(ratios, 6), np.round(np.log(rest_s / stalls_s[:-1]), 6)).all()
    (found,) = likenesses(own, other, asynchronous(stalls_s * 1.5, apart_ns[::-1]))
    assert (found.one, found.other) == (0, 2) and "over the first 256 steps" in found.what


@pytest.mark.parametrize(
    "factors",
    [np.where(np.arange(400) == 50, 1000.0, 1.0), np.geomspace(1, 5, 400)],
    ids=["a hanging card", "throttling"],
)
def test_one_slow_step_and_a_slow_course_of_two_runs_are_no_copy(factors: np.ndarray) -> None:
    runs = [made(steps(400, seed).parts_s * factors) for seed in range(10)]
    assert likenesses(*runs) == ()


@pytest.mark.parametrize("accumulation", [2, 4])
def test_runs_of_slow_updates_are_no_copies(accumulation: int) -> None:
    factors = np.where(np.arange(1, 401) % accumulation, 1.0, 1.4)
    runs = [made(steps(400, seed).parts_s * factors) for seed in range(10)]
    assert likenesses(*runs, accumulation=accumulation) == ()
    (found,) = likenesses(runs[0], with_noise(runs[0], 0.03), accumulation=accumulation)
    assert "vary together" in found.what


def test_runs_of_short_epochs_are_no_copies() -> None:
    """The first of eight steps starts the loader, and the last has fewer samples."""
    factors = np.tile([2.0, *[1.0] * 6, 0.3], 50)
    epochs = np.repeat(np.arange(1, 51), 8)
    runs = [made(steps(400, seed).parts_s * factors, epochs) for seed in range(10)]
    assert likenesses(*runs) == ()


TURNS = [1.0, 3, 2, 4, 5, 6, 7, 8, 7, 6]
"""Ten readings in a row, eight of them different, with three turns."""


@pytest.mark.parametrize(
    ("values", "count"),
    [
        (TURNS, 1),
        ([*TURNS, 9.0], 2),
        (TURNS[:9], 0),
        ([1, 3, 2, 4, 5, 6, 7, 8, 9, 10], 0),
        ([1, 3, 2, 4, 5, 6, 7, 6, 5, 4], 0),
    ],
    ids=["just enough", "two rows", "nine readings", "two turns", "seven values"],
)
def test_ten_readings_with_eight_values_and_three_turns_are_a_sign(
    values: list[float], count: int
) -> None:
    assert len(power(np.array(values, float))) == count


def test_a_sample_is_of_its_own_channels_in_the_order_of_time() -> None:
    values, order = read(1), np.random.default_rng(9).permutation(600)

    def shuffled(name: str, unit: str, own: np.ndarray = values) -> Channel:
        return checks_alone.channel(name, unit, np.arange(600)[order], own[order])

    expected, other = loss_sample(values), read(2)
    assert power_sample([shuffled("um25c power", "W")]) == expected
    assert memory_sample([shuffled("memory used", "B")]) == expected
    for name, unit in (("memory free", "B"), ("process used", "B"), ("um25c voltage", "V")):
        assert not power_sample([shuffled(name, unit)]) | memory_sample([shuffled(name, unit)])
    two = power_sample([shuffled("a power", "W"), shuffled("b power", "W", other)])
    assert two == frozenset(sorted(expected | power(other))[:KEPT_POWER])
