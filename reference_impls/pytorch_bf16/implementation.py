"""The tuned part: images and weights with channels last. Its precision is bf16-mixed, the
reference's own."""

import torch
from torch import nn

from reference_impls.contract import BF16_MIXED, Batch, Optimizer
from reference_impls.pytorch.implementation import DeviceBatch, PyTorchImplementation


class Bfloat16ChannelsLast(PyTorchImplementation):
    """Convolutions and matrix products in bfloat16 with channels last; weights, batch
    normalisation, loss and update stay float32.

    Not compiled: that would need a C++ compiler on every device and gains a tenth more on
    ResNet-18.
    """

    def __init__(
        self, model: nn.Module, settings: Optimizer, accelerator: str, precision: str = BF16_MIXED
    ) -> None:
        super().__init__(
            model.to(memory_format=torch.channels_last), settings, accelerator, precision
        )

    def to_device(self, batch: Batch) -> DeviceBatch:
        """Like the reference, then converted to channels last."""
        images, labels = super().to_device(batch)
        return images.contiguous(memory_format=torch.channels_last), labels
