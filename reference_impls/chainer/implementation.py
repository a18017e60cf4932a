"""The contract in Chainer: a chain, an optimizer set up on it, and the number of correct
predictions."""

from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import chainer
import chainer.functions as F
import numpy as np

from reference_impls import initial_weights
from reference_impls.arithmetic import log_value, refuse_other, refuse_unsupported
from reference_impls.chainer import arithmetic, loading, weights
from reference_impls.chainer.device import device_of
from reference_impls.chainer.exchange import Exchange, GradientExchange, join
from reference_impls.chainer.models import MODELS
from reference_impls.chainer.part import train_part
from reference_impls.chainer.structure import layers_of
from reference_impls.communication import BucketTime, MpiWorld, World
from reference_impls.contract import (
    Batch,
    Implementation,
    Optimizer,
    Request,
    StepResult,
    as_requested,
)
from reference_impls.data.pipelines import open_old_task, open_pipeline
from reference_impls.loop import Built
from reference_impls.shares import Share
from reference_impls.structure import layers_as_built

DeviceBatch = Tuple[Any, Any]


def build(request: Request, world: World) -> Built:
    """The requested model on the requested device, with the seed's weights. The harness sets the
    threads of OpenMP and BLAS."""
    device = device_of(request.accelerator)
    refuse_unsupported(request, arithmetic.SUPPORTED)
    settings = arithmetic.set_arithmetic()
    observed = arithmetic.observed(device)
    refuse_other(request, observed)
    model = MODELS[request.model](request.data.classes)
    load_weights(model, request)
    exchange = join(world, model, request.parallel) if isinstance(world, MpiWorld) else None
    model.to_device(device)
    implementation = ChainerImplementation(model, request.optimizer, device, exchange)
    facts = {
        **as_requested(request),
        **train_part(model, request.trains),
        "arithmetic": log_value(observed, settings),
        "parameters": model.count_params(),
        "framework_version": chainer.__version__,
        "framework_threads": request.threads,
        "model_layers": layers_as_built(
            request.model,
            "Chainer " + chainer.__version__,
            layers_of(model),
            (),
            request.data.classes,
        ),
    }
    open_data = partial(open_pipeline, fetch=loading.fetch, share=Share(world.rank, world.size))
    return Built(implementation, open_data(request), facts, open_old_task(request, open_data))


def load_weights(model: chainer.Chain, request: Request) -> None:
    """Overwrite the model's parameters with the seed's weights; Chainer's layout is the canonical
    one, its names differ."""
    named = weights.parameters(model)
    shapes = {name: parameter.shape for name, parameter in named.items()}
    for name, value in initial_weights.requested(request, shapes).items():
        named[name].array[...] = value


class SuiteMomentumRule(chainer.optimizers.momentum_sgd.MomentumSGDRule):
    """The suite's momentum: ``v = m v + g``, ``w -= learning_rate v``.

    Chainer keeps ``learning_rate * v`` instead, which is another method as soon as the learning
    rate changes.
    """

    def update_core(self, param: chainer.Parameter) -> None:
        """One parameter's update, on NumPy or CuPy arrays."""
        velocity = self.state["v"]
        velocity *= self.hyperparam.momentum
        velocity += param.grad
        param.array -= self.hyperparam.lr * velocity

    def restore(self, param: chainer.Parameter, velocity: np.ndarray) -> None:
        """Continue with this velocity; Chainer makes it zero in the first update."""
        self._init_states(param)
        self.state["v"][...] = param.device.send(velocity)


class MomentumSGD(chainer.optimizers.MomentumSGD):
    """chainer.optimizers.MomentumSGD with the suite's momentum."""

    def create_update_rule(self) -> SuiteMomentumRule:
        """The rule of each parameter."""
        return SuiteMomentumRule(self.hyperparam)


