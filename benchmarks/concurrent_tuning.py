"""What `suite concurrent tune` gives away: the training rate of its choice against that of an
exhaustive search's best, measured again in turns.

LeNet-5 trains beside its own inference. The exhaustive search measures every candidate once for as
long as the tuning's final trials, and takes the highest training rate among those that keep the
limit.
"""

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from benchmarks.runner.benchmark import Benchmark, Ratio, alternating, ratio_of
from benchmarks.runner.command_line import run_alone
from benchmarks.runner.needs import framework_environment
from benchmarks.runner.training import generated_data, request_of
from reference_impls.contract import request_from_dict
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.extensions.concurrent.measuring.experiment import Plan, Side
from suite.extensions.concurrent.measuring.schedules import ScheduleKind
from suite.extensions.concurrent.measuring.trials import (
    Choices,
    candidates,
    measure_trial,
    tune_here,
)
from suite.extensions.concurrent.measuring.tuning import Aim, Candidate, Trial
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.launch.environments import find_environment

CHOICES = Choices(threads=(1,))


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    framework: Annotated[str, "framework of both sides"] = "pytorch"
    samples: Annotated[int, "generated training samples"] = 6000
    rate: Annotated[float, "images/s"] = 200.0
    limit_ms: Annotated[float, "limit of the 99th percentile of latency"] = 150.0
    duration_s: Annotated[float, "length of a final trial"] = 6.0
    largest_batch: Annotated[int, "batch sizes are 1, 4, 16, … up to this"] = 16
    pairs: Annotated[int, "turns of the choice and of the best"] = 6


def measure(settings: Settings) -> Iterator[Ratio]:
    """One ratio: below 1, the tuning gave that much away."""
    aim = Aim(settings.limit_ms / 1e3)
    with tempfile.TemporaryDirectory() as name:
        plan = _plan(settings, Path(name))
        chosen = tune_here(plan, CHOICES, aim, _silent).best
        best = _exhaustive(plan, aim, settings.duration_s)
        turns = [
            _turn(plan, alternating(pair, chosen, best), aim, settings.duration_s, f"pair-{pair}")
            for pair in range(settings.pairs)
        ]
    pairs = [(aim.worth(turn[chosen]), aim.worth(turn[best])) for turn in turns]
    if not all(value for pair in pairs for value in pair):
        raise SuiteError(
            "A turn had too few training steps to know their rate; use a longer --duration-s."
        )
    yield ratio_of(
        f"{chosen}, {_kept([turn[chosen] for turn in turns], settings)}; the best: {best}",
        "tuned",
        "exhaustive search's best",
        pairs,
        "samples/s",
    )


def _exhaustive(plan: Plan, aim: Aim, duration_s: float) -> Candidate:
    found = [
        measure_trial(plan, each, duration_s, aim, plan.output / f"exhaustive-{number}")
        for number, each in enumerate(candidates(plan, CHOICES))
    ]
    met = [trial for trial in found if aim.is_met(trial) and aim.worth(trial)]
    if not met:
        raise SuiteError(
            "No setting kept the limit in the exhaustive search; use a higher --limit-ms or a"
            " longer --duration-s."
        )
    return max(met, key=aim.worth).candidate


def _kept(trials: Sequence[Trial], settings: Settings) -> str:
    shares = [trial.windows_within for trial in trials if trial.windows_within is not None]
    if not shares:
        return "no whole window of 1,000 images"
    return (
        f"{statistics.fmean(shares):.0%} of its windows of 1,000 images within"
        f" {settings.limit_ms:g} ms"
    )


def _turn(
    plan: Plan, each: Sequence[Candidate], aim: Aim, duration_s: float, name: str
) -> dict[Candidate, Trial]:
    return {
        one: measure_trial(plan, one, duration_s, aim, plan.output / f"{name}-{place}")
        for place, one in enumerate(each)
    }


def _plan(settings: Settings, folder: Path) -> Plan:
    data = generated_data("mnist", settings.samples, folder / "home")
    framework = load_framework(settings.framework)
    values = request_of({"framework": settings.framework, "data": data, "output": folder / "run"})
    side = Side(
        request_from_dict(values),
        f"{framework.module}.implementation",
        find_environment(framework).interpreter,
    )
    batches = tuple(4**power for power in range(10) if 4**power <= settings.largest_batch)
    arrivals = Arrivals(ArrivalKind.UNIFORM, settings.rate, settings.duration_s)
    return Plan(
        side,
        side,
        arrivals,
        batches,
        None,
        ScheduleKind.CONCURRENT,
        100_000_000,
        0.5,
        folder / "trials",
    )


def _silent(line: str) -> None:
    """The benchmark prints its ratio alone."""


BENCHMARK = Benchmark(
    "How much training does the tuning of training beside inference give away against an exhaustive"
    " search?",
    measure,
    Settings(),
    Settings(
        framework="fake", samples=500, duration_s=0.6, limit_ms=5000.0, largest_batch=1, pairs=1
    ),
    full_s=420,
    quick_s=40,
    needs=(framework_environment("pytorch"),),
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
