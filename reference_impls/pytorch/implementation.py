"""The contract in PyTorch: builds the model, takes steps, counts correct predictions."""

from contextlib import ExitStack
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import torch
from torch import nn

from reference_impls import initial_weights
from reference_impls.arithmetic import log_value, refuse_other, refuse_unsupported
from reference_impls.communication import BucketTime, MpiWorld, World
from reference_impls.contract import (
    FLOAT32,
    FP16_MIXED,
    TF32,
    Batch,
    ContractError,
    Implementation,
    Optimizer,
    Parallel,
    Request,
    StepResult,
    as_requested,
)
from reference_impls.data.pipelines import open_old_task, open_pipeline
from reference_impls.loop import Built
from reference_impls.normalisation import open_synchroniser
from reference_impls.precisions import LOSS_SCALE
from reference_impls.pytorch import arithmetic, loading
from reference_impls.pytorch.exchange import GradientExchange, broadcast, distributed_data_parallel
from reference_impls.pytorch.models import MODELS
from reference_impls.pytorch.normalisation import synchronise
from reference_impls.pytorch.part import train_part
from reference_impls.pytorch.recompute import ScheduledStep, blocks
from reference_impls.pytorch.spill import open_spill
from reference_impls.pytorch.structure import dropout_of, layers_of
from reference_impls.shares import Share
from reference_impls.structure import layers_as_built

DeviceBatch = Tuple[torch.Tensor, torch.Tensor]
Make = Callable[[nn.Module, Optimizer, str, str], "PyTorchImplementation"]


def build(request: Request, world: World, make: Optional["Make"] = None) -> Built:
    """The requested model on the requested device, with the seed's weights; a variant passes its
    implementation as ``make``."""
    torch.set_num_threads(request.threads)
    if request.accelerator == "cuda" and not torch.cuda.is_available():
        raise ContractError(
            "a CUDA device was requested and PyTorch finds none; use `--accelerator cpu` or a CUDA"
            " build of PyTorch."
        )
    refuse_unsupported(request, arithmetic.SUPPORTED)
    settings = arithmetic.set_arithmetic(request.precision)
    observed = arithmetic.observed(request.precision, torch.device(request.accelerator))
    refuse_other(request, observed)
    model = MODELS[request.model](request.data.classes)
    load_weights(model, request)
    model.to(request.accelerator)
    facts = {
        **as_requested(request),
        **train_part(model, request.trains),
        "arithmetic": log_value(observed, settings),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "framework_version": torch.__version__,
        "framework_threads": torch.get_num_threads(),
        "model_layers": layers_as_built(
            request.model,
            "PyTorch " + torch.__version__,
            layers_of(model),
            dropout_of(model),
            request.data.classes,
        ),
    }
    implementation = (make or PyTorchImplementation)(
        model, request.optimizer, request.accelerator, request.precision
    )
    if request.recomputation is not None:
        implementation.follow(request)
    if isinstance(world, MpiWorld):
        implementation.join(world, request.parallel)
    fetch = partial(loading.fetch, is_pinned=request.accelerator == "cuda")
    open_data = partial(open_pipeline, fetch=fetch, share=Share(world.rank, world.size))
    return Built(implementation, open_data(request), facts, open_old_task(request, open_data))


