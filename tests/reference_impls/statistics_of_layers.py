"""The statistics of a framework's implementation, for test_beside_the_loop: ResNet-18's, averaged
with those of another rank, and those of a layer of the suite's own.

``main("pytorch")`` prints, as JSON, how many statistics an average changes and which of them
wrongly, and what a layer keeps beside what it must.
"""

import importlib
import json

import numpy as np

from reference_impls import probe
from tests.reference_impls.accumulated_steps import PROBES, SETTINGS, implementation_on

REQUEST = probe.ProbeRequest(
    probe.PROBE_VERSION,
    "resnet18",
    10,
    [3, 32, 32],
    2,
    "float32",
    1,
    SETTINGS,
    [],
    1,
    "cpu",
    probe.ALONE,
    1,
    "",
)
KEPT = 0.9
"""Share of its running statistics that the layer keeps in a step."""
OTHERS = 3.0
"""The other rank's statistics are this many times one's own, so that the mean is twice one's
own."""


def main(framework: str) -> None:
    """Parameters must stay as they are when statistics are averaged."""
    model = getattr(
        importlib.import_module(f"reference_impls.{framework}.probe"), PROBES[framework]
    )(REQUEST)
    named = {
        name: probe.random_value(name, value.shape, 1).astype(np.float32)
        for name, value in {**model.parameters(), **model.statistics()}.items()
    }
    model.assign(named)
    implementation = implementation_on(framework, model)
    before = implementation.training_state()
    implementation.average_statistics(_mean)
    after = implementation.training_state()
    factors = {name: (1 + OTHERS) / 2 if name.startswith("statistic/") else 1.0 for name in before}
    wrong = [
        name
        for name, factor in factors.items()
        if not np.allclose(after[name], factor * before[name], rtol=1e-6, atol=0)
    ]
    averaged = sum(factor != 1.0 for factor in factors.values())
    running = _of_a_layer() if framework == "tensorflow" else {}
    print(json.dumps({"averaged": averaged, "wrong": wrong, "running": running}))


def _of_a_layer() -> dict[str, list[list[float]]]:
    """By precision, mean and variance that TensorFlow's layer keeps after one mini-batch, and what
    the others' would: the unbiased variance. The suite computes it in two ways."""
    from reference_impls.tensorflow.layers import BatchNormalization

    found = {}
    for dtype in ("float32", "float64"):
        images = np.random.default_rng(5).normal(2.0, 3.0, (2, 3, 4, 5)).astype(dtype)
        layer = BatchNormalization(momentum=KEPT, dtype=dtype)
        layer(images, training=True)
        expected = images.mean((0, 1, 2)), images.var((0, 1, 2), ddof=1)
        found[dtype] = [
            [*layer.moving_mean.numpy().tolist(), *layer.moving_variance.numpy().tolist()],
            [*((1 - KEPT) * expected[0]).tolist(), *(KEPT + (1 - KEPT) * expected[1]).tolist()],
        ]
    return found


def _mean(values: list[np.ndarray]) -> None:
    for value in values:
        value += OTHERS * value
        value /= 2
