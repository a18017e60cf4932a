"""What holds for every model, and what holds for one of them."""

from dataclasses import replace

import numpy as np
import pytest

from suite.errors import SuiteError
from suite.extensions.prediction.record import linear, neural, posterior
from suite.extensions.prediction.record.design import initial_design
from suite.extensions.prediction.record.models import MODELS, fit
from suite.extensions.prediction.record.table import Profile
from tests.every_case import some
from tests.extensions.prediction.boards import MODES, law, profile

DESIGN = initial_design(MODES)
LEFT = np.setdiff1d(np.arange(len(MODES)), DESIGN)
TIME_S, POWER_W = law(MODES.rows)


@pytest.mark.parametrize("model", some(MODELS, 2))
def test_a_model_predicts_every_mode_with_ordered_intervals(model: str) -> None:
    samples = fit(model, MODES, profile(DESIGN)).predict(MODES.rows)
    for one in (samples.time_s(), samples.power_w(), samples.energy_j()):
        assert one.value.shape == (len(MODES),)
        assert np.all(
            (one.low > 0) & (one.low <= one.value) & (one.value <= one.high) & np.isfinite(one.high)
        )


@pytest.mark.parametrize("model", some(MODELS, 2))
def test_the_same_profile_and_seed_give_the_same_prediction(model: str) -> None:
    first, second = (
        fit(model, MODES, profile(DESIGN), seed=3).predict(MODES.rows[:50]) for _ in range(2)
    )
    assert np.array_equal(first.log_time, second.log_time)
    assert np.array_equal(first.log_power, second.log_power)


@pytest.mark.parametrize("model", MODELS)
def test_two_modes_are_too_few(model: str) -> None:
    with pytest.raises(
        SuiteError, match="needs at least 3; profile the modes that `suite predict --design` names"
    ):
        fit(model, MODES, profile(DESIGN[:2]))


@pytest.mark.parametrize("model", MODELS)
def test_three_modes_are_enough(model: str) -> None:
    samples = fit(model, MODES, profile(DESIGN[:3])).predict(MODES.rows)
    assert np.all(np.isfinite(samples.time_s().high))


@pytest.mark.parametrize("model", some(MODELS, 2))
def test_times_alone_are_predicted_without_powers(model: str) -> None:
    measured = profile(DESIGN)
    alone = replace(measured, power_w=np.full(len(DESIGN), np.nan))
    samples = fit(model, MODES, alone).predict(MODES.rows[LEFT])
    assert not samples.has_power
    error, with_power = (
        np.mean(np.abs(each.time_s().value / TIME_S[LEFT] - 1))
        for each in (samples, fit(model, MODES, measured).predict(MODES.rows[LEFT]))
    )
    assert error < 1.5 * with_power


@pytest.mark.parametrize("model", ["linear", "neural"])
def test_times_alone_are_learnt_from_another_workload_without_powers(model: str) -> None:
    alone = replace(profile(DESIGN[:3]), power_w=np.full(3, np.nan))
    time_s = fit(model, MODES, alone, [alone]).predict(MODES.rows).time_s()
    assert np.all(np.isfinite(time_s.low) & np.isfinite(time_s.high))


def test_an_unknown_model_is_named_with_the_known_ones() -> None:
    with pytest.raises(
        SuiteError, match="no model 'forest'; choose one of physical, linear, neural"
    ):
        fit("forest", MODES, profile(DESIGN))


def test_tables_of_other_boards_are_refused() -> None:
    other = profile(DESIGN)
    renamed = Profile(
        ("threads", *other.names[1:]),
        other.rows,
        other.time_s,
        other.power_w,
        other.time_error,
        other.power_error,
    )
    with pytest.raises(SuiteError, match="different resources"):
        fit("linear", MODES, profile(DESIGN), [renamed])


def error_and_coverage(seed: int, error: float) -> tuple[float, float, float]:
    samples = fit("physical", MODES, profile(DESIGN, error, seed), seed=seed).predict(
        MODES.rows[LEFT]
    )
    time, power = samples.time_s(), samples.power_w()
    covered = (time.low <= TIME_S[LEFT]) & (TIME_S[LEFT] <= time.high)
    return (
        float(np.mean(np.abs(time.value / TIME_S[LEFT] - 1))),
        float(np.mean(np.abs(power.value / POWER_W[LEFT] - 1))),
        float(np.mean(covered)),
    )


@pytest.mark.proof
def test_seven_modes_predict_the_others_of_a_law_of_the_model_s_kind() -> None:
    time_error, power_error, coverage = np.mean(
        [error_and_coverage(seed, 0.02) for seed in range(5)], axis=0
    )
    assert time_error < 0.1
    assert power_error < 0.06
    assert coverage > 0.8


