"""The probe of the Chainer implementation."""

from typing import Tuple

import chainer
import chainer.functions as F
import numpy as np

from reference_impls.chainer import weights
from reference_impls.chainer.exchange import join
from reference_impls.chainer.implementation import ChainerImplementation
from reference_impls.chainer.models import MODELS
from reference_impls.communication import MpiWorld
from reference_impls.contract import Batch, Parallel
from reference_impls.probe import Arrays, ProbedModel, ProbeRequest, main
from reference_impls.training_state import State


class ProbedChainerModel(ProbedModel):
    """The implementation in the request's precision."""

    def __init__(self, request: ProbeRequest) -> None:
        chainer.global_config.dtype = np.dtype(request.dtype)
        self._model = MODELS[request.model](request.classes)
        self._settings = request.optimizer
        self._implementation = ChainerImplementation(self._model, self._settings, chainer.get_device("@numpy"))

    def parameters(self) -> Arrays:
        """Chainer's layout is the canonical one."""
        return {name: parameter.array.copy() for name, parameter in weights.parameters(self._model).items()}

    def statistics(self) -> Arrays:
        """Copies."""
        return {name: value.copy() for name, value in weights.statistics(self._model).items()}

    def assign(self, values: Arrays) -> None:
        """Overwrites in place."""
        for name, parameter in weights.parameters(self._model).items():
            parameter.array[...] = values[name]
        for name, array in weights.statistics(self._model).items():
            array[...] = values[name]

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Runs the model in inference mode."""
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return self._model(images).array

    def gradients(self, images: np.ndarray, labels: np.ndarray) -> Tuple[float, Arrays]:
        """Runs forward and backward pass in training mode."""
        loss = F.softmax_cross_entropy(self._model(images), labels.astype(np.int32))
        self._model.cleargrads()
        loss.backward()
        return float(loss.array), {name: parameter.grad.copy() for name, parameter in weights.parameters(self._model).items()}

    def step(self, images: np.ndarray, labels: np.ndarray, learning_rate: float, share: float) -> float:
        """The implementation's step."""
        return self._implementation.step(self._implementation.to_device(Batch(images, labels)), learning_rate, share).loss

    def restore(self, state: State) -> None:
        """The implementation's restore."""
        self._implementation.restore(state)

    def join(self, world: MpiWorld, settings: Parallel) -> None:
        """The implementation's join."""
        self._implementation = ChainerImplementation(self._model, self._settings, chainer.get_device("@numpy"), join(world, self._model, settings))


if __name__ == "__main__":
    main(ProbedChainerModel)
