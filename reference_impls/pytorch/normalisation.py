"""Batch normalisation over the samples of all ranks, which torch.nn.SyncBatchNorm computes on GPUs
only; and with statistics that training does not change."""

from typing import Any, Callable, Tuple

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from reference_impls.normalisation import Moments, Synchroniser

AXES = (0, 2, 3)
"""All axes of (samples, channels, height, width) but the channels'."""


def synchronise(model: nn.Module, synchroniser: Synchroniser) -> None:
    """Let every batch normalisation of the model take its statistics over all ranks; frozen ones
    keep theirs."""
    _replace(model, lambda layer: SynchronisedBatchNorm(layer, synchroniser))


def freeze_statistics(model: nn.Module) -> None:
    """Let every batch normalisation of the model use its running statistics in training, too."""
    _replace(model, FrozenBatchNorm)


def _replace(model: nn.Module, make: Callable[[nn.BatchNorm2d], nn.Module]) -> None:
    """Replace every batch normalisation inside the model that is not frozen; parameters, buffers
    and all names stay."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.BatchNorm2d) and not isinstance(child, FrozenBatchNorm):
                setattr(parent, name, make(child))


class _Replacement(nn.BatchNorm2d):
    """A batch normalisation with the parameters and buffers of another one."""

    def __init__(self, layer: nn.BatchNorm2d) -> None:
        super().__init__(layer.num_features, layer.eps, layer.momentum)
        self.weight, self.bias = layer.weight, layer.bias
        self.running_mean, self.running_var, self.num_batches_tracked = (
            layer.running_mean,
            layer.running_var,
            layer.num_batches_tracked,
        )


class FrozenBatchNorm(_Replacement):
    """A batch normalisation whose statistics training uses and does not change."""

    def train(self, mode: bool = True) -> "FrozenBatchNorm":
        """Stay in inference mode."""
        return super().train(False)


class SynchronisedBatchNorm(_Replacement):
    """A batch normalisation that takes its statistics over all ranks in training, and is unchanged
    in inference."""

    def __init__(self, layer: nn.BatchNorm2d, synchroniser: Synchroniser) -> None:
        super().__init__(layer)
        self.synchroniser = synchroniser

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Images (samples, channels, height, width)."""
        return (
            _Normalise.apply(images, self.weight, self.bias, self)
            if self.training
            else super().forward(images)
        )

    @torch.no_grad()
    def track(self, moments: Moments) -> None:
        """Update the running statistics."""
        self.num_batches_tracked += 1
        for running, new in (
            (self.running_mean, moments.mean),
            (self.running_var, moments.unbiased),
        ):
            running.lerp_(torch.from_numpy(new).to(running), self.momentum)


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        images: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        layer: SynchronisedBatchNorm,
    ) -> torch.Tensor:
        variance, mean = torch.var_mean(_wide(images), dim=AXES, unbiased=False)
        moments = layer.synchroniser.moments(_values(images), _on_host(mean), _on_host(variance))
        layer.track(moments)
        mean, variance = (
            torch.from_numpy(value).to(mean) for value in (moments.mean, moments.variance)
        )
        context.save_for_backward(images, weight, mean, torch.rsqrt(variance + layer.eps))
        context.synchroniser, context.of_all = layer.synchroniser, moments.count
        return nn.functional.batch_norm(images, mean, variance, weight, bias, False, 0.0, layer.eps)

    @staticmethod
    @once_differentiable
    def backward(
        context: Any, gradient: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, None]:
        images, weight, mean, scale = context.saved_tensors
        wide = _wide(gradient)
        normalised = (_wide(images) - _by_channel(mean)) * _by_channel(scale)
        sums, products = wide.sum(AXES), (wide * normalised).sum(AXES)
        found = context.synchroniser.corrections(
            _values(images), context.of_all, _on_host(sums), _on_host(products)
        )
        constant, factor = (_by_channel(torch.from_numpy(value).to(mean)) for value in found)
        of_images = (wide - constant - normalised * factor) * _by_channel(weight * scale)
        return of_images.to(images.dtype), products.to(weight.dtype), sums.to(weight.dtype), None


def _values(images: torch.Tensor) -> int:
    return images.numel() // images.shape[1]


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """Float32 at least: sums of bfloat16 lose too much."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _by_channel(vector: torch.Tensor) -> torch.Tensor:
    return vector.view(1, -1, 1, 1)


def _on_host(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().numpy()
