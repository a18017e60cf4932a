"""Synchronised batch normalisation: statistics over the samples of all ranks, as if one rank had
the whole mini-batch.

Per channel, with m values x on this rank and N on all ranks, mean and variance are those of all N
values. The forward pass sums m, x and the squares of x over the ranks; the backward pass sums two
more numbers. Every rank's gradient is later weighted by w = m / N, its share of the samples, and
summed. With dy the gradient of a rank's own mean loss, and y = (x - mean) / sqrt(variance +
epsilon) before scale and offset, the gradient of x is

    dx = scale / sqrt(variance + epsilon) * (dy - (sum over ranks of w sum(dy) + y * sum over ranks
    of w sum(dy y)) / m)

Per-channel arithmetic is in float64. Python 3.6 grammar; NumPy only, so that all frameworks share
it.
"""

from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from reference_impls.communication import MpiWorld
from reference_impls.contract import (
    SECONDS_PER_NS,
    SYNCHRONISED,
    ContractError,
    Parallel,
    monotonic_ns,
)


class Moments(NamedTuple):
    """Statistics of all ranks' values, by channel, float64: their number, mean and biased
    variance."""

    count: float
    mean: np.ndarray
    variance: np.ndarray

    @property
    def unbiased(self) -> np.ndarray:
        """The variance that running statistics are made of."""
        return self.variance * (self.count / max(self.count - 1.0, 1.0))


class Corrections(NamedTuple):
    """What is subtracted from dy: by channel, float64, a constant and a factor of y."""

    constant: np.ndarray
    factor: np.ndarray


class Synchroniser:
    """Sums statistics over all ranks, beside the gradients of later layers that may be on their
    way.

    Every rank asks for its layers in the same order. After every epoch the ranks compare digests of
    the running statistics, which these sums make.
    """

    def __init__(self, world: MpiWorld) -> None:
        self._sum_over_ranks = world.separate_sum()
        self._communication_ns = 0

    def moments(self, count: int, mean: np.ndarray, variance: np.ndarray) -> Moments:
        """Statistics of all ranks from this rank's: number of values, mean and biased variance by
        channel."""
        own_mean, own_variance = np.asarray(mean, np.float64), np.asarray(variance, np.float64)
        total = self._sum([[count], count * own_mean, count * (own_variance + own_mean * own_mean)])
        whole, (sums, squares) = float(total[0]), np.split(total[1:], 2)
        whole_mean = sums / whole
        return Moments(
            whole, whole_mean, np.maximum(squares / whole - whole_mean * whole_mean, 0.0)
        )

    def corrections(
        self, count: int, of_all: float, sums: np.ndarray, products: np.ndarray
    ) -> Corrections:
        """From this rank's sums of dy and of dy y by channel; it has ``count`` of the ``of_all``
        values of all ranks."""
        weight = count / of_all
        total = self._sum(
            [weight * np.asarray(sums, np.float64), weight * np.asarray(products, np.float64)]
        )
        constant, factor = np.split(total / count, 2)
        return Corrections(constant, factor)

    def take_communication_s(self) -> float:
        """Seconds that the sums took since the last call: exposed communication, because the layer
        waits for them."""
        communication_ns, self._communication_ns = self._communication_ns, 0
        return communication_ns * SECONDS_PER_NS

    def _sum(self, parts: Sequence[Any]) -> np.ndarray:
        values = np.concatenate([np.asarray(part, np.float64) for part in parts])
        began_ns = monotonic_ns()
        self._sum_over_ranks(values)
        self._communication_ns += monotonic_ns() - began_ns
        return values


def open_synchroniser(world: MpiWorld, settings: Parallel) -> Optional[Synchroniser]:
    """The synchroniser of a run that asks for one, else None. Raises ContractError beside a
    framework's own all-reduce, which weights otherwise."""
    if settings.normalisation != SYNCHRONISED:
        return None
    if settings.collective != "mpi":
        raise ContractError(
            "synchronised batch normalisation needs the suite's all-reduce; leave --collective {}"
            " out.".format(settings.collective)
        )
    return Synchroniser(world)
