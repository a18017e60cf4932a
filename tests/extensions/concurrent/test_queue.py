"""The queue and its batches, by a simulated server: known results of queueing theory, and what
holds for every arrival and service."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.errors import SuiteError
from suite.extensions.concurrent.measuring.simulation import simulate
from suite.extensions.concurrent.record.arrivals import NS_PER_S, ArrivalKind, Arrivals, intended_ns
from suite.extensions.concurrent.record.batching import BatchRule, Queue
from suite.extensions.concurrent.record.calculated import latencies_s
from suite.extensions.concurrent.record.queueing import forming_s
from tests.every_case import some
from tests.extensions.concurrent.conftest import Simulated

TIMES = st.lists(st.integers(0, 2_000), min_size=1, max_size=60).map(sorted)
RULES = st.builds(BatchRule, st.integers(1, 9), st.none() | st.integers(0, 300))


@pytest.mark.parametrize("batch", [1, 4, 16])
def test_uniform_arrivals_and_constant_service_give_the_sawtooth(
    batch: int, simulated: Simulated
) -> None:
    """D/D/1: image i of a batch waits (b - 1 - i) / rate for the last one, then for the execution;
    no batch waits for another one."""
    found = latencies_s(simulated(Arrivals(ArrivalKind.UNIFORM, 100, 16), batch, 0.9 * batch / 100))
    expected = np.tile(np.array(forming_s(100, batch)) + 0.9 * batch / 100, len(found) // batch)
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.proof
@pytest.mark.parametrize("load", some([0.7, 0.3, 0.9]))
def test_poisson_arrivals_and_constant_service_wait_as_pollaczek_and_khinchine_say(
    load: float, simulated: Simulated
) -> None:
    """M/D/1: the mean waiting time is load * s / (2 (1 - load))."""
    service_s = load / 100
    found = latencies_s(simulated(Arrivals(ArrivalKind.POISSON, 100, 2000, seed=5), 1, service_s))
    assert found.mean() == pytest.approx(service_s + load * service_s / (2 * (1 - load)), rel=0.05)


@pytest.mark.proof
def test_poisson_arrivals_and_exponential_service_wait_as_an_mm1_queue(
    simulated: Simulated,
) -> None:
    """M/M/1: the mean time in the system is s / (1 - load), and its distribution is exponential."""
    stream = np.random.RandomState(8)
    found = latencies_s(
        simulated(
            Arrivals(ArrivalKind.POISSON, 100, 2000, seed=5),
            1,
            service_ns=lambda count: int(stream.exponential(6e6)),
        )
    )
    assert found.mean() == pytest.approx(0.006 / (1 - 0.6), rel=0.05)
    assert np.quantile(found, 0.9) == pytest.approx(0.015 * np.log(10), rel=0.05)


def test_a_server_that_is_too_slow_is_later_by_the_same_amount_with_every_batch(
    simulated: Simulated,
) -> None:
    found = latencies_s(simulated(Arrivals(ArrivalKind.UNIFORM, 100, 10), 1, 0.015))
    assert found == pytest.approx(0.015 + 0.005 * np.arange(1000), abs=1e-8)


def test_a_deadline_sends_what_has_arrived(simulated: Simulated) -> None:
    found = simulated(Arrivals(ArrivalKind.UNIFORM, 100, 1), 16, 0.001, deadline_s=0.035)
    assert set(found.column("images")[:-1]) == {4}  # the first image and those of the next 35 ms
    assert latencies_s(found).max() == pytest.approx(0.036)


def test_the_last_images_make_up_a_smaller_batch(simulated: Simulated) -> None:
    found = simulated(Arrivals(ArrivalKind.UNIFORM, 100, 0.1), 4, 0.001)
    assert found.column("images").tolist() == [4, 4, 2]


@given(
    times=TIMES,
    rule=RULES,
    service_ns=st.integers(0, 400),
    per_image_ns=st.integers(0, 20),
    late_ns=st.integers(0, 50),
)
def test_every_image_is_served_once_in_order_whatever_arrives(
    times: list[int], rule: BatchRule, service_ns: int, per_image_ns: int, late_ns: int
) -> None:
    rows, noticed = simulate(
        np.array(times), rule, lambda count: service_ns + per_image_ns * count, late_ns
    )
    assert [image for row in rows for image in range(row.first, row.first + row.images)] == list(
        range(len(times))
    )
    assert all(row.images <= rule.size for row in rows)
    assert all(later.start_ns >= earlier.end_ns for earlier, later in itertools.pairwise(rows))
    assert all(row.start_ns >= noticed[row.first + row.images - 1] for row in rows)
    assert all(there - meant >= 0 for there, meant in zip(noticed, times, strict=True))


@given(times=TIMES, size=st.integers(1, 5), service_ns=st.integers(0, 400))
def test_a_slower_server_never_makes_an_image_earlier(
    times: list[int], size: int, service_ns: int
) -> None:
    ends = [
        [
            row.end_ns
            for row in simulate(np.array(times), BatchRule(size), lambda count, each=each: each)[0]
        ]
        for each in (service_ns, service_ns + 7)
    ]
    assert all(faster <= slower for faster, slower in zip(*ends, strict=True))


@given(times=TIMES, deadline_ns=st.integers(0, 300))
def test_with_an_idle_server_no_image_waits_longer_than_the_deadline(
    times: list[int], deadline_ns: int
) -> None:
    rows, _ = simulate(np.array(times), BatchRule(4, deadline_ns), lambda count: 0)
    assert all(row.start_ns - times[row.first] <= deadline_ns for row in rows)


def test_an_image_is_noticed_at_the_clock_and_not_at_its_time() -> None:
    queue = Queue([0, 10, 20], BatchRule(2))
    queue.notice(13)
    assert (queue.noticed_ns, queue.waiting, queue.ready(13), queue.wake_ns()) == (
        [13, 13],
        2,
        2,
        20,
    )


def test_intended_arrivals_do_not_depend_on_the_service(simulated: Simulated) -> None:
    arrivals = Arrivals(ArrivalKind.POISSON, 100, 5)
    fast, slow = (simulated(arrivals, 1, service_s) for service_s in (0.001, 0.1))
    assert np.array_equal(fast.intended_ns, slow.intended_ns) and np.array_equal(
        fast.intended_ns, intended_ns(arrivals)
    )


def test_a_deadline_before_the_arrival_is_refused() -> None:
    with pytest.raises(SuiteError, match="--deadline cannot be before"):
        BatchRule(1, -NS_PER_S)
