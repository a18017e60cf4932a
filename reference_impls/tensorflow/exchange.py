"""Gradients of several ranks: packed into buckets inside the graph and summed between two graphs,
or by MultiWorkerMirroredStrategy."""

import json
import os
from typing import List, Optional, Sequence, Tuple, Union

import keras
import tensorflow as tf

from reference_impls.communication import Buckets, BucketTime, MpiWorld, World
from reference_impls.contract import Parallel
from reference_impls.normalisation import Synchroniser, open_synchroniser
from reference_impls.rendezvous import own_endpoint
from reference_impls.tensorflow import weights
from reference_impls.tensorflow.layers import synchronise


def open_strategy(world: World, settings: Parallel) -> "Optional[StrategyExchange]":
    """TensorFlow's strategy for the native collective, else None; call it first: TensorFlow must
    know its peers when it starts."""
    return StrategyExchange(world) if settings.collective == "native" else None


def join(
    world: MpiWorld, model: keras.Model, settings: Parallel, strategy: "Optional[StrategyExchange]"
) -> "Exchange":
    """Broadcast rank 0's weights and statistics; returns the all-reduce of the gradients."""
    _broadcast(world, model)
    synchroniser = open_synchroniser(world, settings)
    if synchroniser is not None:
        synchronise(model, synchroniser)
    return strategy or GradientExchange(world, model, settings, synchroniser)


def _broadcast(world: MpiWorld, model: keras.Model) -> None:
    for variable in [*weights.parameters(model).values(), *weights.statistics(model).values()]:
        value = variable.read().copy()
        world.broadcast([value])
        variable.write(value)


class GradientExchange:
    """``pack`` and ``unpack`` run in graphs, ``sum`` between them: no overlap, because the backward
    pass is one graph."""

    def __init__(
        self,
        world: MpiWorld,
        model: keras.Model,
        settings: Parallel,
        synchroniser: Optional[Synchroniser],
    ) -> None:
        self._synchroniser = synchroniser
        self._shapes = [tuple(variable.shape) for variable in model.trainable_variables]
        sizes = [int(tf.reduce_prod(shape)) if shape else 1 for shape in self._shapes]
        self._buckets = Buckets(world, sizes, model.dtype, settings)
        self._sizes = sizes

    @property
    def specs(self) -> List[tf.TensorSpec]:
        """The buckets' shapes and types in a graph."""
        return [tf.TensorSpec(array.shape, array.dtype) for array in self._buckets.arrays]

    def pack(self, gradients: Sequence[tf.Tensor], share: tf.Tensor) -> List[tf.Tensor]:
        """Gradients by variable, times this rank's share of the samples, as buckets."""
        return [
            share * tf.concat([tf.reshape(gradients[place], [-1]) for place in members], 0)
            for members in self._buckets.plan.members
        ]

    def sum(self, buckets: Sequence[tf.Tensor]) -> Tuple[List[tf.Tensor], float]:
        """The sums over all ranks, and the seconds that the exchange took, with that of batch
        normalisation's statistics."""
        for number, bucket in enumerate(buckets):
            self._buckets.start(number, bucket.numpy())
        communication_s = self._buckets.finish() + self.take_statistics_s()
        return [tf.constant(array) for array in self._buckets.arrays], communication_s

    def unpack(self, buckets: Sequence[tf.Tensor]) -> List[tf.Tensor]:
        """Gradients by variable again."""
        gradients = {}
        for bucket, members in zip(buckets, self._buckets.plan.members):
            pieces = tf.split(bucket, [self._sizes[place] for place in members])
            gradients.update(
                {
                    place: tf.reshape(piece, self._shapes[place])
                    for place, piece in zip(members, pieces)
                }
            )
        return [gradients[place] for place in range(len(gradients))]

    def take_statistics_s(self) -> float:
        """Seconds of waiting for statistics of batch normalisation since the last call."""
        return 0.0 if self._synchroniser is None else self._synchroniser.take_communication_s()

    def take_times(self) -> List[BucketTime]:
        """Times of every bucket, since the last call."""
        return self._buckets.take_times()


class StrategyExchange:
    """MultiWorkerMirroredStrategy's sum over all ranks, inside the step's graph; the ranks'
    addresses are exchanged over MPI.

    Keras 3 has no support for this strategy (its `fit` refuses it), so the variables are each
    rank's own and the strategy only sums gradients.
    """

    def __init__(self, world: World) -> None:
        workers, task = (
            world.allgather(own_endpoint(world)),
            {"type": "worker", "index": world.rank},
        )
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
        self._strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def mean(self, gradients: Sequence[tf.Tensor], share: tf.Tensor) -> List[tf.Tensor]:
        """Means over the global mini-batch; for graphs."""

        def sums() -> List[tf.Tensor]:
            # The products are made here, where the strategy has chosen a device: it refuses tensors
            # that have none yet.
            own = [share * gradient for gradient in gradients]
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, own)

        return self._strategy.run(sums)

    def take_times(self) -> List[BucketTime]:
        """TensorFlow does not use the suite's buckets."""
        return []


Exchange = Union[GradientExchange, StrategyExchange]
