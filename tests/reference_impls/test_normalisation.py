"""Statistics over all ranks are those of one rank with all samples; ranks are threads here, MPI's
are in tests/suite/verify/test_verify_ranks.py."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from reference_impls.communication import MpiWorld
from reference_impls.contract import ContractError, Parallel
from reference_impls.normalisation import Synchroniser, open_synchroniser

EPSILON = 1e-5
SHARES = {"equal": (4, 4), "unequal": (5, 4, 4), "one sample each": (1, 1, 1), "one rank": (6,)}


class ThreadWorld(MpiWorld):
    """One of several threads whose sums are made when all of them have come."""

    def __init__(self, barrier: threading.Barrier, offered: list[Any]) -> None:
        self._barrier, self._offered = barrier, offered

    def separate_sum(self) -> Callable[[Any], None]:
        def add(values: Any) -> None:
            self._offered.append(values.copy())
            self._barrier.wait(120)
            values[...] = np.sum(self._offered, axis=0)
            if self._barrier.wait(120) == 0:
                self._offered.clear()
            self._barrier.wait(120)

        return add


def on_ranks(shares: Sequence[Any], work: Callable[[Synchroniser, Any], Any]) -> list[Any]:
    """What each rank computes of its share."""
    barrier, offered = threading.Barrier(len(shares)), list[Any]()
    with ThreadPoolExecutor(len(shares)) as pool:
        return list(
            pool.map(lambda share: work(Synchroniser(ThreadWorld(barrier, offered)), share), shares)
        )


def layer(synchroniser: Synchroniser, images: Any, of_loss: Any) -> tuple[Any, ...]:
    """Forward and backward pass as the frameworks' layers do them: outputs, gradient of the images,
    and both running statistics."""
    count, axes = images.size // images.shape[1], (0, 2, 3)
    moments = synchroniser.moments(count, images.mean(axes), images.var(axes))
    scale = 1 / np.sqrt(moments.variance + EPSILON)
    outputs = (images - by_channel(moments.mean)) * by_channel(scale)
    sums, products = of_loss.sum(axes), (of_loss * outputs).sum(axes)
    constant, factor = synchroniser.corrections(count, moments.count, sums, products)
    return (
        outputs,
        (of_loss - by_channel(constant) - outputs * by_channel(factor)) * by_channel(scale),
        moments.mean,
        moments.unbiased,
    )


def by_channel(vector: Any) -> Any:
    return vector[None, :, None, None]


@pytest.mark.parametrize("counts", SHARES.values(), ids=SHARES)
def test_ranks_normalise_as_one_rank_with_all_samples(counts: tuple[int, ...]) -> None:
    """Forward pass, gradients of the images, and running statistics in float64; each rank's loss is
    the mean of its own samples."""
    stream, whole = np.random.default_rng(3), sum(counts)
    images = stream.normal(3.0, 2.0, (whole, 5, 3, 2))
    of_sample = stream.normal(0.0, 1.0, images.shape)
    places = np.cumsum(counts)[:-1]
    given = zip(np.split(images, places), np.split(of_sample, places), counts, strict=True)
    found = on_ranks(
        list(given), lambda synchroniser, share: layer(synchroniser, share[0], share[1] / share[2])
    )
    ((outputs, gradient, mean, variance),) = on_ranks(
        [(images, of_sample)],
        lambda synchroniser, share: layer(synchroniser, share[0], share[1] / whole),
    )
    # as the exchange weights it
    weighted = [one[1] * count / whole for one, count in zip(found, counts, strict=True)]
    np.testing.assert_allclose(
        np.concatenate([one[0] for one in found]), outputs, rtol=0, atol=1e-13
    )
    np.testing.assert_allclose(np.concatenate(weighted), gradient, rtol=0, atol=1e-14)
    for one in found:
        np.testing.assert_allclose(one[2], mean, rtol=1e-14)
        np.testing.assert_allclose(one[3], variance, rtol=1e-13)
        assert (one[2] == found[0][2]).all() and (one[3] == found[0][3]).all(), (
            "the ranks have the same bits"
        )


def test_the_gradient_is_that_of_the_loss() -> None:
    """Against differences of the loss, for a rank that has the whole mini-batch."""
    stream = np.random.default_rng(4)
    images, of_loss = stream.normal(1.0, 2.0, (3, 2, 2, 2)), stream.normal(0.0, 1.0, (3, 2, 2, 2))

    def loss(values: Any) -> float:
        return float((layer(alone, values, of_loss)[0] * of_loss).sum())

    alone = Synchroniser(ThreadWorld(threading.Barrier(1), []))
    gradient = layer(alone, images, of_loss)[1]
    for place in np.ndindex(images.shape):
        moved = np.zeros_like(images)
        moved[place] = 1e-6
        assert (loss(images + moved) - loss(images - moved)) / 2e-6 == pytest.approx(
            gradient[place], abs=1e-7
        )


def test_waiting_is_counted_once() -> None:
    synchroniser = Synchroniser(ThreadWorld(threading.Barrier(1), []))
    synchroniser.moments(2, np.ones(3), np.ones(3))
    assert synchroniser.take_communication_s() > 0
    assert synchroniser.take_communication_s() == 0


def test_it_is_opened_where_it_is_asked_for() -> None:
    world = ThreadWorld(threading.Barrier(1), [])
    assert open_synchroniser(world, Parallel(2, 1, "mpi", 0, False)) is None
    assert open_synchroniser(world, Parallel(2, 1, "mpi", 0, False, "synchronised")) is not None
    with pytest.raises(ContractError, match="--collective native"):
        open_synchroniser(world, Parallel(2, 1, "native", 0, False, "synchronised"))
