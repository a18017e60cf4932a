"""Gradients of several ranks: summed in buckets after the backward pass, or by ChainerMN."""

from typing import List, Optional, Union

import chainer
import numpy as np

from reference_impls.chainer import weights
from reference_impls.chainer.normalisation import synchronise
from reference_impls.communication import Buckets, BucketTime, MpiWorld
from reference_impls.contract import Parallel
from reference_impls.normalisation import Synchroniser, open_synchroniser


def join(world: MpiWorld, model: chainer.Chain, settings: Parallel) -> "Exchange":
    """Broadcast rank 0's weights and statistics; returns the all-reduce of the gradients. The model
    is still on the CPU."""
    _broadcast(world, model)
    synchroniser = open_synchroniser(world, settings)
    if synchroniser is not None:
        synchronise(model, synchroniser)
    return (
        ChainerMN(world, model)
        if settings.collective == "native"
        else GradientExchange(world, model, settings, synchroniser)
    )


def _broadcast(world: MpiWorld, model: chainer.Chain) -> None:
    world.broadcast(
        [*(parameter.array for parameter in model.params()), *weights.statistics(model).values()]
    )


class GradientExchange:
    """Copies every gradient, times this rank's share of the samples, into its bucket, and the sums
    back.

    Chainer has no hook for a gradient that is ready, so communication does not overlap the backward
    pass.
    """

    def __init__(
        self,
        world: MpiWorld,
        model: chainer.Chain,
        settings: Parallel,
        synchroniser: Optional[Synchroniser],
    ) -> None:
        self._synchroniser = synchroniser
        self._parameters = [parameter for _, parameter in sorted(model.namedparams())]
        sizes = [parameter.size for parameter in self._parameters]
        self._buckets = Buckets(world, sizes, self._parameters[0].dtype, settings)
        self._views = [
            view.reshape(parameter.shape)
            for view, parameter in zip(self._buckets.views(), self._parameters)
        ]

    def mean(self, share: float) -> float:
        """Every parameter's ``grad`` becomes the mean over the global mini-batch; returns the
        seconds that the ranks' exchange took.

        They include the sums of batch normalisation's statistics, in forward and backward pass.
        """
        for parameter, view in zip(self._parameters, self._views):
            np.multiply(chainer.backends.cuda.to_cpu(parameter.grad), share, out=view)
        for bucket in range(len(self._buckets.arrays)):
            self._buckets.start(bucket)
        communication_s = self._buckets.finish() + self.take_statistics_s()
        for parameter, view in zip(self._parameters, self._views):
            parameter.grad = parameter.device.send(view)
        return communication_s

    def take_statistics_s(self) -> float:
        """Seconds of waiting for statistics of batch normalisation since the last call."""
        return 0.0 if self._synchroniser is None else self._synchroniser.take_communication_s()

    def take_times(self) -> List[BucketTime]:
        """Times of every bucket, since the last call."""
        return self._buckets.take_times()


class ChainerMN:
    """ChainerMN's mean of the gradients; without CuPy its only communicator is ``naive``."""

    def __init__(self, world: MpiWorld, model: chainer.Chain) -> None:
        import chainermn  # optional: only this all-reduce backend needs it

        self._communicator, self._model, self._ranks = (
            chainermn.create_communicator("naive", world.communicator),
            model,
            world.size,
        )

    def mean(self, share: float) -> float:
        """Like :meth:`GradientExchange.mean`; ChainerMN's mean has equal weights, so each gradient
        is scaled first."""
        for parameter in self._model.params():
            parameter.grad *= share * self._ranks
        self._communicator.multi_node_mean_grad(self._model)
        return 0.0

    def take_times(self) -> List[BucketTime]:
        """ChainerMN does not use the suite's buckets."""
        return []


Exchange = Union[GradientExchange, ChainerMN]