@pytest.mark.proof
def test_the_physical_model_is_better_than_the_baselines_on_the_same_modes() -> None:
    errors = {
        model: np.mean(
            np.abs(
                fit(model, MODES, profile(DESIGN)).predict(MODES.rows[LEFT]).time_s().value
                / TIME_S[LEFT]
                - 1
            )
        )
        for model in MODELS
    }
    assert errors["physical"] < 0.5 * min(errors["linear"], errors["neural"])


def test_intervals_widen_with_the_error_of_the_measurements() -> None:
    def width(error: float) -> float:
        one = posterior.fit(
            MODES,
            profile(DESIGN, 0.01) if error == 0.01 else with_error(profile(DESIGN, 0.01), error),
        ).predict(MODES.rows[LEFT])
        return float(np.mean(np.log(one.time_s().high / one.time_s().low)))

    assert width(0.01) < width(0.05) < width(0.2)


def test_errors_that_are_far_larger_than_stated_widen_the_intervals() -> None:
    def width(error: float) -> float:
        noisy = with_error(profile(DESIGN, error), 0.02)
        one = posterior.fit(MODES, noisy).predict(MODES.rows[LEFT]).time_s()
        return float(np.mean(np.log(one.high / one.low)))

    assert width(0.3) > 1.5 * width(0.02)


def with_error(given: Profile, error: float) -> Profile:
    stated = np.full(len(given), error)
    return Profile(given.names, given.rows, given.time_s, given.power_w, stated, stated)


def test_a_profiled_mode_is_predicted_within_its_error() -> None:
    given = profile(DESIGN, 0.01)
    samples = posterior.fit(MODES, given).predict(given.rows)
    assert np.all(np.abs(samples.time_s().value / given.time_s - 1) < 0.04)
    assert np.all(np.abs(samples.power_w().value / given.power_w - 1) < 0.04)


def test_a_linear_law_is_found_by_the_linear_regression() -> None:
    time_s = (
        100
        - 4 * MODES.rows[:, 0]
        - 0.01 * MODES.rows[:, 1]
        - 0.02 * MODES.rows[:, 2]
        - 0.003 * MODES.rows[:, 3]
    )
    energy_j = 40 + 3 * time_s + 2 * MODES.rows[:, 0]
    chosen, error = (
        np.random.default_rng(0).choice(len(MODES), 12, replace=False),
        np.full(12, 0.02),
    )
    given = Profile(
        MODES.names, MODES.rows[chosen], time_s[chosen], (energy_j / time_s)[chosen], error, error
    )
    samples = linear.fit(given).predict(MODES.rows)
    assert np.allclose(samples.time_s().value, time_s)
    assert np.allclose(samples.energy_j().value, energy_j)


def _layers() -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [random.standard_normal(shape) for shape in ((2, 3), 3, (3, 3), 3, (3, 2), 2)]


def test_the_network_s_gradients_are_those_of_its_error_and_its_weights() -> None:
    """By small differences of the mean squared distance and half the decay of squared weights."""
    random, layers = np.random.default_rng(2), _layers()
    inputs, outputs = random.standard_normal((7, 2)), random.standard_normal((7, 2))

    def error() -> float:
        away = neural._forward(layers, inputs)[-1] - outputs
        weights = sum(float(np.sum(layer**2)) for layer in layers[::2])
        return float(np.mean(np.sum(away**2, axis=1))) + neural.DECAY / 2 * weights

    for layer, found in zip(layers, neural._gradients(layers, inputs, outputs), strict=True):
        for place in np.ndindex(layer.shape):
            layer[place] += 1e-5
            above = error()
            layer[place] -= 2e-5
            slope = (above - error()) / 2e-5
            layer[place] += 1e-5
            assert found[place] == pytest.approx(slope, abs=1e-6)


@pytest.mark.proof
def test_the_network_learns_from_another_workload() -> None:
    every = np.arange(len(MODES))
    other = profile(every, seed=9)
    slower = Profile(
        other.names,
        other.rows,
        3 * other.time_s,
        other.power_w,
        other.time_error,
        other.power_error,
    )

    def error(others: list[Profile]) -> float:
        value = (
            fit("neural", MODES, profile(DESIGN), others).predict(MODES.rows[LEFT]).time_s().value
        )
        return float(np.mean(np.abs(value / TIME_S[LEFT] - 1)))

    assert error([slower]) < 0.75 * error([])
