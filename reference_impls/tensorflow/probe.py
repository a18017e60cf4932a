"""The probe of the TensorFlow implementation."""

from typing import Tuple

import keras
import numpy as np
import tensorflow as tf

from reference_impls import communication
from reference_impls.communication import MpiWorld
from reference_impls.contract import FLOAT32, Batch, ContractError, Parallel
from reference_impls.probe import Arrays, ProbedModel, ProbeRequest, main
from reference_impls.tensorflow import weights
from reference_impls.tensorflow.arithmetic import set_arithmetic
from reference_impls.tensorflow.exchange import join, open_strategy
from reference_impls.tensorflow.implementation import TensorFlowImplementation
from reference_impls.tensorflow.models import MODELS
from reference_impls.tensorflow.part import train_part
from reference_impls.training_state import State


class ProbedTensorFlowModel(ProbedModel):
    """The implementation in the request's precision."""

    def __init__(self, request: ProbeRequest) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(request.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        if request.accelerator == "cuda" and not tf.config.list_physical_devices("GPU"):
            raise ContractError(
                "a CUDA device was requested and TensorFlow finds none; use `--accelerator cpu` or"
                " a CUDA build of TensorFlow."
            )
        self._accelerator, self._device = (
            request.accelerator,
            "/GPU:0" if request.accelerator == "cuda" else "/CPU:0",
        )
        self._strategy = open_strategy(communication.join(request.parallel.ranks), request.parallel)
        keras.config.set_floatx(request.dtype)
        set_arithmetic(FLOAT32, request.accelerator)
        self._settings = request.optimizer
        with tf.device(self._device):
            self._model = MODELS[request.model](request.classes)
            train_part(self._model, request.trains)
            self._implementation = TensorFlowImplementation(
                self._model, self._settings, self._accelerator
            )

    def parameters(self) -> Arrays:
        """From Keras's layout to the canonical one."""
        return {
            name: variable.read().copy()
            for name, variable in weights.parameters(self._model).items()
        }

    def statistics(self) -> Arrays:
        """Vectors: the same in every layout."""
        return {
            name: variable.read().copy()
            for name, variable in weights.statistics(self._model).items()
        }

    def assign(self, values: Arrays) -> None:
        """Overwrites in place."""
        for name, variable in {
            **weights.parameters(self._model),
            **weights.statistics(self._model),
        }.items():
            variable.write(values[name])

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Runs the model in inference mode."""
        with tf.device(self._device):
            return self._model(_channels_last(images), training=False).numpy()

    def gradients(self, images: np.ndarray, labels: np.ndarray) -> Tuple[float, Arrays]:
        """Runs forward and backward pass in training mode."""
        named = {
            name: entry
            for name, entry in weights.parameters(self._model).items()
            if entry.variable.trainable
        }
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        with tf.device(self._device), tf.GradientTape() as tape:
            loss = loss_of(labels, self._model(_channels_last(images), training=True))
        gradients = tape.gradient(loss, [entry.variable.value for entry in named.values()])
        return float(loss), {
            name: entry.layout.to_canonical(gradient.numpy())
            for (name, entry), gradient in zip(named.items(), gradients)
        }

    def step(
        self, images: np.ndarray, labels: np.ndarray, learning_rate: float, share: float
    ) -> float:
        """The implementation's step."""
        return self._implementation.step(
            self._implementation.to_device(Batch(_channels_last(images), labels)),
            learning_rate,
            share,
        ).loss

    def restore(self, state: State) -> None:
        """The implementation's restore."""
        self._implementation.restore(state)

    def join(self, world: MpiWorld, settings: Parallel) -> None:
        """The implementation's join."""
        self._implementation = TensorFlowImplementation(
            self._model,
            self._settings,
            self._accelerator,
            join(world, self._model, settings, self._strategy),
        )


def _channels_last(images: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(images.transpose(0, 2, 3, 1))


if __name__ == "__main__":
    main(ProbedTensorFlowModel)
