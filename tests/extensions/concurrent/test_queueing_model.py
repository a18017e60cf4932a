"""The queueing model's mean latency: exact where theory is, and within 15 % of a simulated server
elsewhere."""

import numpy as np
import pytest

from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.calculated import inference_figures
from suite.extensions.concurrent.record.queueing import Load, gap_variation, predict
from tests.every_case import some
from tests.extensions.concurrent.conftest import Simulated


def latency_s(load: Load) -> float:
    found = predict(load)
    assert found is not None
    return found.latency_s


@pytest.mark.parametrize("batch", [1, 4, 16, 256])
def test_uniform_arrivals_with_constant_service_wait_for_the_batch_alone(batch: int) -> None:
    assert latency_s(Load(100, batch, 0.005 * batch, 0.0, 0.0)) == pytest.approx(
        (batch - 1) / 200 + 0.005 * batch
    )


def test_single_poisson_arrivals_are_exact_for_constant_and_exponential_service() -> None:
    # M/D/1
    assert latency_s(Load(100, 1, 0.007, 0.0, 1.0)) == pytest.approx(
        0.007 + 0.7 * 0.007 / (2 * 0.3)
    )
    assert latency_s(Load(100, 1, 0.007, 1.0, 1.0)) == pytest.approx(0.007 / 0.3)  # M/M/1


@pytest.mark.parametrize("utilisation", [1.0, 1.7])
def test_an_overloaded_server_has_no_mean_latency(utilisation: float) -> None:
    assert predict(Load(100, 4, 0.04 * utilisation, 0.0, 0.0)) is None


@pytest.mark.parametrize("scatter", some([0.6, 0.2, 0.0]))
@pytest.mark.parametrize("utilisation", some([0.6, 0.3, 0.85]))
@pytest.mark.parametrize("batch", some([4, 1, 16]))
@pytest.mark.parametrize("kind", [ArrivalKind.UNIFORM, ArrivalKind.POISSON])
def test_it_is_within_15_percent_of_a_simulated_server(
    kind: ArrivalKind, batch: int, utilisation: float, scatter: float, simulated: Simulated
) -> None:
    """Service times are lognormal around their mean; 200 s at 100 images/s and more for small
    batches."""
    mean_ns, spread = utilisation * batch * 1e7, np.sqrt(np.log(1 + scatter**2))
    stream = np.random.RandomState(4)
    found = inference_figures(
        simulated(
            Arrivals(kind, 100, 400, seed=6),
            batch,
            service_ns=lambda count: int(mean_ns * np.exp(stream.normal(-(spread**2) / 2, spread))),
        )
    )
    assert found.prediction is not None and found.latency_s is not None
    assert found.prediction.latency_s == pytest.approx(found.latency_s.value, rel=0.15)


def test_gaps_between_batches_vary_as_their_arrivals_do() -> None:
    times = np.array([0, 1, 5, 6, 7, 9])  # complete at 1, 6 and 9
    found = [gap_variation(kind, times, 2) for kind in ArrivalKind]
    assert dict(zip(ArrivalKind, found, strict=True)) == {
        ArrivalKind.UNIFORM: 0,
        ArrivalKind.POISSON: 1 / 2,
        ArrivalKind.TRACE: 1 / 16,
    }


def test_a_batch_with_a_deadline_has_no_prediction_and_says_why(simulated: Simulated) -> None:
    found = inference_figures(
        simulated(Arrivals(ArrivalKind.UNIFORM, 100, 4), 16, 0.001, deadline_s=0.035)
    )
    assert (
        found.prediction is None and "no closed form for batches with a deadline" in found.notes[0]
    )
