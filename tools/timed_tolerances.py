"""Measures how far the steps of the program that is timed are from a referee in float64: what the
tolerances in rules/workloads stand on.

``python -m tools.timed_tolerances WORKLOAD BATCH,… SEED,… [KEY=VALUE …]``, for instance ``resnet18
16,32 20,21 base_learning_rate=0.01``: the settings are those of the workload's timed steps but for
keys that are given. Prints a row for each framework, batch size and seed: the error of every
quantity, relative to its largest value. Nothing is judged.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from unittest import mock

from suite.catalog.frameworks import load_frameworks
from suite.catalog.workloads import TimedSteps, TimedTolerances, Workload, load_workload
from suite.launch.environments import find_environment
from suite.verify import timed_steps
from suite.verify.probing import build_probe
from suite.verify.state_changes import UPDATE

UNJUDGED = TimedTolerances(*(float("inf") for _ in fields(TimedTolerances)))


def main() -> None:
    """One referee for each batch size and seed, and every framework against it."""
    workload = load_workload(sys.argv[1])
    sizes, seeds = ([int(word) for word in words.split(",")] for words in sys.argv[2:4])
    settings = _settings(workload, sys.argv[4:])
    implementations = [
        build_probe(framework, find_environment(framework))
        for framework in load_frameworks()
        if framework.serves_closed
    ]
    _row("batch size", "seed", "framework", *UNJUDGED.by_quantity(), "largest update error in", "s")
    for size in sizes:
        for seed in seeds:
            with (
                mock.patch.object(timed_steps, "SEED", seed),
                timed_steps.timed_reference(
                    workload,
                    replace(settings, batch_size=size),
                    timed_steps.VerifyOptions(),
                    lambda line: None,
                ) as reference,
            ):
                for implementation in implementations:
                    started_s = time.monotonic()
                    found = timed_steps.timed_differences(implementation, reference)
                    errors = ("—" if one.error is None else f"{one.error:.1e}" for one in found)
                    worst = next(one.worst for one in found if one.quantity == UPDATE)
                    _row(
                        size,
                        seed,
                        implementation.name,
                        *errors,
                        worst,
                        f"{time.monotonic() - started_s:.0f}",
                    )


def _settings(workload: Workload, words: Sequence[str]) -> TimedSteps:
    """The workload's, with the values of ``words`` and no tolerances."""
    assert workload.verification.timed is not None
    types = {
        each.name: type(getattr(TimedSteps(1, 1.0, 1.0, UNJUDGED, 1.0), each.name))
        for each in fields(TimedSteps)
    }
    given = {key: types[key](value) for key, _, value in (word.partition("=") for word in words)}
    return replace(workload.verification.timed, tolerances=UNJUDGED, **given)


def _row(*cells: object) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
