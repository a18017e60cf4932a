"""Waits of a framework's implementation for statistics over all ranks, for test_beside_the_loop: in
a step of ResNet-18, and in a step after two comparisons of gradients.

``main("pytorch")`` prints, as JSON, the seconds of communication of both steps; a sum of statistics
takes one second of a simulated clock.
"""

import importlib
import json
from collections.abc import Callable
from itertools import count
from typing import Any, cast

from reference_impls import normalisation, probe
from reference_impls.communication import MpiWorld
from reference_impls.contract import SYNCHRONISED, Batch, Parallel
from tests.reference_impls.accumulated_steps import PROBES
from tests.reference_impls.statistics_of_layers import REQUEST


class Summed:
    """The request of a sum that is done."""

    def Test(self) -> bool:
        return True


class OneRank(MpiWorld):
    """A world whose sums are what its only rank has."""

    def __init__(self) -> None:
        pass

    def broadcast(self, arrays: Any) -> None:
        pass

    def separate_sum(self) -> Callable[[Any], None]:
        return lambda values: None

    def bucket_sum(self, wire: str, encodings: Any = None) -> Any:
        return lambda array, send: Summed()


def main(framework: str) -> None:
    """Both steps are on one mini-batch."""
    seconds, clocked = count(step=10**9), cast(Any, normalisation)
    clocked.monotonic_ns = lambda: next(seconds)
    model = getattr(
        importlib.import_module(f"reference_impls.{framework}.probe"), PROBES[framework]
    )(REQUEST)
    model.join(OneRank(), Parallel(2, 1, "mpi", 2**20, False, SYNCHRONISED))
    images, labels = probe.mini_batch(REQUEST, 0)
    images = images.transpose(0, 2, 3, 1).copy() if framework == "tensorflow" else images
    implementation = model._implementation
    batch = implementation.to_device(Batch(images, labels))
    plain_s = implementation.step(batch, 0.0, 1.0).communication_s
    for _ in range(2):
        implementation.gradients(batch)
    after_s = implementation.step(batch, 0.0, 1.0).communication_s
    print(json.dumps({"plain_s": plain_s, "after_s": after_s}))
