"""Measures how far the steps of the program that is timed are from a referee in float64: what the tolerances in rules/workloads stand on.

``python -m tools.timed_tolerances WORKLOAD RATE[:FIRST] BATCH,… [SEED,…]``, for instance ``resnet18 0.002 16,32 20,21``; FIRST is the rate of
the training that ends after its first step. Prints a row for each framework, batch size and seed: the error of every quantity, relative to its
largest value. Nothing is judged.
"""

import sys
import time
from dataclasses import fields
from unittest import mock

from suite.catalog.frameworks import load_frameworks
from suite.catalog.workloads import TimedSteps, TimedTolerances, load_workload
from suite.launch.environments import find
from suite.verify import timed_steps
from suite.verify.probing import probed
from suite.verify.state_changes import UPDATE

WEIGHT_DECAY = 0.01
"""Of the timed steps of every workload: one that is left out shows."""

UNJUDGED = TimedTolerances(*(float("inf") for _ in fields(TimedTolerances)))


def main() -> None:
    """One referee for each batch size and seed, and every framework against it."""
    workload, (rate, _, first) = load_workload(sys.argv[1]), sys.argv[2].partition(":")
    sizes, seeds = ([int(word) for word in words.split(",")] for words in (sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else "20"))
    implementations = [probed(framework, find(framework)) for framework in load_frameworks() if framework.serves_closed]
    _row("batch size", "seed", "framework", *UNJUDGED.by_quantity(), "largest update error in", "s")
    for size in sizes:
        for seed in seeds:
            settings = TimedSteps(size, float(rate), WEIGHT_DECAY, UNJUDGED, float(first or rate))
            with (
                mock.patch.object(timed_steps, "SEED", seed),
                timed_steps.timed_reference(workload, settings, size, timed_steps.Processor(), lambda line: None) as reference,
            ):
                for implementation in implementations:
                    started_s = time.monotonic()
                    found = timed_steps.timed_differences(implementation, reference)
                    errors = ("—" if one.error is None else f"{one.error:.1e}" for one in found)
                    worst = next(one.worst for one in found if one.quantity == UPDATE)
                    _row(size, seed, implementation.name, *errors, worst, f"{time.monotonic() - started_s:.0f}")


def _row(*cells: object) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
