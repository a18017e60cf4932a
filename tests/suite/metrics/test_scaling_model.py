"""The scaling model recovers known parameters, its intervals cover them, and it refuses points that
do not determine it."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit  # type: ignore[import-untyped]

from suite.errors import SuiteError
from suite.metrics.linear_fit import LinearFit
from suite.metrics.scaling_model import (
    Algorithm,
    AllreduceModel,
    Observation,
    Parameter,
    Scaling,
    ScalingModel,
    _better,
    fit_scaling,
)

BYTES = 246_824
RANKS = (1, 2, 4, 8)


def exchange_s(algorithm: Algorithm, ranks: int, latency_s: float, per_byte_s: float) -> float:
    """The textbook's cost, as an independent implementation."""
    if algorithm is Algorithm.RING:
        return 2 * (ranks - 1) * latency_s + 2 * (ranks - 1) / ranks * BYTES * per_byte_s
    return 2 * math.ceil(math.log2(ranks)) * (latency_s + BYTES * per_byte_s)


def measured(
    algorithm: Algorithm,
    scaling: Scaling,
    parameters: tuple[float, float, float, float],
    noise: Callable[[], float] = lambda: 1.0,
    ranks: tuple[int, ...] = RANKS,
    repetitions: int = 3,
) -> list[Observation]:
    """Points of a machine with these parameters: fixed_s, per_sample_s, latency_s, per_byte_s;
    ``noise`` multiplies."""
    fixed_s, per_sample_s, latency_s, per_byte_s = parameters
    points = []
    for n in [n for n in ranks for _ in range(repetitions)]:
        samples = 64 / n if scaling is Scaling.STRONG else 64.0
        spent_s = exchange_s(algorithm, n, latency_s, per_byte_s) if n > 1 else 0.0
        points.append(
            Observation(
                n, samples, BYTES, (fixed_s + per_sample_s * samples) * noise(), spent_s * noise()
            )
        )
    return points


def of(model: ScalingModel, algorithm: Algorithm) -> AllreduceModel:
    """One of the two fits."""
    return next(fit for fit in model.fits if fit.algorithm is algorithm)


def values(model: AllreduceModel) -> dict[str, float]:
    """Parameters by name."""
    return {parameter.name: parameter.value for parameter in model.parameters}


positive = st.floats(1e-5, 1e-1)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(Scaling), positive, positive, st.floats(1e-6, 1e-2), st.floats(1e-10, 1e-6))
def test_known_parameters_of_a_ring_are_recovered(
    scaling: Scaling, fixed_s: float, per_sample_s: float, latency_s: float, per_byte_s: float
) -> None:
    model = fit_scaling(
        measured(Algorithm.RING, scaling, (fixed_s, per_sample_s, latency_s, per_byte_s)), scaling
    )
    found = values(of(model, Algorithm.RING))
    largest = max(2 * 7 * latency_s, BYTES * per_byte_s)
    assert found["latency_s"] == pytest.approx(latency_s, rel=1e-6, abs=1e-8 * largest)
    assert found["per_byte_s"] == pytest.approx(per_byte_s, rel=1e-6, abs=1e-8 * largest / BYTES)
    if scaling is Scaling.STRONG:
        assert found["fixed_s"] == pytest.approx(fixed_s, rel=1e-5, abs=1e-8 * 64 * per_sample_s)
        assert found["per_sample_s"] == pytest.approx(per_sample_s, rel=1e-5, abs=1e-8 * fixed_s)
    else:
        assert found["busy_s"] == pytest.approx(fixed_s + 64 * per_sample_s)
    assert model.better is Algorithm.RING


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(Scaling), positive, positive, st.floats(1e-6, 1e-2), st.floats(1e-10, 1e-6))
def test_a_tree_is_distinguished_from_a_ring_and_projected_by_the_textbooks_formula(
    scaling: Scaling, fixed_s: float, per_sample_s: float, latency_s: float, per_byte_s: float
) -> None:
    parameters = (fixed_s, per_sample_s, latency_s, per_byte_s)
    model = fit_scaling(measured(Algorithm.TREE, scaling, parameters), scaling)
    assert model.better is Algorithm.TREE
    assert values(of(model, Algorithm.TREE))["round_s"] == pytest.approx(
        latency_s + BYTES * per_byte_s
    )
    for projection in of(model, Algorithm.TREE).projections:
        (true,) = measured(
            Algorithm.TREE, scaling, parameters, ranks=(projection.ranks,), repetitions=1
        )
        assert projection.step_s.value == pytest.approx(true.busy_s + true.exchange_s)
        assert projection.is_measured is (projection.ranks <= 8)


