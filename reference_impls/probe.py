"""The probe: writes what a model computes on given weights and data, so that two implementations
can be compared value by value.

``python -m <implementation>.probe --request probe.json`` writes ``request.output``, an ``.npz``
archive without pickles:

``parameter/<name>`` and ``statistic/<name>``
    parameters and batch-normalisation statistics after the last step
``logits``
    of the first mini-batch in inference mode, before any step, float (samples, classes)
``loss`` and ``gradient/<name>``
    of the first mini-batch in training mode, before any step
``losses``
    of every step, in training mode, before its update

With several ranks, each trains on its share of every mini-batch; rank 0 writes ``losses``,
parameters, its statistics, and ``apart``: the largest difference between any rank's parameter and
rank 0's.

Names, layout and all random values are defined here, from the seed, so that only the request is
exchanged. A vendor's implementation can be probed by any program that reads the request and writes
this archive.
"""

import abc
import argparse
import json
import sys
import zlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

import numpy as np

from reference_impls import communication
from reference_impls.communication import MpiWorld, World
from reference_impls.contract import ContractError, Optimizer, Parallel, Trains, print_error
from reference_impls.training_state import State

PROBE_VERSION = 3
ALONE = Parallel(1, 1, "none", 0, False)
Arrays = Dict[str, np.ndarray]


class ProbeRequest(NamedTuple):
    """A request to a probe. One optimiser step is taken per learning rate, each on another
    mini-batch."""

    probe_version: int
    model: str
    classes: int
    image_shape: List[int]  # channels, height, width
    batch_size: int
    dtype: str  # "float64" or "float32"
    seed: int
    optimizer: Optimizer
    learning_rates: List[float]
    threads: int
    accelerator: str  # "cpu" or "cuda"
    parallel: Parallel
    shares: int  # 1, or N: one rank computes the shares of N ranks, one after the other
    output: str
    trains: Optional[Trains] = None  # the part of the model that is trained


class ProbedModel(abc.ABC):
    """A model and its optimiser, under canonical names and in the canonical layout, in the
    request's precision."""

    @abc.abstractmethod
    def parameters(self) -> Arrays:
        """Copies of the parameters."""

    @abc.abstractmethod
    def statistics(self) -> Arrays:
        """Copies of the running means and variances."""

    @abc.abstractmethod
    def assign(self, values: Arrays) -> None:
        """Overwrite parameters and statistics."""

    @abc.abstractmethod
    def logits(self, images: np.ndarray) -> np.ndarray:
        """Inference: images (samples, channels, height, width) to (samples, classes)."""

    @abc.abstractmethod
    def gradients(self, images: np.ndarray, labels: np.ndarray) -> Tuple[float, Arrays]:
        """The mean loss in training mode and its gradients, those of the part that is trained,
        without weight decay and without an update of the parameters."""

    @abc.abstractmethod
    def step(
        self, images: np.ndarray, labels: np.ndarray, learning_rate: float, share: float
    ) -> float:
        """One training step, the implementation's own, on ``share`` of the samples of a mini-batch;
        returns the loss before the update."""

    def restore(self, state: State) -> None:
        """Continue from a training state (reference_impls.training_state), in the request's
        precision."""
        raise ContractError(
            "this model cannot continue from a training state; it has no method restore."
        )

    @abc.abstractmethod
    def join(self, world: MpiWorld, settings: Parallel) -> None:
        """Train data-parallel with the other ranks from now on, starting from rank 0's parameters
        and statistics."""


def probe(request: ProbeRequest, model: ProbedModel, world: World) -> Arrays:
    """All arrays of the archive."""
    shapes = {
        name: value.shape for name, value in {**model.parameters(), **model.statistics()}.items()
    }
    # Other ranks start from other values: joining must give them rank 0's.
    values = {
        name: random_value(name, shape, request.seed + world.rank).astype(request.dtype)
        for name, shape in shapes.items()
    }
    model.assign(values)
    found = {} if isinstance(world, MpiWorld) else _first_mini_batch(request, model)
    model.assign(values)  # the forward pass in training mode has updated the statistics
    if isinstance(world, MpiWorld):
        model.join(world, request.parallel)
    found["losses"] = np.asarray(
        _shares_in_turn(request, model) if request.shares > 1 else _steps(request, model, world)
    )
    parameters = model.parameters()
    if world.size > 1:
        found["apart"] = np.asarray(_largest_difference(parameters, world))
    found.update(("parameter/" + name, value) for name, value in parameters.items())
    found.update(("statistic/" + name, value) for name, value in model.statistics().items())
    return found


def _first_mini_batch(request: ProbeRequest, model: ProbedModel) -> Arrays:
    images, labels = mini_batch(request, 0)
    found = {"logits": model.logits(images)}  # type: Arrays
    loss, gradients = model.gradients(images, labels)
    found["loss"] = np.asarray(loss)
    found.update(("gradient/" + name, value) for name, value in gradients.items())
    return found


