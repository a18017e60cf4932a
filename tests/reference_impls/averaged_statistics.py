"""How a framework's implementation averages statistics over ranks, for test_normalisation:
ResNet-18, and a mean that can be told.

``python -m tests.reference_impls.averaged_statistics pytorch`` prints, as JSON, the statistics, and
how many of them are not the mean afterwards.
"""

import importlib
import json
import sys

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
OTHERS = 3.0
"""The other rank's statistics are this many times one's own, so that the mean is twice one's
own."""


def main(framework: str) -> None:
    """Parameters must stay as they are."""
    model = getattr(
        importlib.import_module(f"reference_impls.{framework}.probe"), PROBES[framework]
    )(REQUEST)
    named = {**model.parameters(), **model.statistics()}
    model.assign(
        {
            name: probe.random_value(name, value.shape, 1).astype(np.float32)
            for name, value in named.items()
        }
    )
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
    print(
        json.dumps(
            {"statistics": sum(factor != 1.0 for factor in factors.values()), "wrong": wrong}
        )
    )


def _mean(values: list[np.ndarray]) -> None:
    for value in values:
        value += OTHERS * value
        value /= 2


if __name__ == "__main__":
    main(sys.argv[1])
