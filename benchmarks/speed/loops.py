"""What the benchmarks of this folder have in common: cases, each timed by a worker in the
framework's environment."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from benchmarks.runner.benchmark import Benchmark, Ratio, ratio_of
from benchmarks.runner.child import output_of
from benchmarks.runner.needs import framework_environment
from benchmarks.runner.training import generated_data
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.launch.child_environment import child_environment
from suite.launch.environments import find_environment

ALL = "all"


@dataclass(frozen=True)
class Case:
    """A loop of the framework (``theirs``) compared with ours. ``name`` is the worker's; ``steps``
    are mini-batches per turn.

    ``data`` names the layout of the data set that the case reads; None: arrays in memory.
    """

    name: str
    subject: str
    theirs: str
    batch_size: int
    steps: int
    pairs: int = 9
    threads: int = 1
    ours: str = "ours"
    data: str | None = None
    samples: int = 10_000


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    case: Annotated[str, "one case, or all"] = ALL
    batch_size: Annotated[int | None, "samples of a mini-batch (default: the case's)"] = None
    steps: Annotated[int | None, "mini-batches of a turn (default: the case's)"] = None
    pairs: Annotated[int | None, "turns of each side (default: the case's)"] = None
    threads: Annotated[int | None, "threads of the framework (default: the case's)"] = None
    data: Annotated[Path | None, "the folder of the case's data set (default: generated)"] = None
    share_of: Annotated[
        float | None, "compare with NumPy's SGEMM instead: million multiply-adds of a forward pass"
    ] = None


def loop_benchmark(
    framework: str, question: str, cases: tuple[Case, ...], full_s: float, quick_s: float
) -> Benchmark:
    """The benchmark of a framework."""
    quick = Settings(batch_size=4, steps=1, pairs=2)
    needs = (framework_environment(framework),)
    return Benchmark(
        question, partial(measure, framework, cases), Settings(), quick, full_s, quick_s, needs
    )


def measure(framework: str, cases: tuple[Case, ...], settings: Settings) -> Iterator[Ratio]:
    """Theirs / ours for each case: more than 1 means that ours is faster."""
    known = {case.name for case in cases}
    if settings.case not in {ALL, *known}:
        raise SuiteError(
            f"There is no case {settings.case!r} for {framework}; the cases are"
            f" {', '.join(sorted(known))}."
        )
    for case in cases:
        if settings.case in (ALL, case.name):
            with tempfile.TemporaryDirectory() as home:
                yield measure_case(framework, case, settings, Path(home))


def measure_case(framework: str, case: Case, settings: Settings, home: Path) -> Ratio:
    """Run the worker."""
    chosen = {
        name: getattr(settings, name) or getattr(case, name)
        for name in ("batch_size", "steps", "pairs", "threads")
    }
    options = [
        word
        for name, value in chosen.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    if case.data is not None:
        options += ["--data", str(settings.data or generated_data(case.data, case.samples, home))]
    if settings.share_of is not None:
        options += ["--share-of", str(settings.share_of)]
    interpreter = find_environment(load_framework(framework)).interpreter
    command = [interpreter, "-m", f"benchmarks.workers.{framework}_loop", case.name, *options]
    pairs = json.loads(output_of(command, child_environment(chosen["threads"])).splitlines()[-1])[
        "pairs"
    ]
    threads = "one thread" if chosen["threads"] == 1 else f"{chosen['threads']} threads"
    subject = f"{case.subject}, mini-batches of {chosen['batch_size']}, {threads}"
    if settings.share_of is not None:
        return ratio_of(subject, "rate of training, ours", "NumPy's SGEMM", pairs, "GFLOPS")
    return ratio_of(subject, case.theirs, case.ours, pairs)
