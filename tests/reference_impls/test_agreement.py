"""Gradients that ranks compare before the first step; tests/hosts has real nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impls import contract
from reference_impls.agreement import Agreement, Distance, farthest, sketch
from reference_impls.communication import World
from reference_impls.fake.implementation import PooledDigits, SoftmaxRegression
from tests.builders import Scenario, make_request

RANK_0_SENDS = 2
"""A seed by which the drawn mini-batch is rank 0's."""
NAMES = ["conv1.weight", "fc.bias"]
GRADIENTS = [
    np.random.RandomState(place).standard_normal(size) for place, size in ((1, 999), (2, 10))
]


class Pair(World):
    """Rank 0 of two; the other's sketches are these times a factor, its answers the same."""

    size = 2

    def __init__(self, factor: float) -> None:
        self._factor = factor

    @property
    def nodes(self) -> list[str]:
        return ["pi1", "pi2"]

    def bcast(self, value: Any) -> Any:
        return RANK_0_SENDS if type(value) is int else value

    def allgather(self, value: Any) -> list[Any]:
        return [value, value * self._factor if isinstance(value, np.ndarray) else value]


def agreement(tmp_path: Path, digits: Path, factor: float) -> tuple[Agreement, PooledDigits]:
    request = make_request(tmp_path, Scenario(ranks=2))
    data = request.data._replace(directory=str(digits))
    request, world = request._replace(data=data, global_batch_size=64), Pair(factor)
    model = SoftmaxRegression(request, World())
    return Agreement(request, world, model), PooledDigits(request, World())


def test_equal_gradients_are_logged_with_their_distance(tmp_path: Path, digits: Path) -> None:
    compared, pipeline = agreement(tmp_path, digits, 1.0)
    found = compared.before_training(pipeline, drops=True)
    assert found is not None
    assert (found["distance"], found["parameter"]) == (0.0, "weights")
    assert found["cost_s"] > 0
    assert compared.after_epoch(compared.cost_s * 100) is None, "it would cost 1 % of the epoch"
    assert compared.after_epoch(compared.cost_s * 1000) is not None


def test_a_gradient_of_a_tenth_ends_the_run_and_names_node_and_parameter(
    tmp_path: Path, digits: Path
) -> None:
    compared, pipeline = agreement(tmp_path, digits, 0.1)
    with pytest.raises(
        contract.ContractError,
        match=r"pi1 and pi2 compute different gradients from the same mini-batch \(weights: 0.9 of",
    ):
        compared.before_training(pipeline, drops=False)


def test_an_implementation_without_gradients_fetches_nothing(tmp_path: Path) -> None:
    class Plain(SoftmaxRegression):
        gradients = contract.Implementation.gradients

    request = make_request(tmp_path, Scenario(ranks=2))
    compared = Agreement(request, Pair(1.0), Plain(request, World()))
    assert compared.before_training(PooledDigits(request, World()), drops=False) is None
    assert compared.after_epoch(1e9) is None


@pytest.mark.parametrize(
    ("factors", "odd"),
    [((1, 1, 1), []), ((1, 1, 0.5), [2]), ((1.5, 1, 1, 1), [0]), ((1, 0.5), [0, 1])],
)
def test_of_three_ranks_and_more_the_odd_one_is_named(
    factors: tuple[float], odd: list[int]
) -> None:
    sketches = [[sketch(factor * each, 7) for each in GRADIENTS] for factor in factors]
    assert farthest(np.array(sketches), NAMES, 0.2).ranks == odd


@pytest.mark.parametrize(
    ("has_overflow", "distance", "odd"),
    [((False, True), 1.0, [0, 1]), ((True, True), None, []), ((False, False, True), 1.0, [2])],
)
def test_a_gradient_that_overflows_on_some_ranks_only_is_another_one(
    has_overflow: tuple[bool], distance: float | None, odd: list[int]
) -> None:
    overflowed = GRADIENTS[0].copy()
    overflowed[5] = np.inf
    sketches = [[sketch(overflowed if each else GRADIENTS[0], 7)] for each in has_overflow]
    found = farthest(np.array(sketches), NAMES, 0.5)
    assert (found.relative, found.ranks) == (distance, odd)


def test_a_small_parameter_is_not_hidden_by_a_large_one() -> None:
    large, small = GRADIENTS[0] * 100, GRADIENTS[1]
    sketches = [[sketch(large, 7), sketch(small * factor, 7)] for factor in (1, 1, 2)]
    found = farthest(np.array(sketches), NAMES, 0.2)
    assert (found.parameter, found.ranks) == ("fc.bias", [2])


def test_a_sketch_keeps_distances_and_depends_on_the_seed() -> None:
    one, other = GRADIENTS[0], GRADIENTS[0] + 0.01 * np.random.RandomState(3).standard_normal(999)
    distances = [
        float(np.linalg.norm(sketch(one, seed) - sketch(other, seed))) for seed in range(200)
    ]
    assert np.sqrt(np.mean(np.square(distances))) == pytest.approx(
        np.linalg.norm(one - other), rel=0.1
    )
    assert (sketch(one, 1) != sketch(one, 2)).any()
    without = np.stack([[sketch(np.full(3, np.nan), 1)]] * 2)
    assert farthest(without, ["a"], 0.2) == Distance(None, None, []), "unknown where all overflow"


def test_of_two_ranks_the_distance_is_theirs_and_not_that_to_their_middle() -> None:
    """3 and 4 differ by 1, a quarter of the longer one; so do 4 and 3."""
    found = farthest(np.array([[[3.0, 0.0]], [[4.0, 0.0]]]), ["fc"], 0.2)
    assert found == Distance(0.25, "fc", [0, 1])
