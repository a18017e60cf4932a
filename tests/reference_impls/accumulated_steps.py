"""A framework's implementation in float64, for test_beside_the_loop: LeNet-5 takes the same updates
by whole mini-batches and by parts of them.

``main("pytorch")`` prints, as JSON, the largest
differences of losses and of parameters, and the largest change of a parameter.
"""

import importlib
import json
from typing import Any

import numpy as np

from reference_impls import probe
from reference_impls.contract import Batch, Optimizer

PROBES = {
    "pytorch": "ProbedPyTorchModel",
    "tensorflow": "ProbedTensorFlowModel",
    "chainer": "ProbedChainerModel",
}
SETTINGS = Optimizer("sgd", 0.1, 0.9, 1e-3, "constant")
SAMPLES, PART, RATES = 40, 16, [0.1, 0.05, 0.025, 0.01]
"""The last of three parts has half as many samples as the others."""


def main(framework: str) -> None:
    """Four updates, with momentum and weight decay."""
    request = probe.ProbeRequest(
        probe.PROBE_VERSION,
        "lenet5",
        10,
        [1, 28, 28],
        SAMPLES,
        "float64",
        1,
        SETTINGS,
        RATES,
        1,
        "cpu",
        probe.ALONE,
        1,
        "",
    )
    model = getattr(
        importlib.import_module(f"reference_impls.{framework}.probe"), PROBES[framework]
    )(request)
    values = {
        name: probe.random_value(name, value.shape, 1).astype(np.float64)
        for name, value in model.parameters().items()
    }
    found = []
    for update in (_whole, _in_parts):
        model.assign(values)
        implementation = implementation_on(framework, model)
        losses = []
        for index, rate in enumerate(RATES):
            images, labels = probe.mini_batch(request, index)
            images = images.transpose(0, 2, 3, 1).copy() if framework == "tensorflow" else images
            losses.append(update(implementation, images, labels, rate))
        found.append((losses, model.parameters()))
    (whole, expected), (in_parts, parameters) = found
    answer = {
        "losses": max(abs(one - other) for one, other in zip(whole, in_parts, strict=True)),
        "parameters": max(
            float(np.abs(value - expected[name]).max()) for name, value in parameters.items()
        ),
        "moved": max(
            float(np.abs(value - values[name]).max()) for name, value in parameters.items()
        ),
    }
    print(json.dumps(answer))


def _whole(implementation: Any, images: np.ndarray, labels: np.ndarray, rate: float) -> float:
    return float(
        implementation.step(implementation.to_device(Batch(images, labels)), rate, 1.0).loss
    )


def _in_parts(implementation: Any, images: np.ndarray, labels: np.ndarray, rate: float) -> float:
    """The mean loss, from those of the parts."""
    mean = 0.0
    for start in range(0, SAMPLES, PART):
        batch = Batch(images[start : start + PART], labels[start : start + PART])
        share, on_device = len(batch.labels) / SAMPLES, implementation.to_device(batch)
        is_last = start + PART >= SAMPLES
        mean += share * (
            implementation.step(on_device, rate, share).loss
            if is_last
            else implementation.accumulate(on_device, share)
        )
    return mean


def implementation_on(framework: str, model: Any) -> Any:
    """A new one, without velocities, on the probe's model; TensorFlow's with the variables in which
    it accumulates."""
    made = importlib.import_module(f"reference_impls.{framework}.implementation")
    network = model._model
    if framework == "pytorch":
        return made.PyTorchImplementation(network, SETTINGS, "cpu")
    if framework == "tensorflow":
        return made.TensorFlowImplementation(network, SETTINGS, "cpu", None, True)
    return made.ChainerImplementation(network, SETTINGS, made.chainer.get_device("@numpy"))
