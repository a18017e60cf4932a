"""What a first update and a path of many steps show of the rate, the weight decay and the number of
updates."""

import math

import numpy as np
import pytest

from suite.verify.state_changes import (
    biases_only,
    changes_between,
    rate_and_decay,
    relative_progress,
)

RATE, DECAY = 0.1, 0.01
rng = np.random.default_rng(7)
WEIGHTS = {
    "conv.weight": rng.normal(size=(8, 3, 3, 3)),
    "bn.weight": np.ones(8),
    "fc.weight": rng.normal(size=(10, 8)),
}
GRADIENT = {name: rng.normal(size=value.shape) for name, value in WEIGHTS.items()}
DECAYED = {name: -RATE * DECAY * value for name, value in WEIGHTS.items()}


def update(rate: float = RATE, decay: float = DECAY) -> dict[str, np.ndarray]:
    """SGD's first: of the gradient and of the weights."""
    return {name: -rate * (GRADIENT[name] + decay * value) for name, value in WEIGHTS.items()}


@pytest.mark.parametrize(
    ("made", "rate", "decay"),
    [
        (update(), 1.0, 1.0),
        (update(RATE / 2), 0.5, 0.5),
        (update(decay=0.0), 1.0, 0.0),
        (update(decay=DECAY / 2), 1.0, 0.5),
        (update(RATE * 2, DECAY / 2), 2.0, 1.0),
    ],
    ids=[
        "right",
        "half the rate",
        "no weight decay",
        "half the weight decay",
        "twice the rate, the same decay",
    ],
)
def test_the_multiples_of_an_update(made: dict[str, np.ndarray], rate: float, decay: float) -> None:
    assert rate_and_decay(made, update(), DECAYED) == pytest.approx((rate, decay), abs=1e-9)


@pytest.mark.parametrize(
    "made",
    [{}, {"conv.weight": WEIGHTS["conv.weight"]}, {**update(), "fc.weight": np.zeros((8, 10))}],
)
def test_other_parameters_have_no_multiples(made: dict[str, np.ndarray]) -> None:
    assert all(
        math.isnan(value)
        for value in (*rate_and_decay(made, update(), DECAYED), relative_progress(made, update()))
    )


def test_two_parts_of_one_direction_have_no_multiples() -> None:
    alone = {"w": np.ones(4)}
    assert all(math.isnan(value) for value in rate_and_decay(alone, alone, {"w": np.zeros(4)}))


def test_the_way_along_the_referees() -> None:
    """Of eight equal steps seven: an eighth less; a step across the way does not count."""
    way = {"w": np.array([8.0, 0.0])}
    assert relative_progress({"w": np.array([7.0, 3.0])}, way) == 7 / 8
    assert relative_progress(way, way) == 1
    assert math.isnan(relative_progress({"w": np.zeros(2)}, {"w": np.zeros(2)}))


def test_biases_that_do_not_decay_went_farther() -> None:
    """SGD of biases from 0 along a constant gradient; beside larger weights that went the same way,
    it shows in the biases alone."""

    def way(decay: float) -> dict[str, np.ndarray]:
        bias = 0.0
        for _ in range(48):
            bias -= RATE * (1.0 + decay * bias)
        return {"conv.weight": np.full(10**4, 10.0), "conv.bias": np.array([bias])}

    decayed, other = way(DECAY), way(0.0)
    assert relative_progress(other, decayed) == pytest.approx(1.0, abs=1e-4)
    assert relative_progress(biases_only(other), biases_only(decayed)) > 1.02


def test_what_later_steps_did_to_statistics() -> None:
    """Statistics that stay where the first step left them went no part of the way."""
    first, last = {"mean": np.array([0.1, 0.2])}, {"mean": np.array([0.4, 0.1])}
    way = changes_between(last, first)
    assert way["mean"] == pytest.approx([0.3, -0.1])
    assert relative_progress(changes_between(first, first), way) == 0.0
    assert relative_progress(changes_between(last, first), way) == pytest.approx(1.0)
    assert math.isnan(relative_progress(changes_between({"other": first["mean"]}, first), way))