def load_weights(model: nn.Module, request: Request) -> None:
    """Overwrite the model's parameters with the seed's weights; PyTorch's names and layout are the
    canonical ones."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    weights = initial_weights.requested(request, shapes)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights[name]))


class PyTorchImplementation(Implementation):
    """Eager training in the model's type, with torch.optim.SGD; products and convolutions in a
    16-bit type where the precision is mixed."""

    def __init__(
        self, model: nn.Module, settings: Optimizer, accelerator: str, precision: str = FLOAT32
    ) -> None:
        self._model, self._device, self._precision = model, torch.device(accelerator), precision
        self._loss_scale = LOSS_SCALE if precision == FP16_MIXED else None
        self._exchange = None  # type: Optional[GradientExchange]
        self._ranks = 1  # over which DistributedDataParallel takes the mean
        self._scheduled = None  # type: Optional[ScheduledStep]
        self._evaluated_at_once = None  # type: Optional[int]
        # gradients of mini-batches before this one, times their shares
        self._has_accumulated = False
        self._is_deferred = False
        self._optimizer = torch.optim.SGD(
            [parameter for parameter in model.parameters() if parameter.requires_grad],
            lr=settings.base_learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
        )

    def to_device(self, batch: Batch) -> DeviceBatch:
        """On a CPU, tensors that share the mini-batch's memory; on a GPU, a copy: two copies from
        pinned memory may overlap.

        The loop may drop the mini-batch before a deferred copy has ended: PyTorch keeps pinned
        memory until then.
        """
        images, labels = torch.as_tensor(batch.images), torch.as_tensor(batch.labels)
        device_batch = (
            images.to(self._device, non_blocking=True),
            labels.to(self._device, non_blocking=True),
        )
        self._synchronize()
        return device_batch

    def join(self, world: MpiWorld, settings: Parallel) -> None:
        """Train data-parallel with the other ranks from now on, starting from rank 0's weights.

        With DistributedDataParallel, the native all-reduce, exposed communication is part of the
        compute time.
        """
        broadcast(world, self._model)
        synchroniser = open_synchroniser(world, settings)
        if synchroniser is not None:
            synchronise(self._model, synchroniser)
        if settings.collective == "native":
            self._model, self._ranks = distributed_data_parallel(world, self._model), world.size
        else:
            self._exchange = GradientExchange(world, self._model, settings, synchroniser)

    def follow(self, request: Request) -> None:
        """Train by the request's schedule of recomputation from now on, and update each weight at
        once.

        Evaluation takes no more samples at once than training.
        """
        if request.parallel.ranks > 1 or request.recomputation is None:
            raise ContractError(
                "several ranks do not support recomputation; leave --memory-budget out."
            )
        if request.trains is not None:
            raise ContractError(
                "recomputation trains the whole model, not a part of it; leave --memory-budget out."
            )
        if request.precision not in (FLOAT32, TF32):
            raise ContractError(
                "recomputation does not support 16-bit types; leave --memory-budget or --precision"
                " out."
            )
        if not hasattr(torch.Tensor, "register_post_accumulate_grad_hook"):
            raise ContractError(
                "recomputation needs PyTorch 2.1 or later, and this is {}; leave --memory-budget"
                " out.".format(torch.__version__)
            )
        from reference_impls.pytorch.at_once import UpdateAtOnce  # JetPack 4's PyTorch has no sgd

        parts = blocks(self._model, [(first, last) for first, last in request.recomputation.blocks])
        self._scheduled = ScheduledStep(
            parts, request.recomputation.actions, open_spill(request.recomputation)
        )
        UpdateAtOnce(self._optimizer)  # after which optimizer.step() finds no gradients
        self._evaluated_at_once = request.global_batch_size

    def recomputed(self) -> Optional[Dict[str, Any]]:
        """Counts of the schedule. On a GPU, which works on while Python goes on, no times are
        taken."""
        if self._scheduled is None:
            return None
        counts, spill, is_timed = (
            self._scheduled.counts,
            self._scheduled.spill,
            self._device.type == "cpu",
        )
        times = {
            "passes_s": counts.passes_s,
            "again_s": counts.again_s,
            "storage_s": 0.0 if spill is None else spill.seconds,
        }
        runs = {
            "forwards": counts.forwards,
            "backwards": counts.backwards,
            "operations_again": counts.operations_again,
        }
        spilled_bytes = 0 if spill is None else spill.spilled_bytes
        return dict(
            runs,
            blocks=self._scheduled.blocks,
            spilled_bytes=spilled_bytes,
            **(times if is_timed else dict.fromkeys(times)),
        )

    def step(self, device_batch: DeviceBatch, learning_rate: float, share: float) -> StepResult:
        """Forward, backward and update."""
        images, labels = device_batch
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate
        self._begin()
        loss, communication_s = self._passes(images, labels, share)
        self._optimizer.step()
        self._has_accumulated = False
        self._synchronize()
        return StepResult(self._number(loss), communication_s)

    def defer(self) -> None:
        """A GPU works on while Python goes on."""
        self._is_deferred = True

    def read(self, values: List[torch.Tensor]) -> List[float]:
        """One copy of all of them."""
        return torch.stack(values).tolist() if values else []

    def _number(self, value: Any) -> Any:
        """The loss, which waits for the device; deferred, the tensor that has it, without its
        graph. A schedule has read it already."""
        if isinstance(value, float):
            return value
        return value.detach() if self._is_deferred else value.item()

    def accumulate(self, device_batch: DeviceBatch, share: float) -> float:
        """Autograd adds to the gradients that are there; DistributedDataParallel sums none of them
        over the ranks."""
        if self._scheduled is not None:
            raise ContractError(
                "recomputation updates each weight as soon as it has its gradient, so it cannot"
                " accumulate; leave --memory-budget or --accumulate out."
            )
        self._begin()
        with self._alone():
            loss = self._loss(*device_batch)
            self._scaled(loss, share * self._ranks).backward()
        self._has_accumulated = True
        self._synchronize()
        return self._number(loss)

    def gradients(self, device_batch: DeviceBatch) -> Dict[str, np.ndarray]:
        """By autograd.grad, which changes no parameter's ``grad`` and calls no hook of it."""
        self._model.train()
        parameters = {
            name: parameter
            for name, parameter in self._own_model().named_parameters()
            if parameter.requires_grad
        }
        with self._alone():
            loss = self._scaled(self._loss(*device_batch), 1.0)
            found = torch.autograd.grad(loss, list(parameters.values()))
        if self._exchange is not None:
            self._exchange.take_statistics_s()  # no step's wait
        scale = self._loss_scale or 1.0
        return {name: _on_host(value) / scale for name, value in zip(parameters, found)}

    def _alone(self) -> Any:
        """Within this context DistributedDataParallel sums no gradients over the ranks."""
        return (
            self._model.no_sync()
            if isinstance(self._model, nn.parallel.DistributedDataParallel)
            else ExitStack()
        )

    def _begin(self) -> None:
        """Training mode, and no gradients but those that were accumulated for this update."""
        self._model.train()
        if self._has_accumulated:
            return
        self._optimizer.zero_grad(set_to_none=True)

    def _passes(
        self, images: torch.Tensor, labels: torch.Tensor, share: float
    ) -> Tuple[Any, float]:
        """Forward and backward: the loss, and the seconds that waiting for other ranks took."""
        if self._scheduled is not None:
            return (
                self._scheduled(images, lambda output: nn.functional.cross_entropy(output, labels)),
                0.0,
            )
        loss = self._loss(images, labels)
        return loss, self._backward(loss, share)

    def _loss(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self._logits(images), labels)

    def _backward(self, loss: torch.Tensor, share: float) -> float:
        """Gradients of the global mini-batch's mean loss; returns the seconds that waiting for
        other ranks took."""
        communication_s = 0.0
        if self._exchange is None:
            is_whole = self._ranks == 1 and not self._has_accumulated
            self._scaled(loss, 1.0 if is_whole else share * self._ranks).backward()
        # each loss by its share: the exchange weights the sum of all gradients
        elif self._has_accumulated:
            self._exchange.begin(1.0)
            self._scaled(loss, share).backward()
            communication_s = self._exchange.finish()
        else:
            self._exchange.begin(share)
            self._scaled(loss, 1.0).backward()
            communication_s = self._exchange.finish()
        if self._loss_scale is not None:
            for parameter in self._own_model().parameters():
                if parameter.requires_grad:
                    parameter.grad.div_(self._loss_scale)
        return communication_s

    def _scaled(self, loss: torch.Tensor, weight: float) -> torch.Tensor:
        """The loss times a weight and the scale of losses."""
        factor = weight * (self._loss_scale or 1.0)
        return loss if factor == 1.0 else loss * factor

    def training_state(self) -> Dict[str, np.ndarray]:
        """PyTorch's names and layout are the canonical ones."""
        model, state = self._own_model(), {}
        for name, parameter in model.named_parameters():
            velocity = self._optimizer.state[parameter].get("momentum_buffer")
            state["parameter/" + name] = _on_host(parameter)
            state["velocity/" + name] = _on_host(
                torch.zeros_like(parameter) if velocity is None else velocity
            )
        for name, value in model.named_buffers():
            if name.endswith((".running_mean", ".running_var")):
                state["statistic/" + name] = _on_host(value)
        return state

    @torch.no_grad()
    def restore(self, state: Any) -> None:
        """The optimizer keeps a velocity from its first step on; a restored one begins with the
        state's."""
        for name, parameter in self._own_model().named_parameters():
            parameter.copy_(_tensor(state["parameter/" + name]))
            if self._optimizer.defaults["momentum"] and parameter.requires_grad:
                self._optimizer.state[parameter]["momentum_buffer"] = torch.empty_like(
                    parameter
                ).copy_(_tensor(state["velocity/" + name]))
        for name, value in self._own_model().named_buffers():
            if name.endswith((".running_mean", ".running_var")):
                value.copy_(_tensor(state["statistic/" + name]))

    @torch.no_grad()
    def average_statistics(self, mean: Callable[[List[np.ndarray]], None]) -> None:
        """Running means and variances of every batch normalisation."""
        buffers = [
            value
            for name, value in self._own_model().named_buffers()
            if name.endswith((".running_mean", ".running_var"))
        ]
        values = [_on_host(buffer) for buffer in buffers]
        mean(values)
        for buffer, value in zip(buffers, values):
            buffer.copy_(torch.from_numpy(value))

    def _own_model(self) -> nn.Module:
        return (
            self._model.module
            if isinstance(self._model, nn.parallel.DistributedDataParallel)
            else self._model
        )

    def bucket_times(self) -> List[BucketTime]:
        """Times of the suite's exchange; empty with the native one."""
        return [] if self._exchange is None else self._exchange.take_times()

    @torch.no_grad()
    def count_correct(self, device_batch: Any) -> int:
        """Correctly classified samples."""
        images, labels = device_batch
        self._model.eval()
        size = self._evaluated_at_once or len(labels)
        parts = zip(images.split(size), labels.split(size))
        correct = torch.stack(
            [(self._logits(some).argmax(dim=1) == expected).sum() for some, expected in parts]
        ).sum()
        return correct if self._is_deferred else int(correct)

    @torch.no_grad()
    def probabilities(self, device_batch: DeviceBatch) -> np.ndarray:
        """Softmax of the logits."""
        self._model.eval()
        return _on_host(torch.softmax(self._logits(device_batch[0]), dim=1))

    def _logits(self, images: torch.Tensor) -> torch.Tensor:
        with arithmetic.mixed(self._precision, self._device):
            logits = self._model(images)
        return logits if self._precision == FLOAT32 else logits.float()

    def _synchronize(self) -> None:
        if self._device.type == "cuda" and not self._is_deferred:
            torch.cuda.synchronize(self._device)


def _on_host(tensor: torch.Tensor) -> np.ndarray:
    """A copy in C order."""
    return np.array(tensor.detach().cpu().numpy(), order="C")


def _tensor(buffer: Any) -> torch.Tensor:
    """A copy of a read-only array."""
    return torch.tensor(np.asarray(buffer))
