"""What the harness adds to an epoch: the same implementation with and without it, in turns.

Without: the implementation alone, its output discarded. With: `suite run` with every meter. Both
get the same request, with a learning rate that cannot reach the target, so that every run has the
same number of epochs. The value of a run is the mean time of epochs 2 to last from its step
records.
"""

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from benchmarks.runner.benchmark import Benchmark, Ratio, alternating, ratio_of
from benchmarks.runner.child import output_of
from benchmarks.runner.command_line import run_alone
from benchmarks.runner.needs import framework_environment
from benchmarks.runner.training import (
    generated_data,
    implementation_command,
    request_of,
    run_command,
)
from suite.bundle.reader import Bundle
from suite.launch.child_environment import child_environment
from suite.metrics.summary import derive_epochs


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    framework: Annotated[str, "framework of the implementation"] = "pytorch"
    data: Annotated[str | None, "a data set's name or folder (default: generated)"] = None
    samples: Annotated[int, "generated training samples"] = 6000
    epochs: Annotated[int, "epochs of a run"] = 7
    pairs: Annotated[int, "runs of each kind"] = 9


def measure(settings: Settings) -> Iterator[Ratio]:
    """One ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = settings.data or str(generated_data("mnist", settings.samples, folder / "home"))
        pairs = []
        for pair in range(settings.pairs):
            epoch_s = {
                kind: kind(settings, data, folder / f"{pair}-{kind.__name__}")
                for kind in alternating(pair, with_harness, without_harness)
            }
            pairs.append((epoch_s[with_harness], epoch_s[without_harness]))
    yield ratio_of(f"epoch of LeNet-5, {settings.framework}", "with the harness", "without", pairs)


def without_harness(settings: Settings, data: str, folder: Path) -> float:
    """Seconds per epoch of the implementation alone."""
    request = request_of(options(settings, data, folder))
    output_of(implementation_command(settings.framework, request, folder), child_environment(1))
    return epoch_time_s(folder)


def with_harness(settings: Settings, data: str, folder: Path) -> float:
    """Seconds per epoch of the same under `suite run`."""
    output_of(run_command(options(settings, data, folder)))
    return epoch_time_s(folder)


def options(settings: Settings, data: str, folder: Path) -> dict[str, object]:
    """What both ways have in common."""
    return {
        "framework": settings.framework,
        "data": data,
        "epochs": settings.epochs,
        "output": folder,
    }


def epoch_time_s(folder: Path) -> float:
    """Mean end-to-end time of epochs 2 to last."""
    bundle = Bundle(folder)
    return statistics.mean(
        epoch.end_to_end_s
        for epoch in derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), ())
        if epoch.epoch > 1
    )


BENCHMARK = Benchmark(
    "How much longer does an epoch take under the harness, with every meter, than without it?",
    measure,
    Settings(),
    Settings(samples=1000, epochs=2, pairs=1),
    full_s=190,
    quick_s=20,
    needs=(framework_environment("pytorch"),),
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
