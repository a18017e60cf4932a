"""What showing the steps costs a training: the same loop with and without the count that the
harness sees, in turns, in one process.

A step of the loop is arithmetic of about a tenth of a millisecond, less than any step of a
workload takes. The memory is the harness's own, opened as an implementation does it. Loops are
short and their CPU time is compared, so that other programs disturb few of them.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from benchmarks.runner.benchmark import Benchmark, Ratio, alternating, ratio_of
from benchmarks.runner.command_line import run_alone
from reference_impls.shown_steps import ShownSteps
from suite.launch.step_counter import step_counter


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    steps: Annotated[int, "steps of a loop"] = 200
    work: Annotated[int, "numbers that a step adds up"] = 6000
    pairs: Annotated[int, "loops of each kind"] = 201


def measure(settings: Settings) -> Iterator[Ratio]:
    """One ratio, of CPU times per step."""
    with step_counter() as variables:
        os.environ.update(variables)
        shown = ShownSteps()

    def with_count() -> float:
        began_s = time.thread_time()
        for step in range(settings.steps):
            sum(range(settings.work))
            shown.show(step)
        return (time.thread_time() - began_s) / settings.steps

    def without() -> float:
        began_s = time.thread_time()
        for _ in range(settings.steps):
            sum(range(settings.work))
        return (time.thread_time() - began_s) / settings.steps

    pairs = []
    for pair in range(settings.pairs):
        step_s = {kind: kind() for kind in alternating(pair, with_count, without)}
        pairs.append((step_s[with_count], step_s[without]))
    yield ratio_of("a step", "with the count", "without", pairs)


BENCHMARK = Benchmark(
    "How much longer does a step take that shows its number to the harness?",
    measure,
    Settings(),
    Settings(pairs=3),
    full_s=10,
    quick_s=0.2,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
