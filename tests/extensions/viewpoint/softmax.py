"""Softmax regression in NumPy on pictures halved to 14x14 and, as ``large``, on all pixels: what
the processes are tested with, in seconds."""

import numpy as np

from reference_impls.communication import World
from reference_impls.contract import Batch, Implementation, Request, StepResult
from reference_impls.data.pipelines import open_pipeline
from reference_impls.loop import Built

MODELS = {"large": 1, "small": 2, "odd": 3}
"""Pixels that one input is the mean of, each way; 28 pixels are no multiple of three."""


def build(request: Request, world: World) -> Built:
    """Raises KeyError for another model, as the implementations of the checkout do."""
    model = Softmax(MODELS[request.model], request.data.classes)
    return Built(model, open_pipeline(request), {"parameters": model.weights.size})


class Softmax(Implementation):
    """Weights (pixels and a one, classes), zeros at first; plain SGD."""

    def __init__(self, pool: int, classes: int) -> None:
        self._pool = pool
        self.weights = np.zeros(((28 // pool) ** 2 + 1, classes), np.float32)

    def to_device(self, batch: Batch) -> object:
        side, pool = 28 // self._pool, self._pool
        pooled = (
            batch.images.reshape(-1, side, pool, side, pool)
            .mean(axis=(2, 4))
            .reshape(len(batch.labels), -1)
        )
        return np.hstack([pooled, np.ones((len(pooled), 1), np.float32)]), batch.labels

    def probabilities(self, device_batch: object) -> np.ndarray:
        inputs, _ = device_batch
        scores = inputs @ self.weights
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def step(self, device_batch: object, learning_rate: float, share: float) -> StepResult:
        inputs, labels = device_batch
        errors, rows = self.probabilities(device_batch), np.arange(len(labels))
        loss = -np.log(np.maximum(errors[rows, labels], 1e-12)).mean()
        errors[rows, labels] -= 1.0
        self.weights -= learning_rate * inputs.T @ errors / len(labels)
        return StepResult(float(loss), 0.0)

    def count_correct(self, device_batch: object) -> int:
        inputs, labels = device_batch
        return int(((inputs @ self.weights).argmax(axis=1) == labels).sum())

    def training_state(self) -> dict[str, object]:
        return {"parameter/weights": self.weights}

    def restore(self, state: object) -> None:
        self.weights = np.array(state["parameter/weights"], np.float32)