@pytest.mark.parametrize("scaling", Scaling)
def test_with_noise_the_intervals_cover_the_truth(scaling: Scaling) -> None:
    random, truth = np.random.RandomState(5), (0.004, 0.0002, 0.0003, 5e-9)
    names = (
        ("fixed_s", "per_sample_s", "latency_s", "per_byte_s")
        if scaling is Scaling.STRONG
        else ("busy_s", "latency_s", "per_byte_s")
    )
    expected = dict(
        zip(
            names,
            truth if scaling is Scaling.STRONG else (0.004 + 64 * 0.0002, *truth[2:]),
            strict=True,
        )
    )
    (far,) = measured(Algorithm.RING, scaling, truth, ranks=(64,), repetitions=1)
    trials, covered, projected = 200, dict.fromkeys(names, 0), 0
    for _ in range(trials):
        points = measured(Algorithm.RING, scaling, truth, lambda: float(random.normal(1, 0.05)))
        ring = of(fit_scaling(points, scaling), Algorithm.RING)
        for parameter in ring.parameters:
            covered[parameter.name] += parameter.low <= expected[parameter.name] <= parameter.high
        step = next(projection for projection in ring.projections if projection.ranks == 64).step_s
        projected += step.low <= far.busy_s + far.exchange_s <= step.high
    assert all(count / trials > 0.90 for count in covered.values()), covered
    assert projected / trials > 0.95
    # intervals that always cover would be too wide to say anything
    assert any(count < trials for count in covered.values())


@pytest.mark.parametrize(
    ("ring", "tree", "better"),
    [
        (1.0, 6.2, None),
        (1.0, 6.3, Algorithm.RING),
        (5.1, 1.0, None),
        (5.3, 1.0, Algorithm.TREE),
    ],
)
def test_one_fits_better_where_its_variance_is_smaller_by_the_f_tests_limit(
    ring: float, tree: float, better: Algorithm | None
) -> None:
    """Of six points, the ring's two parameters leave 4 and the tree's one leaves 5: the tables'
    95 % quantiles are F(5, 4) = 6.26 and F(4, 5) = 5.19."""
    variances = {Algorithm.RING: (4, ring), Algorithm.TREE: (5, tree)}
    fits = {
        algorithm: LinearFit((), (), (), freedom, math.sqrt(variance))
        for algorithm, (freedom, variance) in variances.items()
    }
    assert _better(fits) is better


def test_the_parts_of_an_interval_are_widened_so_that_they_hold_together() -> None:
    """A step has two parts, an efficiency three: each part at 95 % of all (Bonferroni)."""
    random = np.random.RandomState(3)
    truth = (0.01, 0.0, 1e-3, 1e-9)
    points = measured(Algorithm.TREE, Scaling.WEAK, truth, lambda: float(random.normal(1, 0.05)))
    tree = of(fit_scaling(points, Scaling.WEAK), Algorithm.TREE)
    busy, per_round = tree.parameters

    def ends(one: Parameter, freedom: int, parts: int, factor: float = 1.0) -> list[float]:
        wider = stdtrit(freedom, 1 - 0.025 / parts) / stdtrit(freedom, 0.975)
        return [factor * (one.value + wider * (end - one.value)) for end in (one.low, one.high)]

    assert set(vars(tree.projections[0].efficiency).values()) == {1.0}, "one rank is measured"
    found = next(each for each in tree.projections if each.ranks == 4)
    (busy_low, busy_high), (low, high) = ends(busy, 11, 2), ends(per_round, 8, 2, 4.0)
    assert (found.step_s.low, found.step_s.high) == pytest.approx(
        (busy_low + low, busy_high + high)
    )
    assert found.exchange_share == pytest.approx(4 * per_round.value / found.step_s.value)
    (busy_low, busy_high), (low, high) = ends(busy, 11, 3), ends(per_round, 8, 3, 4.0)
    assert (found.efficiency.low, found.efficiency.high) == pytest.approx(
        (busy_low / (busy_high + high), busy_high / (busy_low + low))
    )


def test_a_mini_batch_is_shared_by_no_more_ranks_than_it_has_samples() -> None:
    model = fit_scaling(
        measured(Algorithm.RING, Scaling.STRONG, (0.01, 0.001, 1e-4, 1e-9)), Scaling.STRONG
    )
    assert of(model, Algorithm.RING).projections[-1].ranks == 64


@pytest.mark.parametrize(
    ("ranks", "repetitions", "words"),
    [
        ((1, 2), 5, "at least two different numbers of ranks above 1"),
        ((1, 2, 4), 1, "Too few points to fit communication"),
        ((4,), 3, "at least two different numbers of ranks"),
    ],
)
def test_too_few_points_are_refused_in_a_sentence(
    ranks: tuple[int, ...], repetitions: int, words: str
) -> None:
    points = measured(
        Algorithm.RING,
        Scaling.STRONG,
        (0.01, 0.001, 1e-4, 1e-9),
        ranks=ranks,
        repetitions=repetitions,
    )
    with pytest.raises(SuiteError, match=words):
        fit_scaling(points, Scaling.STRONG)


def test_different_models_are_not_fitted_together() -> None:
    points = measured(Algorithm.RING, Scaling.WEAK, (0.01, 0.0, 1e-4, 1e-9))
    other = Observation(2, 64.0, 2 * BYTES, 0.01, 0.001)
    with pytest.raises(SuiteError, match="different networks"):
        fit_scaling([*points, other], Scaling.WEAK)


def test_one_rank_sends_nothing_in_whatever_numbers_the_others_send() -> None:
    points = measured(Algorithm.RING, Scaling.WEAK, (0.01, 0.0, 1e-4, 1e-9))
    alone = [replace(one, gradient_bytes=2 * BYTES) if one.ranks == 1 else one for one in points]
    assert fit_scaling(alone, Scaling.WEAK) == fit_scaling(points, Scaling.WEAK)
