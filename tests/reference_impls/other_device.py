"""PyTorch's exchange with parameters that say that they are on a GPU: ``python -m
tests.reference_impls.other_device`` in PyTorch's environment.

The first line of output is the gradient that the exchange leaves, share times what the backward
pass computed. No GPU is needed: an operation that writes what it computes there into the buckets,
which are the host's, ends as it does on a GPU.
"""

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from reference_impls.contract import Parallel
from reference_impls.pytorch.exchange import GradientExchange

SHARE = 0.25


class OnAGpu(torch.nn.Parameter):
    """A parameter of the host that says otherwise."""

    is_cuda = True


class OfTwoDevices(TorchFunctionMode):
    """Refuses ``out=``, as PyTorch does for a result on another device than its operands."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if "out" in (kwargs or {}):
            raise RuntimeError("Expected all tensors to be on the same device")
        return function(*args, **(kwargs or {}))


class Summed:
    """The request of a sum that is done."""

    def Test(self) -> bool:
        return True


class OneRank:
    """A world whose sums are what its only rank has."""

    def bucket_sum(self, wire: str, encodings: Any) -> Any:
        return lambda array, send: Summed()


class Refusing(GradientExchange):
    """The exchange, in the mode: the backward pass leaves one that it is called in."""

    def _ready(self, place: int, *gradients: Any) -> None:
        with OfTwoDevices():
            super()._ready(place, *gradients)


def main() -> None:
    """One backward pass of a loss whose gradient is 1, 2, 3."""
    model = torch.nn.Module()
    model.weight = OnAGpu(torch.zeros(3))
    exchange = Refusing(OneRank(), model, Parallel(2, 1, "mpi", 2**20, True), None)
    exchange.begin(SHARE)
    (model.weight * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    exchange.finish()
    print(model.weight.grad.tolist())


if __name__ == "__main__":
    main()
