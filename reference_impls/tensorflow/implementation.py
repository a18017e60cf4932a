"""The contract in TensorFlow: a Keras model, a compiled train step, and the number of correct
predictions."""

from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import keras
import numpy as np
import tensorflow as tf

from reference_impls import initial_weights
from reference_impls.arithmetic import log_value, refuse_other, refuse_unsupported
from reference_impls.communication import BucketTime, MpiWorld, World
from reference_impls.contract import (
    Batch,
    ContractError,
    Implementation,
    Optimizer,
    Request,
    StepResult,
    as_requested,
)
from reference_impls.data.pipelines import open_old_task, open_pipeline
from reference_impls.loop import Built
from reference_impls.shares import Share
from reference_impls.structure import layers_as_built
from reference_impls.tensorflow import arithmetic, loading, weights
from reference_impls.tensorflow.exchange import (
    Exchange,
    GradientExchange,
    StrategyExchange,
    join,
    open_strategy,
)
from reference_impls.tensorflow.models import MODELS
from reference_impls.tensorflow.part import train_part
from reference_impls.tensorflow.structure import dropout_of, layers_of

DeviceBatch = Tuple[tf.Tensor, tf.Tensor]


def build(request: Request, world: World) -> Built:
    """The requested model on the requested device, with the seed's weights."""
    tf.config.threading.set_intra_op_parallelism_threads(request.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if request.accelerator == "cuda" and not tf.config.list_physical_devices("GPU"):
        raise ContractError(
            "a CUDA device was requested and TensorFlow finds none; use `--accelerator cpu` or a"
            " CUDA build of TensorFlow."
        )
    refuse_unsupported(request, arithmetic.SUPPORTED)
    strategy = open_strategy(world, request.parallel)
    settings = arithmetic.set_arithmetic(request.precision, request.accelerator)
    device = "/GPU:0" if request.accelerator == "cuda" else "/CPU:0"
    observed = arithmetic.observed(device)
    refuse_other(request, observed)
    with tf.device(device):
        model = MODELS[request.model](request.data.classes)
        load_weights(model, request)
        part = train_part(model, request.trains)
        exchange = (
            join(world, model, request.parallel, strategy) if isinstance(world, MpiWorld) else None
        )
        implementation = TensorFlowImplementation(
            model, request.optimizer, request.accelerator, exchange, request.accumulation > 1
        )
    parameters = sum(variable.read().size for variable in weights.parameters(model).values())
    facts = {
        **as_requested(request),
        **part,
        "arithmetic": log_value(observed, settings),
        "parameters": parameters,
        "framework_version": tf.__version__,
        "framework_threads": request.threads,
        "model_layers": layers_as_built(
            request.model,
            "Keras " + keras.__version__,
            layers_of(model),
            dropout_of(model),
            request.data.classes,
        ),
    }
    open_data = partial(
        open_pipeline,
        channels_last=True,
        fetch=loading.fetch,
        share=Share(world.rank, world.size),
    )
    return Built(implementation, open_data(request), facts, open_old_task(request, open_data))


def load_weights(model: keras.Model, request: Request) -> None:
    """Overwrite the model's parameters with the seed's weights, from the canonical layout to
    Keras's."""
    named = weights.parameters(model)
    shapes = {name: variable.read().shape for name, variable in named.items()}
    for name, value in initial_weights.requested(request, shapes).items():
        named[name].write(value)


class SGD(keras.optimizers.SGD):
    """SGD with the suite's momentum: ``v = m v + g``, ``w -= learning_rate v``.

    Keras keeps ``learning_rate * v`` instead, which is another method as soon as the learning rate
    changes.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """One variable's update."""
        velocity = self.momentums[self._get_variable_index(variable)]
        self.assign(velocity, self.momentum * velocity + gradient)
        self.assign_sub(variable, learning_rate * velocity)


class TensorFlowImplementation(Implementation):
    """Training in one compiled graph for any mini-batch size, in the model's precision; in two if
    it ``accumulates`` gradients in variables."""

    def __init__(
        self,
        model: keras.Model,
        settings: Optimizer,
        accelerator: str,
        exchange: Optional[Exchange] = None,
        accumulates: bool = False,
    ) -> None:
        self._model, self._weight_decay, self._exchange = model, settings.weight_decay, exchange
        self._copies, self._is_deferred = accelerator == "cuda", False
        self._device = "/GPU:0" if self._copies else "/CPU:0"
        self._loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self._optimizer = SGD(learning_rate=settings.base_learning_rate, momentum=settings.momentum)
        self._optimizer.build(model.trainable_variables)
        images = tf.TensorSpec((None, *model.input_shape[1:]), model.dtype)
        labels = tf.TensorSpec((None,), tf.int64)
        self._accumulators = (
            [
                tf.Variable(tf.zeros_like(each), trainable=False)
                for each in model.trainable_variables
            ]
            if accumulates
            else []
        )
        # Concrete functions: no lookup and no tracing while a step is timed.
        number = tf.TensorSpec((), model.dtype)
        if accumulates:
            self._keep = tf.function(self._accumulate).get_concrete_function(images, labels, number)
        if exchange is None or isinstance(exchange, StrategyExchange):
            self._train = tf.function(self._train_step).get_concrete_function(
                images, labels, number, number
            )
        else:
            self._differentiate = tf.function(self._packed_gradients).get_concrete_function(
                images, labels, number
            )
            self._apply = tf.function(self._apply_packed).get_concrete_function(
                exchange.specs, number
            )
        self._correct = tf.function(self._count_correct).get_concrete_function(images, labels)

    def to_device(self, batch: Batch) -> DeviceBatch:
        """On a CPU, tensors as they are; on a GPU, a copy. tf.convert_to_tensor would leave those
        of tf.data on the CPU."""
        with tf.device(self._device):
            images, labels = tf.convert_to_tensor(batch.images), tf.convert_to_tensor(batch.labels)
            if self._copies:
                images, labels = tf.identity(images), tf.identity(labels)
        if self._copies and not self._is_deferred:
            tf.test.experimental.sync_devices()
        return images, labels

    def step(self, device_batch: DeviceBatch, learning_rate: float, share: float) -> StepResult:
        """Forward, backward and update; reading the loss, or the number of updates, waits for the
        device."""
        rate = tf.constant(learning_rate, self._model.dtype)
        counts = tf.constant(share, self._model.dtype)
        if not isinstance(self._exchange, GradientExchange):
            return StepResult(self._number(self._train(*device_batch, rate, counts)), 0.0)
        loss, packed = self._differentiate(*device_batch, counts)
        summed, communication_s = self._exchange.sum(packed)
        self._apply(summed, rate).numpy()
        return StepResult(float(loss), communication_s)

    def accumulate(self, device_batch: DeviceBatch, share: float) -> float:
        """Reading the loss waits for the additions."""
        return self._number(self._keep(*device_batch, tf.constant(share, self._model.dtype)))

    def gradients(self, device_batch: DeviceBatch) -> Dict[str, np.ndarray]:
        """By the graph that trains; eagerly where the framework's own all-reduce is in it."""
        if isinstance(self._exchange, GradientExchange):
            packed = self._differentiate(*device_batch, tf.constant(1.0, self._model.dtype))[1]
            found = self._exchange.unpack(packed)
            self._exchange.take_statistics_s()  # no step's wait
        else:
            with tf.device(self._device):
                found = self._gradients(*device_batch)[1]
        return {
            variable.path: np.asarray(value)
            for variable, value in zip(self._model.trainable_variables, found)
        }

    def defer(self) -> None:
        """A call of a compiled graph returns when its kernels are submitted."""
        self._is_deferred = True

    def read(self, values: List[tf.Tensor]) -> List[float]:
        """One copy of all of them."""
        return tf.stack(values).numpy().tolist() if values else []

    def _number(self, value: tf.Tensor) -> Any:
        """The number, which waits for the device; deferred, the tensor that has it."""
        return value if self._is_deferred else value.numpy().item()

    def training_state(self) -> Dict[str, np.ndarray]:
        """From Keras's layout to the canonical one."""
        velocities, state = self._velocities(), {}
        for name, named in weights.parameters(self._model).items():
            state["parameter/" + name] = np.array(named.read(), order="C")
            velocity = velocities.get(id(named.variable))
            state["velocity/" + name] = (
                np.zeros_like(state["parameter/" + name])
                if velocity is None
                else _canonical(named, velocity)
            )
        state.update(
            ("statistic/" + name, np.array(named.read(), order="C"))
            for name, named in weights.statistics(self._model).items()
        )
        return state

    def restore(self, state: Any) -> None:
        """From the canonical layout to Keras's."""
        velocities = self._velocities()
        for name, named in weights.parameters(self._model).items():
            named.write(np.asarray(state["parameter/" + name]))
            if id(named.variable) in velocities:
                velocities[id(named.variable)].assign(
                    named.layout.from_canonical(np.asarray(state["velocity/" + name]))
                )
        for name, named in weights.statistics(self._model).items():
            named.write(np.asarray(state["statistic/" + name]))

    def average_statistics(self, mean: Callable[[List[np.ndarray]], None]) -> None:
        """Moving means and variances of every batch normalisation."""
        named = list(weights.statistics(self._model).values())
        values = [np.array(each.read(), order="C") for each in named]
        mean(values)
        for each, value in zip(named, values):
            each.write(value)

    def _velocities(self) -> Dict[int, keras.Variable]:
        """The optimizer's velocities, by the identity of their variables."""
        return dict(zip(map(id, self._model.trainable_variables), self._optimizer.momentums))

    def bucket_times(self) -> List[BucketTime]:
        """Times of the suite's exchange; empty with the native one."""
        return [] if self._exchange is None else self._exchange.take_times()

    def count_correct(self, device_batch: DeviceBatch) -> int:
        """Correctly classified samples."""
        return self._number(self._correct(*device_batch))

    def probabilities(self, device_batch: DeviceBatch) -> np.ndarray:
        """Softmax of the logits."""
        return np.asarray(tf.nn.softmax(self._model(device_batch[0], training=False)))

    def _train_step(
        self, images: tf.Tensor, labels: tf.Tensor, learning_rate: tf.Tensor, share: tf.Tensor
    ) -> tf.Tensor:
        loss, gradients, share = self._weighted_gradients(images, labels, share)
        if isinstance(self._exchange, StrategyExchange):
            gradients = self._exchange.mean(gradients, share)
        # The loss must not be read before the update has finished, or the step is timed too short.
        with tf.control_dependencies([self._update(gradients, learning_rate)]):
            return tf.identity(loss)

    def _packed_gradients(
        self, images: tf.Tensor, labels: tf.Tensor, share: tf.Tensor
    ) -> Tuple[tf.Tensor, List[tf.Tensor]]:
        loss, gradients, share = self._weighted_gradients(images, labels, share)
        return loss, self._exchange.pack(gradients, share)

    def _weighted_gradients(
        self, images: tf.Tensor, labels: tf.Tensor, share: tf.Tensor
    ) -> Tuple[tf.Tensor, List[tf.Tensor], tf.Tensor]:
        """Loss, gradients and their weight: a mini-batch's own, or the sum with those in the
        accumulators, which become zero."""
        loss, gradients = self._gradients(images, labels)
        if not self._accumulators:
            return loss, gradients, share
        sums = [kept + share * gradient for kept, gradient in zip(self._accumulators, gradients)]
        with tf.control_dependencies(sums):
            for kept in self._accumulators:
                kept.assign(tf.zeros_like(kept))
        return loss, sums, tf.ones_like(share)

    def _accumulate(self, images: tf.Tensor, labels: tf.Tensor, share: tf.Tensor) -> tf.Tensor:
        loss, gradients = self._gradients(images, labels)
        with tf.control_dependencies(
            [
                kept.assign_add(share * gradient)
                for kept, gradient in zip(self._accumulators, gradients)
            ]
        ):
            return tf.identity(loss)

    def _apply_packed(self, buckets: List[tf.Tensor], learning_rate: tf.Tensor) -> tf.Tensor:
        return tf.identity(self._update(self._exchange.unpack(buckets), learning_rate))

    def _gradients(self, images: tf.Tensor, labels: tf.Tensor) -> Tuple[tf.Tensor, List[tf.Tensor]]:
        with tf.GradientTape() as tape:
            loss = self._loss(labels, self._model(images, training=True))
        return loss, tape.gradient(loss, self._model.trainable_variables)

    def _update(self, gradients: List[tf.Tensor], learning_rate: tf.Tensor) -> tf.Tensor:
        """Returns the number of updates, including this one."""
        variables = self._model.trainable_variables
        if self._weight_decay:
            gradients = [
                gradient + self._weight_decay * variable
                for gradient, variable in zip(gradients, variables)
            ]
        self._optimizer.learning_rate = learning_rate
        self._optimizer.apply_gradients(zip(gradients, variables))
        return self._optimizer.iterations.value

    def _count_correct(self, images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        predicted = tf.argmax(self._model(images, training=False), axis=1)
        return tf.reduce_sum(tf.cast(predicted == labels, tf.int32))


def _canonical(named: weights.NamedVariable, velocity: keras.Variable) -> np.ndarray:
    """A copy of a parameter's velocity in the canonical layout and C order."""
    return np.array(named.layout.to_canonical(np.asarray(velocity)), order="C")
