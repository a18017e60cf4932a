"""PyTorch's side of the contract: build a model, take a step, count what is right."""

from typing import Any, Callable, Optional, Tuple

import torch
from torch import nn

from reference_impls import initial_weights
from reference_impls.contract import Batch, ContractError, Implementation, Optimizer, Request, StepResult
from reference_impls.data.pipelines import open_pipeline
from reference_impls.loop import Built
from reference_impls.pytorch import loading
from reference_impls.pytorch.models import MODELS

DeviceBatch = Tuple[torch.Tensor, torch.Tensor]


def build(request: Request, make: Optional[Callable[[nn.Module, Optimizer, str], Implementation]] = None) -> Built:
    """The requested model on the requested device, with the seed's weights; a variant gives its own implementation as ``make``."""
    torch.set_num_threads(request.threads)
    if request.accelerator == "cuda" and not torch.cuda.is_available():
        raise ContractError("a CUDA device was requested and PyTorch finds none; use `--accelerator cpu` or a CUDA build of PyTorch.")
    model = MODELS[request.model](request.data.classes)
    load_weights(model, request.initial_weights, request.seed)
    model.to(request.accelerator)
    facts = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "framework_version": torch.__version__,
        "framework_threads": torch.get_num_threads(),
    }
    return Built((make or PyTorchImplementation)(model, request.optimizer, request.accelerator), open_pipeline(request, fetch=loading.fetch), facts)


def load_weights(model: nn.Module, distribution: str, seed: int) -> None:
    """Overwrite the model's parameters with the seed's; PyTorch's names and layout are the canonical ones."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    weights = initial_weights.make(distribution, shapes, seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]))


class PyTorchImplementation(Implementation):
    """Eager training, in the model's own precision, with torch.optim.SGD."""

    def __init__(self, model: nn.Module, settings: Optimizer, accelerator: str) -> None:
        self._model, self._device = model, torch.device(accelerator)
        self._optimizer = torch.optim.SGD(
            model.parameters(), lr=settings.base_learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay
        )

    def to_device(self, batch: Batch) -> DeviceBatch:
        """Tensors over the mini-batch's own memory on a CPU; a finished copy on a GPU."""
        images, labels = torch.as_tensor(batch.images), torch.as_tensor(batch.labels)
        device_batch = images.to(self._device), labels.to(self._device)
        self._synchronize()
        return device_batch

    def step(self, device_batch: DeviceBatch, learning_rate: float) -> StepResult:
        """Forward, backward and update."""
        images, labels = device_batch
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._model.train()
        self._optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(self._logits(images), labels)
        loss.backward()
        self._optimizer.step()
        self._synchronize()
        return StepResult(loss.item(), 0.0)

    @torch.no_grad()
    def count_correct(self, device_batch: Any) -> int:
        """Correctly classified samples."""
        images, labels = device_batch
        self._model.eval()
        return int((self._logits(images).argmax(dim=1) == labels).sum().item())

    def _logits(self, images: torch.Tensor) -> torch.Tensor:
        return self._model(images)

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
