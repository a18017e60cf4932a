"""Softmax regression in pure Python on 28x28 IDX files, through the suite's own loop and contract.

It is no LeNet: for every requested model it trains 7x7 pooled pixels times 10 weights, and logs
that, so it can enter the open division only. It learns from real data, needs nothing but Python
3.6, and runs a whole epoch of the digits in about a second: everything of the harness can be tried
with it. A vendor's implementation may begin as a copy of this folder.
"""

import array
import math
import os
import platform
import random
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from reference_impls.communication import World
from reference_impls.contract import (
    SECONDS_PER_NS,
    Batch,
    ContractError,
    Implementation,
    Pipeline,
    Request,
    StepResult,
    monotonic_ns,
)
from reference_impls.data.idx import read_header
from reference_impls.loop import Built
from reference_impls.shares import Share

SIDE, POOL = 28, 4
FEATURES = (SIDE // POOL) ** 2
TRAIN, EVAL = (
    ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
EVAL_BATCH = 250


def build(request: Request, world: World) -> Built:
    """A regression for the request's classes, for every model that it names; ``model_trained`` in
    the log is the true model."""
    if request.accelerator != "cpu":
        raise ContractError("the fake framework has no accelerator; use `--accelerator cpu`.")
    facts = {
        "model_trained": "softmax_regression",
        "optimizer_used": "sgd",
        "precision": "float64",
        "parameters": request.data.classes * (FEATURES + 1),
        "framework_version": platform.python_version(),
        "framework_threads": request.threads,
    }
    return Built(SoftmaxRegression(request, world), PooledDigits(request, world), facts)


class Samples(NamedTuple):
    """A split in memory: per sample FEATURES floats in [0, 1], and its class."""

    features: List[List[float]]
    labels: bytes


class PooledDigits(Pipeline):
    """Mini-batches of pooled pixels; the order comes from the seed and the epoch (Python's own
    generator, not NumPy's).

    Each rank takes its share of a mini-batch.
    """

    def __init__(self, request: Request, world: World) -> None:
        self._request, self._share = request, Share(world.rank, world.size)

    def training(self, epoch: int) -> Iterator[Batch]:
        """The epoch's mini-batches."""
        samples = read_split(self._request.data.directory, TRAIN)
        order = list(range(len(samples.labels)))
        random.Random(self._request.seed * 1000003 + epoch).shuffle(order)
        for batch in _batches(samples, order, self._request.global_batch_size):
            own = self._share.of(len(batch.labels))
            yield Batch(batch.images[own], batch.labels[own])

    def evaluation(self) -> Iterator[Batch]:
        """The test set, in file order."""
        samples = read_split(self._request.data.directory, EVAL)
        own = range(len(samples.labels))[self._share.of(len(samples.labels))]
        return _batches(samples, own, EVAL_BATCH)

    def share(self, seconds: Tuple[float, ...]) -> None:
        """By speed from now on."""
        self._share = self._share._replace(seconds=seconds)

    def files(self) -> List[str]:
        """Images and labels of both sets."""
        return [os.path.join(self._request.data.directory, name) for name in TRAIN + EVAL]


def read_split(directory: str, names: Tuple[str, str]) -> Samples:
    """Read images and labels and pool each image to 7x7; raises ContractError for files that are
    missing or cut off."""
    images_path, labels_path = (os.path.join(directory, name) for name in names)
    images, labels = read_header(images_path), read_header(labels_path)
    if images.shape[1:] != (SIDE, SIDE) or images.shape[0] != labels.shape[0]:
        raise ContractError(
            "{}: expected {} images of 28x28, found shape {}.".format(
                images_path, labels.shape[0], images.shape
            )
        )
    with open(images_path, "rb") as stream:
        stream.seek(images.offset_bytes)
        features = [_pool(stream.read(SIDE * SIDE)) for _ in range(images.shape[0])]
    with open(labels_path, "rb") as stream:
        stream.seek(labels.offset_bytes)
        return Samples(features, stream.read())


def _pool(pixels: bytes) -> List[float]:
    """Mean of every 4x4 block, scaled to [0, 1]."""
    scale = 1.0 / (255 * POOL * POOL)
    pooled = []
    for top in range(0, SIDE, POOL):
        for left in range(0, SIDE, POOL):
            pooled.append(
                scale
                * sum(
                    sum(pixels[(top + y) * SIDE + left : (top + y) * SIDE + left + POOL])
                    for y in range(POOL)
                )
            )
    return pooled


def _batches(samples: Samples, order: Sequence[int], size: int) -> Iterator[Batch]:
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield Batch(
            [samples.features[index] for index in chosen],
            [samples.labels[index] for index in chosen],
        )


class SoftmaxRegression(Implementation):
    """Multinomial logistic regression by mini-batch SGD with momentum."""

    def __init__(self, request: Request, world: World) -> None:
        self._world = world
        stream = random.Random(request.seed)
        bound = 1.0 / math.sqrt(FEATURES)
        self._momentum = request.optimizer.momentum
        self._weights = [
            [stream.uniform(-bound, bound) for _ in range(FEATURES + 1)]
            for _ in range(request.data.classes)
        ]
        self._velocity = [[0.0] * (FEATURES + 1) for _ in range(request.data.classes)]
        self._kept = []  # type: List[List[List[float]]]  # gradients of mini-batches before this one, times their shares
        self._is_deferred, self._waited_s = False, 0.0  # the exchange of the last update

    def to_device(self, batch: Batch) -> Any:
        """The host is the device."""
        return batch

    def defer(self) -> None:
        """The host, which is the device, keeps what is submitted and computes all of it in read."""
        self._is_deferred = True

    def read(self, values: List[Any]) -> List[float]:
        """Compute what was submitted, in that order."""
        return [submitted() for submitted in values]

    def _submit(self, work: Callable[[], float]) -> Any:
        """The number; deferred, what computes it."""
        return work if self._is_deferred else work()

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        """Mean cross-entropy of the mini-batch, then one update; several ranks defer none."""
        loss = self._submit(partial(self._update, device_batch, learning_rate, share))
        return StepResult(loss, self._waited_s)

    def _update(self, device_batch: Any, learning_rate: float, share: float) -> float:
        loss, gradient = self._gradient(device_batch)
        if self._kept:
            gradient, share = _sum([*self._kept, _times(gradient, share)]), 1.0
            self._kept = []
        if self._world.size > 1:
            self._waited_s = self._sum(gradient, share)
        for weights, velocity, row in zip(self._weights, self._velocity, gradient):
            velocity[:] = [self._momentum * v + g for v, g in zip(velocity, row)]
            weights[:] = [w - learning_rate * v for w, v in zip(weights, velocity)]
        return loss

    def accumulate(self, device_batch: Any, share: float) -> float:
        """Keeps each gradient by itself."""
        return self._submit(partial(self._keep, device_batch, share))

    def _keep(self, device_batch: Any, share: float) -> float:
        loss, gradient = self._gradient(device_batch)
        self._kept.append(_times(gradient, share))
        return loss

    def _gradient(self, device_batch: Any) -> Tuple[float, List[List[float]]]:
        """The mean loss of the mini-batch and its gradient, a row per class."""
        gradient = [[0.0] * (FEATURES + 1) for _ in self._weights]
        loss, samples = 0.0, max(1, len(device_batch.labels))
        for features, label in zip(device_batch.images, device_batch.labels):
            probabilities = self._probabilities(features)
            loss -= math.log(max(probabilities[label], 1e-12))
            for index, row in enumerate(gradient):
                error = (probabilities[index] - (index == label)) / samples
                row[:] = [g + error * x for g, x in zip(row, features)] + [row[-1] + error]
        return loss / samples, gradient

    def gradients(self, device_batch: Any) -> Dict[str, Any]:
        """Of all classes, row after row."""
        return {"weights": [value for row in self._gradient(device_batch)[1] for value in row]}

    def _sum(self, gradient: List[List[float]], share: float) -> float:
        """Replace the gradient by the mean over the global mini-batch; returns the seconds that the
        ranks' exchange took."""
        whole = array.array("d", [share * value for row in gradient for value in row])
        began_ns = monotonic_ns()
        self._world.sum(whole)
        communication_s = (monotonic_ns() - began_ns) * SECONDS_PER_NS
        for index, row in enumerate(gradient):
            row[:] = whole[index * len(row) : (index + 1) * len(row)]
        return communication_s

    def count_correct(self, device_batch: Any) -> int:
        """Correctly classified samples."""
        return self._submit(partial(self._count, device_batch))

    def _count(self, device_batch: Any) -> int:
        guesses = (
            max(enumerate(self._probabilities(features)), key=lambda pair: pair[1])[0]
            for features in device_batch.images
        )
        return sum(guess == label for guess, label in zip(guesses, device_batch.labels))

    def training_state(self) -> Dict[str, Any]:
        """Weights and velocities of all classes, row after row."""
        rows = {"parameter/weights": self._weights, "velocity/weights": self._velocity}
        return {
            name: array.array("d", [value for row in values for value in row])
            for name, values in rows.items()
        }

    def restore(self, state: Any) -> None:
        """The inverse of training_state."""
        for name, rows in {
            "parameter/weights": self._weights,
            "velocity/weights": self._velocity,
        }.items():
            values = state[name].tolist()
            for index, row in enumerate(rows):
                row[:] = values[index * len(row) : (index + 1) * len(row)]

    def _probabilities(self, features: List[float]) -> List[float]:
        scores = [
            sum(w * x for w, x in zip(weights, features)) + weights[-1] for weights in self._weights
        ]
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        total = sum(powers)
        return [power / total for power in powers]


def _times(rows: List[List[float]], factor: float) -> List[List[float]]:
    return [[factor * value for value in row] for row in rows]


def _sum(gradients: List[List[List[float]]]) -> List[List[float]]:
    """Element by element."""
    return [[sum(values) for values in zip(*rows)] for rows in zip(*gradients)]
