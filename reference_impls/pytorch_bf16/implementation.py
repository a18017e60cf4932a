"""The tuned parts: forward pass in bfloat16; images and weights with channels last."""

import torch
from torch import nn

from reference_impls.contract import Batch, Optimizer
from reference_impls.pytorch.implementation import DeviceBatch, PyTorchImplementation


class Bfloat16ChannelsLast(PyTorchImplementation):
    """Convolutions and matrix products in bfloat16; weights, batch normalisation, loss and update stay float32 (PyTorch's autocast).

    Not compiled: that would need a C++ compiler on every device and gains a tenth more on ResNet-18.
    """

    def __init__(self, model: nn.Module, settings: Optimizer, accelerator: str) -> None:
        super().__init__(model.to(memory_format=torch.channels_last), settings, accelerator)

    def to_device(self, batch: Batch) -> DeviceBatch:
        """Like the reference, then converted to channels last."""
        images, labels = super().to_device(batch)
        return images.contiguous(memory_format=torch.channels_last), labels

    def _logits(self, images: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            return self._model(images).float()
