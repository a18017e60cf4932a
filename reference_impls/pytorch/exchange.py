"""Gradients of several ranks: summed in buckets during the backward pass, or by
DistributedDataParallel."""

import os
from functools import partial
from typing import Any, List, Optional

import numpy as np
import torch
from torch import nn

from reference_impls.communication import Buckets, BucketTime, MpiWorld, Progress
from reference_impls.contract import BFLOAT16, FLOAT16, Parallel
from reference_impls.normalisation import Synchroniser
from reference_impls.rendezvous import torchrun_variables
from reference_impls.wire import LARGEST_HALF, Encoding


def _to_half(values: np.ndarray) -> np.ndarray:
    return _words(torch.from_numpy(values).clamp(-LARGEST_HALF, LARGEST_HALF).half())


def _words(numbers: torch.Tensor) -> np.ndarray:
    """Their bits, which NumPy's and PyTorch's 16-bit types share."""
    return numbers.view(torch.int16).numpy().view(np.uint16)


def _from(kind: torch.dtype, words: np.ndarray) -> np.ndarray:
    return torch.from_numpy(words.view(np.int16)).view(kind).float().numpy()


ENCODINGS = {
    FLOAT16: Encoding(_to_half, partial(_from, torch.float16)),
    BFLOAT16: Encoding(
        lambda values: _words(torch.from_numpy(values).bfloat16()), partial(_from, torch.bfloat16)
    ),
}
"""The numbers of reference_impls.wire by the processor's own instructions: NumPy's operations take
up to 30 times as long, which the links would wait for."""


def broadcast(world: MpiWorld, model: nn.Module) -> None:
    """Broadcast rank 0's weights and buffers to all ranks."""
    for tensor in [*model.parameters(), *model.buffers()]:
        value = tensor.detach().cpu().numpy().copy()
        world.broadcast([value])
        with torch.no_grad():
            tensor.copy_(torch.from_numpy(value))


class GradientExchange:
    """Copies each gradient, times this rank's share of the samples, into its bucket as soon as the
    backward pass has computed it.

    After :meth:`finish` every parameter's ``grad`` is the mean over the global mini-batch. With
    overlap, a full bucket is summed while the gradients of earlier layers are computed (Li et al.,
    PyTorch Distributed, VLDB 2020, section 3.2.3).
    """

    def __init__(
        self,
        world: MpiWorld,
        model: nn.Module,
        settings: Parallel,
        synchroniser: Optional[Synchroniser],
    ) -> None:
        self._parameters = [each for each in model.parameters() if each.requires_grad]
        self._synchroniser = synchroniser
        dtype = torch.empty(0, dtype=self._parameters[0].dtype).numpy().dtype
        sizes = [parameter.numel() for parameter in self._parameters]
        self._buckets = Buckets(
            world, sizes, dtype, settings, Progress() if settings.overlap else None, ENCODINGS
        )
        self._views = [
            torch.from_numpy(view).view_as(parameter)
            for view, parameter in zip(self._buckets.views(), self._parameters)
        ]
        self._bucket_of = {
            place: bucket
            for bucket, members in enumerate(self._buckets.plan.members)
            for place in members
        }
        self._overlap, self._share = settings.overlap, 1.0
        self._missing = []  # type: List[int]
        # what adds to a parameter's grad, kept because autograd does not keep it; a hook of the
        # parameter itself needs PyTorch 2.1, which JetPack 4 lacks
        self._accumulating = [
            parameter.expand_as(parameter).grad_fn.next_functions[0][0]
            for parameter in self._parameters
        ]
        for place, node in enumerate(self._accumulating):
            node.register_hook(partial(self._ready, place))

    def begin(self, share: float) -> None:
        """Call before the backward pass; gradients of other passes stay this rank's."""
        self._share, self._missing = share, [len(members) for members in self._buckets.plan.members]

    def _ready(self, place: int, *_: Any) -> None:
        if not self._missing:
            return
        parameter, view = self._parameters[place], self._views[place]
        bucket = self._bucket_of[place]
        if parameter.is_cuda:
            view.copy_(parameter.grad * self._share)  # out= takes no tensor of another device
        else:
            torch.mul(parameter.grad, self._share, out=view)
            parameter.grad = view
        self._missing[bucket] -= 1
        if self._overlap and self._missing[bucket] == 0:
            self._buckets.start(bucket)

    def finish(self) -> float:
        """Call after the backward pass; returns the seconds of waiting, those for statistics of
        batch normalisation included."""
        if not self._overlap:
            for bucket in range(len(self._missing)):
                self._buckets.start(bucket)
        self._missing = []
        communication_s = self._buckets.finish() + self.take_statistics_s()
        for parameter, view in zip(self._parameters, self._views):
            if parameter.is_cuda:
                parameter.grad.copy_(view)
        return communication_s

    def take_statistics_s(self) -> float:
        """Seconds of waiting for statistics of batch normalisation since the last call."""
        return 0.0 if self._synchroniser is None else self._synchroniser.take_communication_s()

    def take_times(self) -> List[BucketTime]:
        """Times of every bucket, since the last call."""
        return self._buckets.take_times()


def distributed_data_parallel(world: MpiWorld, model: nn.Module) -> nn.Module:
    """The model in PyTorch's DistributedDataParallel, with torchrun's rendezvous: over NCCL where
    every rank has a GPU of its own, else over Gloo."""
    variables = torchrun_variables(world)
    os.environ.update(variables)
    has_own_gpu = next(model.parameters()).is_cuda and variables["LOCAL_WORLD_SIZE"] == "1"
    torch.distributed.init_process_group(
        "nccl" if has_own_gpu and torch.distributed.is_nccl_available() else "gloo",
        init_method="env://",
    )
    # Buffers stay local: each rank has its batch normalisation statistics, and ranks may evaluate
    # different numbers of mini-batches.
    return nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