class ChainerImplementation(Implementation):
    """Define-by-run training in the model's precision."""

    def __init__(
        self,
        model: chainer.Chain,
        settings: Optimizer,
        device: Any,
        exchange: Optional[Exchange] = None,
    ) -> None:
        self._model, self._device, self._exchange = model, device, exchange
        self._optimizer = MomentumSGD(
            lr=settings.base_learning_rate, momentum=settings.momentum
        ).setup(model)
        # gradients of mini-batches before this one, times their shares
        self._has_accumulated = False
        self._is_deferred = False
        if settings.weight_decay:
            self._optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(settings.weight_decay))

    def to_device(self, batch: Batch) -> DeviceBatch:
        """Arrays on the device; Chainer needs int32 labels."""
        device_batch = (
            self._device.send(batch.images),
            self._device.send(batch.labels.astype(np.int32)),
        )
        self._synchronize()
        return device_batch

    def step(self, device_batch: DeviceBatch, learning_rate: float, share: float) -> StepResult:
        """Forward, backward and update."""
        self._optimizer.lr = learning_rate
        loss = self._loss(*device_batch)
        if self._has_accumulated:
            (loss * share).backward()
            share = 1.0
        else:
            self._model.cleargrads()
            loss.backward()
        communication_s = 0.0 if self._exchange is None else self._exchange.mean(share)
        self._optimizer.update()
        self._has_accumulated = False
        self._synchronize()
        return StepResult(self._number(loss.array), communication_s)

    def accumulate(self, device_batch: DeviceBatch, share: float) -> float:
        """A backward pass adds to the gradients that are there."""
        loss = self._loss(*device_batch)
        if not self._has_accumulated:
            self._model.cleargrads()
        (loss * share).backward()
        self._has_accumulated = True
        self._synchronize()
        return self._number(loss.array)

    def gradients(self, device_batch: DeviceBatch) -> Dict[str, np.ndarray]:
        """By a backward pass whose gradients are taken off the parameters again."""
        self._model.cleargrads()
        self._loss(*device_batch).backward()
        found = {
            name: _on_host(parameter.grad)
            for name, parameter in weights.parameters(self._model).items()
        }
        self._model.cleargrads()
        if isinstance(self._exchange, GradientExchange):
            self._exchange.take_statistics_s()  # no step's wait
        return found

    def defer(self) -> None:
        """CuPy's kernels are submitted to a stream."""
        self._is_deferred = True

    def read(self, values: List[Any]) -> List[float]:
        """One copy of all of them."""
        return _on_host(self._device.xp.stack(values)).tolist() if values else []

    def _number(self, value: Any) -> Any:
        """The number, which waits for the device; deferred, the array that has it."""
        return value if self._is_deferred else value.item()

    def _loss(self, images: Any, labels: Any) -> chainer.Variable:
        return F.softmax_cross_entropy(self._model(images), labels)

    def training_state(self) -> Dict[str, np.ndarray]:
        """Chainer's layout is the canonical one."""
        state = {}
        for name, parameter in weights.parameters(self._model).items():
            velocity = (parameter.update_rule.state or {}).get("v")
            state["parameter/" + name] = _on_host(parameter.array)
            state["velocity/" + name] = (
                np.zeros(parameter.shape, parameter.dtype)
                if velocity is None
                else _on_host(velocity)
            )
        state.update(
            ("statistic/" + name, _on_host(value))
            for name, value in weights.statistics(self._model).items()
        )
        return state

    def restore(self, state: Any) -> None:
        """Chainer's layout is the canonical one."""
        for name, parameter in weights.parameters(self._model).items():
            parameter.array[...] = self._device.send(np.array(state["parameter/" + name]))
            parameter.update_rule.restore(parameter, np.array(state["velocity/" + name]))
        for name, value in weights.statistics(self._model).items():
            value[...] = self._device.send(np.array(state["statistic/" + name]))

    def average_statistics(self, mean: Callable[[List[np.ndarray]], None]) -> None:
        """Average means and variances of every batch normalisation."""
        arrays = list(weights.statistics(self._model).values())
        values = [_on_host(each) for each in arrays]
        mean(values)
        for each, value in zip(arrays, values):
            each[...] = self._device.send(value)

    def bucket_times(self) -> List[BucketTime]:
        """Times of the suite's exchange; empty with the native one."""
        return [] if self._exchange is None else self._exchange.take_times()

    def count_correct(self, device_batch: DeviceBatch) -> int:
        """Correctly classified samples."""
        images, labels = device_batch
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return self._number((self._model(images).array.argmax(axis=1) == labels).sum())

    def _synchronize(self) -> None:
        if self._device.xp is not np and not self._is_deferred:
            chainer.backends.cuda.Stream.null.synchronize()


def _on_host(array: Any) -> np.ndarray:
    """A copy in C order."""
    return np.array(chainer.backends.cuda.to_cpu(array), order="C")