def _steps(request: ProbeRequest, model: ProbedModel, world: World) -> List[float]:
    """The implementation's steps; the loss of a mini-batch is the mean over all ranks' samples."""
    losses = []
    for index, rate in enumerate(request.learning_rates):
        images, labels = mini_batch(request, index)
        own = slice(world.rank, None, world.size)
        share = len(labels[own]) / len(labels)
        losses.append(
            sum(world.allgather(share * model.step(images[own], labels[own], rate, share)))
        )
    return losses


def _shares_in_turn(request: ProbeRequest, model: ProbedModel) -> List[float]:
    """The expected result of ``shares`` ranks."""
    shares = SharesInTurn(model, request.optimizer, request.shares)
    return [
        shares.step(*mini_batch(request, index), rate)
        for index, rate in enumerate(request.learning_rates)
    ]


class SharesInTurn:
    """Training of ``shares`` ranks in one process: every share normalised by its statistics, SGD in
    NumPy, rank 0's running statistics."""

    def __init__(self, model: ProbedModel, settings: Optimizer, shares: int) -> None:
        self._model, self._settings, self._shares = model, settings, shares
        self._velocity = {name: np.zeros_like(value) for name, value in model.parameters().items()}

    def step(self, images: np.ndarray, labels: np.ndarray, learning_rate: float) -> float:
        """One step on a global mini-batch; returns its mean loss before the update."""
        settings, weights, loss = self._settings, self._model.parameters(), 0.0
        gradient = {}  # type: Arrays
        statistics = {}  # type: Arrays
        for rank in range(self._shares):
            own = slice(rank, None, self._shares)
            share = len(labels[own]) / len(labels)
            own_loss, own_gradient = self._model.gradients(images[own], labels[own])
            statistics = statistics or self._model.statistics()
            loss += share * own_loss
            for name in own_gradient:
                decay = settings.weight_decay * weights[name]
                gradient[name] = gradient.get(name, decay) + share * own_gradient[name]
        for name in gradient:
            self._velocity[name] = settings.momentum * self._velocity[name] + gradient[name]
            weights[name] -= learning_rate * self._velocity[name]
        self._model.assign({**weights, **statistics})
        return loss


def _largest_difference(parameters: Arrays, world: World) -> float:
    first = world.bcast(parameters)
    return float(
        max(
            world.allgather(
                max(float(np.abs(value - first[name]).max()) for name, value in parameters.items())
            )
        )
    )


def random_value(name: str, shape: Sequence[int], seed: int) -> np.ndarray:
    """A random array that exposes mistakes: statistics and scales away from 0 and 1, every layer's
    output of the order of its input."""
    stream = np.random.RandomState([seed, zlib.crc32(name.encode("ascii"))])
    if name.endswith(".running_var") or (name.endswith(".weight") and len(shape) == 1):
        return stream.uniform(0.5, 1.5, shape)
    if name.endswith((".running_mean", ".bias")):
        return stream.normal(0.0, 0.1, shape)
    return stream.normal(0.0, np.sqrt(1.0 / np.prod(shape[1:])), shape)


def mini_batch(request: ProbeRequest, index: int) -> Tuple[np.ndarray, np.ndarray]:
    """The ``index``-th mini-batch: images in the request's precision, labels int64."""
    stream = np.random.RandomState([request.seed, index])
    images = stream.standard_normal((request.batch_size, *request.image_shape)).astype(
        request.dtype
    )
    return images, stream.randint(0, request.classes, request.batch_size).astype(np.int64)


def read_probe_request(path: str) -> ProbeRequest:
    """Read the request; raises ContractError when it is not one."""
    try:
        with open(path, encoding="utf-8") as stream:
            values = json.load(stream)
        request = ProbeRequest(
            **dict(
                values,
                optimizer=Optimizer(**values["optimizer"]),
                parallel=Parallel(**values["parallel"]),
                trains=values.get("trains") and Trains(**values["trains"]),
            )
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ContractError(
            "{}: the probe's request cannot be read: {}.".format(path, error)
        ) from error
    if request.probe_version != PROBE_VERSION:
        raise ContractError(
            "{}: probe_version is {!r}, this implementation supports {}.".format(
                path, request.probe_version, PROBE_VERSION
            )
        )
    return request


def main(open_model: Callable[[ProbeRequest], ProbedModel]) -> None:
    """The command line of an implementation's probe."""
    parser = argparse.ArgumentParser(description="Write what a model computes, for comparison.")
    parser.add_argument("--request", required=True, help="the request, a JSON file")
    world = World()
    try:
        request = read_probe_request(parser.parse_args().request)
        world = communication.join(request.parallel.ranks)
        found = probe(request, open_model(request), world)
    except ContractError as error:
        print_error(str(error))
        world.abort()
        sys.exit(2)
    if world.rank == 0:
        np.savez(request.output, **cast(Any, found))  # its type hints lack arrays by keyword
