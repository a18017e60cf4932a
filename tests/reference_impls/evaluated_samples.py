"""A framework's evaluation in float32, for test_beside_the_loop: pictures near a border between two
classes, which LeNet-5 in float64 gives their labels.

``main("pytorch")`` prints, as JSON, the samples and those
that count as correct.
"""

import importlib
import json
from typing import Any

import numpy as np

from reference_impls import probe
from reference_impls.contract import Batch
from tests.reference_impls.accumulated_steps import PROBES, SETTINGS, implementation_on

PAIRS, HALVINGS = 400, 10
FLOAT64 = probe.ProbeRequest(
    probe.PROBE_VERSION,
    "lenet5",
    10,
    [1, 28, 28],
    PAIRS,
    "float64",
    1,
    SETTINGS,
    [],
    1,
    "cpu",
    probe.ALONE,
    1,
    "",
)


def main(framework: str) -> None:
    """Both sides of every border; rounding a picture to float32 may move it across, so that labels
    come after it."""
    referee, model = (
        _model(framework, request) for request in (FLOAT64, FLOAT64._replace(dtype="float32"))
    )
    images = np.concatenate(_borders(referee)).astype(np.float32)
    labels = _classes(referee, images.astype(np.float64))
    laid_out = (
        np.ascontiguousarray(images.transpose(0, 2, 3, 1)) if framework == "tensorflow" else images
    )
    implementation = implementation_on(framework, model)
    correct = int(implementation.count_correct(implementation.to_device(Batch(laid_out, labels))))
    print(json.dumps({"samples": len(labels), "correct": correct}))


def _borders(referee: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pictures on two sides of a border, at most 2^-HALVINGS of the way from one random picture to
    another apart."""
    one, other = (probe.mini_batch(FLOAT64, index)[0] for index in (0, 1))
    own = _classes(referee, one)
    differ = own != _classes(referee, other)
    one, other, own = one[differ], other[differ], own[differ]
    for _ in range(HALVINGS):
        middle = (one + other) / 2
        is_own = (_classes(referee, middle) == own)[:, None, None, None]
        one, other = np.where(is_own, middle, one), np.where(is_own, other, middle)
    return one, other


def _classes(model: Any, images: np.ndarray) -> np.ndarray:
    return model.logits(images).argmax(axis=1).astype(np.int64)


def _model(framework: str, request: probe.ProbeRequest) -> Any:
    model = getattr(
        importlib.import_module(f"reference_impls.{framework}.probe"), PROBES[framework]
    )(request)
    model.assign(
        {
            name: probe.random_value(name, value.shape, 1).astype(request.dtype)
            for name, value in model.parameters().items()
        }
    )
    return model
