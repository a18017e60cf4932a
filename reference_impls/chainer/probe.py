"""The probe of the Chainer implementation."""

from typing import Any, Tuple

import chainer
import chainer.functions as F
import numpy as np

from reference_impls.chainer import weights
from reference_impls.chainer.arithmetic import set_arithmetic
from reference_impls.chainer.device import device_of
from reference_impls.chainer.exchange import join
from reference_impls.chainer.implementation import ChainerImplementation
from reference_impls.chainer.models import MODELS
from reference_impls.chainer.part import train_part
from reference_impls.communication import MpiWorld
from reference_impls.contract import Batch, Parallel
from reference_impls.probe import Arrays, ProbedModel, ProbeRequest, main
from reference_impls.training_state import State


class ProbedChainerModel(ProbedModel):
    """The implementation in the request's precision."""

    def __init__(self, request: ProbeRequest) -> None:
        chainer.global_config.dtype = np.dtype(request.dtype)
        set_arithmetic()
        self._model = MODELS[request.model](request.classes)
        self._settings, self._trains = request.optimizer, request.trains
        self._device = device_of(request.accelerator)
        self._model.to_device(self._device)
        self._implementation = ChainerImplementation(self._model, self._settings, self._device)
        train_part(self._model, self._trains)

    def parameters(self) -> Arrays:
        """Chainer's layout is the canonical one."""
        return {
            name: _on_host(parameter.array)
            for name, parameter in weights.parameters(self._model).items()
        }

    def statistics(self) -> Arrays:
        """Copies."""
        return {name: _on_host(value) for name, value in weights.statistics(self._model).items()}

    def assign(self, values: Arrays) -> None:
        """Overwrites in place."""
        for name, parameter in weights.parameters(self._model).items():
            parameter.array[...] = self._device.send(values[name])
        for name, array in weights.statistics(self._model).items():
            array[...] = self._device.send(values[name])

    def logits(self, images: np.ndarray) -> np.ndarray:
        """Runs the model in inference mode."""
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return _on_host(self._model(self._device.send(images)).array)

    def gradients(self, images: np.ndarray, labels: np.ndarray) -> Tuple[float, Arrays]:
        """Runs forward and backward pass in training mode."""
        loss = F.softmax_cross_entropy(
            self._model(self._device.send(images)), self._device.send(labels.astype(np.int32))
        )
        self._model.cleargrads()
        loss.backward()
        return float(loss.array), {
            name: _on_host(parameter.grad)
            for name, parameter in weights.parameters(self._model).items()
            if parameter.update_rule.enabled
        }

    def step(
        self, images: np.ndarray, labels: np.ndarray, learning_rate: float, share: float
    ) -> float:
        """The implementation's step."""
        return self._implementation.step(
            self._implementation.to_device(Batch(images, labels)), learning_rate, share
        ).loss

    def restore(self, state: State) -> None:
        """The implementation's restore."""
        self._implementation.restore(state)

    def join(self, world: MpiWorld, settings: Parallel) -> None:
        """The implementation's join."""
        self._implementation = ChainerImplementation(
            self._model, self._settings, self._device, join(world, self._model, settings)
        )
        train_part(self._model, self._trains)


def _on_host(array: Any) -> np.ndarray:
    return np.array(chainer.backends.cuda.to_cpu(array))


if __name__ == "__main__":
    main(ProbedChainerModel)
