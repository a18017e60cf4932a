"""Questions, designs and answers, on predictions that are known exactly."""

import numpy as np
import pytest

from suite.errors import SuiteError
from suite.extensions.prediction.record.answers import OTHER, answer, know
from suite.extensions.prediction.record.design import initial_design, next_mode
from suite.extensions.prediction.record.limits import (
    Quantity,
    Question,
    best,
    probability_within,
    question,
)
from suite.extensions.prediction.record.models import fit
from suite.extensions.prediction.record.modes import Axis, grid
from suite.extensions.prediction.record.samples import Samples
from tests.extensions.prediction.boards import MODES, law, profile

TIME_S, POWER_W = law(MODES.rows)


class Exact:
    """Predicts the law itself."""

    def predict(self, rows: np.ndarray) -> Samples:
        time_s, power_w = law(rows)
        return Samples(np.tile(np.log(time_s), (5, 1)), np.tile(np.log(power_w), (5, 1)))


KNOWN = know(MODES, initial_design(MODES), Exact())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (question(12, None, None), np.where(POWER_W <= 12, TIME_S, np.inf)),
        (question(None, 50, None), np.where(TIME_S <= 50, TIME_S * POWER_W, np.inf)),
        (question(None, None, 750), np.where(TIME_S * POWER_W <= 750, TIME_S, np.inf)),
        (question(14, 60, None), np.where((POWER_W <= 14) & (TIME_S <= 60), TIME_S, np.inf)),
        (
            question(14, None, None, Quantity.ENERGY),
            np.where(POWER_W <= 14, TIME_S * POWER_W, np.inf),
        ),
    ],
)
def test_an_exact_prediction_gives_the_true_best_mode(asked: object, expected: np.ndarray) -> None:
    assert best(KNOWN.samples, asked) == np.argmin(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "asked",
    [
        question(12, None, None),
        question(None, None, 750),
        question(None, 50, None),
        question(50, 50, None),
    ],
)
def test_a_question_about_power_needs_measured_power(asked: Question) -> None:
    times_alone = Samples(KNOWN.samples.log_time, np.full_like(KNOWN.samples.log_time, np.nan))
    with pytest.raises(
        SuiteError,
        match=(
            "neither power_w nor energy_j; measure one of them, or limit and minimise only the time"
        ),
    ):
        best(times_alone, asked)
    fastest = best(times_alone, question(None, 50, None, Quantity.TIME))
    assert fastest == np.argmin(TIME_S)


def test_no_mode_within_a_limit_is_no_answer() -> None:
    found = answer(KNOWN, question(1, None, None))
    assert (found.recommended, found.binds) == (None, None)
    assert found.next is not None


@pytest.mark.parametrize("limits", [(0, None, None), (None, -1, None), (None, None, float("inf"))])
def test_a_limit_must_be_above_zero(
    limits: tuple[float | None, float | None, float | None],
) -> None:
    with pytest.raises(SuiteError, match="must be a finite number above 0"):
        question(*limits)


def test_an_answer_names_what_binds() -> None:
    limited = answer(KNOWN, question(12, None, None))
    assert limited.binds == "power limit"
    free = answer(KNOWN, question(1000, None, None))
    assert free.binds == "GPU"
    assert free.time_follows["GPU"] == pytest.approx(
        25 / 35 * np.log(1 / 0.8) / np.log(1 / 0.8), abs=0.15
    )
    assert sum(free.time_follows.values()) == pytest.approx(1, abs=0.05)
    assert 0 <= free.time_follows[OTHER] < 0.3


def test_uncertain_modes_are_avoided_and_tried() -> None:
    random = np.random.default_rng(0)
    power = np.log([10.0, 9.9]) + random.standard_normal((200, 2)) * [0.001, 0.03]
    samples = Samples(np.tile(np.log([20.0, 15.0]), (200, 1)), power)
    asked = question(10.2, None, None)
    assert best(samples, asked) == 0
    assert next_mode(samples, [0], asked) == 1
    assert probability_within(samples, asked, 0) > probability_within(samples, asked, 1)


def test_the_first_modes_are_corners_the_centre_and_a_low_one() -> None:
    first, centre, *others = MODES.rows[initial_design(MODES)].tolist()
    assert centre in [[cores, 1200, gpu, 1000] for cores in (2, 4) for gpu in (600, 900)]
    assert [first, *others] == [
        [8, 2000, 1200, 1600],
        [1, 2000, 1200, 1600],
        [8, 400, 1200, 1600],
        [8, 2000, 300, 1600],
        [8, 2000, 1200, 400],
        [2, 800, 600, 400],  # a fifth of the way up, on each axis the nearest value
    ]


def test_designs_of_other_seeds_differ_but_stay_near() -> None:
    agx = grid(
        (
            Axis("cpu_mhz", tuple(range(100, 2300, 75))),
            Axis("gpu_mhz", tuple(range(100, 1400, 100))),
        )
    )
    first, second = agx.rows[initial_design(agx, 1)], agx.rows[initial_design(agx, 2)]
    assert not np.array_equal(first, second)
    assert np.all(np.abs(first - second) <= 400)


def test_few_modes_are_all_in_the_design() -> None:
    assert sorted(initial_design(grid((Axis("cores", (1, 2)),)))) == [0, 1]


def test_the_next_mode_is_one_that_was_not_profiled_and_none_is_left_at_the_end() -> None:
    samples = fit("physical", MODES, profile(initial_design(MODES))).predict(MODES.rows)
    found = next_mode(samples, initial_design(MODES))
    assert found is not None
    assert found not in initial_design(MODES)
    assert next_mode(samples, list(range(len(MODES)))) is None


def test_the_next_mode_is_where_most_is_learned() -> None:
    random = np.random.default_rng(0)
    common = random.standard_normal((400, 1))
    values = np.concatenate(
        [0.001 * common, 0.2 * common, 0.2 * common, 0.2 * random.standard_normal((400, 1))], axis=1
    )
    samples = Samples(values, np.zeros_like(values))
    assert next_mode(samples, [0]) in (1, 2)


def test_the_fastest_is_asked_for_unless_the_time_alone_is_limited() -> None:
    least = [
        question(*limits).minimise
        for limits in (
            (None, 5.0, None),
            (9.0, 5.0, None),
            (None, 5.0, 40.0),
            (None, None, 40.0),
            (None, None, None),
        )
    ]
    assert least == [Quantity.ENERGY, *[Quantity.TIME] * 4]
    assert question(9.0, 5.0, None, Quantity.POWER).minimise is Quantity.POWER
