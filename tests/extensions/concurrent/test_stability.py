"""The test on the queue: stable, unstable, or undecided where the measurement is too short to
tell."""

from statistics import NormalDist

import numpy as np
import pytest

from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.calculated import inference_figures
from suite.extensions.concurrent.record.stability import MARGIN, QueueState, Stability, _trend
from tests.extensions.concurrent.conftest import Simulated


def of(
    simulated: Simulated, arrivals: Arrivals, batch: int, load: float, **more: float
) -> Stability:
    """The test's answer for a server with constant service at this load."""
    return inference_figures(
        simulated(arrivals, batch, load * batch / arrivals.rate_per_s, **more)
    ).stability


@pytest.mark.parametrize("batch", [1, 16, 64])
@pytest.mark.parametrize("load", [0.1, 0.9, 0.98])
def test_uniform_arrivals_below_capacity_are_stable(
    batch: int, load: float, simulated: Simulated
) -> None:
    found = of(simulated, Arrivals(ArrivalKind.UNIFORM, 100, 60), batch, load)
    assert found.state is QueueState.STABLE


@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize("load", [1.03, 1.2, 3.0])
def test_above_capacity_the_queue_keeps_what_cannot_be_served(
    batch: int, load: float, simulated: Simulated
) -> None:
    found = of(simulated, Arrivals(ArrivalKind.UNIFORM, 100, 60), batch, load, leave_s=75)
    assert (
        found.state is QueueState.UNSTABLE
        and found.growth is not None
        and found.p_value is not None
    )
    assert found.growth.value == pytest.approx(1 - 1 / load, rel=0.1)
    assert found.p_value < 0.01


@pytest.mark.proof
def test_random_arrivals_below_capacity_are_hardly_ever_called_unstable(
    simulated: Simulated,
) -> None:
    """40 measurements of a minute at a load of 0.8."""
    states = [
        of(simulated, Arrivals(ArrivalKind.POISSON, 100, 60, seed), 1, 0.8).state
        for seed in range(40)
    ]
    assert states.count(QueueState.UNSTABLE) == 0
    assert states.count(QueueState.STABLE) >= 36


def test_random_arrivals_above_capacity_are_found(simulated: Simulated) -> None:
    states = [
        of(simulated, Arrivals(ArrivalKind.POISSON, 100, 60, seed), 1, 1.1, leave_s=75).state
        for seed in range(20)
    ]
    assert states.count(QueueState.UNSTABLE) >= 18 and states.count(QueueState.STABLE) == 0


def test_a_growth_whose_interval_holds_the_margin_is_undecided(simulated: Simulated) -> None:
    found = of(simulated, Arrivals(ArrivalKind.POISSON, 100, 60, 2), 1, 1.01)
    assert found.growth is not None and found.growth.low < MARGIN < found.growth.high
    assert found.state is QueueState.UNDECIDED


def test_too_few_batches_are_undecided_and_say_how_many_are_needed(simulated: Simulated) -> None:
    found = of(simulated, Arrivals(ArrivalKind.UNIFORM, 100, 10), 256, 0.5)
    assert (found.state, found.growth, found.reason) == (
        QueueState.UNDECIDED,
        None,
        "4 batches; the test needs 18",
    )


def test_too_few_batches_because_inference_is_far_too_slow_are_unstable(
    simulated: Simulated,
) -> None:
    assert (
        of(simulated, Arrivals(ArrivalKind.UNIFORM, 100, 10), 1, 200, leave_s=12.5).state
        is QueueState.UNSTABLE
    )


def test_the_first_tenth_in_which_the_queue_fills_does_not_count(simulated: Simulated) -> None:
    """Sequential: for a while nothing is served, then everything quickly."""
    gate = iter([round(0.6e9), *[1_000_000] * 10_000])
    arrivals = Arrivals(ArrivalKind.UNIFORM, 100, 60)
    found = inference_figures(simulated(arrivals, 1, service_ns=lambda count: next(gate))).stability
    assert found.state is QueueState.STABLE and np.isfinite(
        found.growth.value if found.growth else np.nan
    )


def test_sens_slope_has_the_interval_of_its_ranks() -> None:
    """Of eight squares the 28 slopes are sums of two numbers; their ranks 7 and 23 are the ends."""
    found, p_value = _trend(np.arange(8.0) ** 2, 2.0)
    assert (found.value, found.low, found.high) == (7 / 2, 5 / 2, 10 / 2)
    z = (28 - 1) / np.sqrt(8 * 7 * 21 / 18)
    assert p_value == pytest.approx(1 - NormalDist().cdf(z))
    assert _trend(-np.arange(8.0), 1.0)[1] == pytest.approx(NormalDist().cdf(z))
