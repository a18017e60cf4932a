"""The probe of the PyTorch implementation."""

from typing import Dict, Tuple

import numpy as np
import torch
from torch import nn

from reference_impls.communication import MpiWorld
from reference_impls.contract import FLOAT32, Batch, ContractError, Parallel
from reference_impls.probe import Arrays, ProbedModel, ProbeRequest, main
from reference_impls.pytorch.arithmetic import set_arithmetic
from reference_impls.pytorch.implementation import PyTorchImplementation
from reference_impls.pytorch.models import MODELS
from reference_impls.pytorch.part import train_part
from reference_impls.training_state import State


class ProbedPyTorchModel(ProbedModel):
    """The implementation in the request's precision."""

    def __init__(self, request: ProbeRequest) -> None:
        torch.set_num_threads(request.threads)
        if request.accelerator == "cuda" and not torch.cuda.is_available():
            raise ContractError(
                "a CUDA device was requested and PyTorch finds none; use `--accelerator cpu` or a"
                " CUDA build of PyTorch."
            )
        set_arithmetic(FLOAT32)
        self._device = torch.device(request.accelerator)
        self._model = MODELS[request.model](request.classes).to(
            self._device, getattr(torch, request.dtype)
        )
        train_part(self._model, request.trains)
        self._implementation = PyTorchImplementation(
            self._model, request.optimizer, request.accelerator
        )

    def parameters(self) -> Arrays:
        """PyTorch's names and layout are the canonical ones."""
        return {name: _on_host(value) for name, value in self._model.named_parameters()}

    def statistics(self) -> Arrays:
        """The buffers without the counters."""
        return {name: _on_host(value) for name, value in self._statistics().items()}

    def _statistics(self) -> Dict[str, torch.Tensor]:
        return {
            name: value
            for name, value in self._model.named_buffers()
            if name.endswith((".running_mean", ".running_var"))
        }

    @torch.no_grad()
    def assign(self, values: Arrays) -> None:
        """Overwrites in place."""
        for name, tensor in [*self._model.named_parameters(), *self._statistics().items()]:
            tensor.copy_(torch.from_numpy(values[name]))

    @torch.no_grad()
    def logits(self, images: np.ndarray) -> np.ndarray:
        """Runs the model in inference mode."""
        self._model.eval()
        return _on_host(self._model(self._on_device(images)))

    def gradients(self, images: np.ndarray, labels: np.ndarray) -> Tuple[float, Arrays]:
        """Runs forward and backward pass in training mode."""
        self._model.train()
        self._model.zero_grad()
        loss = nn.functional.cross_entropy(
            self._model(self._on_device(images)), self._on_device(labels)
        )
        loss.backward()
        return loss.item(), {
            name: _on_host(parameter.grad)
            for name, parameter in self._model.named_parameters()
            if parameter.requires_grad
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
        self._implementation.join(world, settings)

    def _on_device(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)


def _on_host(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().copy()


if __name__ == "__main__":
    main(ProbedPyTorchModel)
