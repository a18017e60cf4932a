"""What isolation costs: the same run bare and isolated, in turns: time of an epoch, CPU time,
energy, memory, start-up.

Start-up is from the harness's release to the implementation's first event. Memory is the largest
process's peak resident set, which has the same definition with and without a parent in between. A
null test compares short bare runs with bare runs by the same intervals, without the harness: 95 %
of the intervals should hold 1.
"""

import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from benchmarks.harness_cost import epoch_time_s
from benchmarks.runner.benchmark import (
    MIN_PAIRS_FOR_INTERVAL,
    Benchmark,
    Ratio,
    Skipped,
    alternating,
    ratio_of,
)
from benchmarks.runner.child import output_of, usage_of
from benchmarks.runner.command_line import run_alone
from benchmarks.runner.needs import framework_environment
from benchmarks.runner.training import (
    generated_data,
    implementation_command,
    request_of,
    run_command,
)
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.launch.child_environment import child_environment
from suite.launch.isolation import Isolation, refuse_isolation
from suite.metrics.summary import read_summary

BARE = Isolation.NONE.value
FIGURES = {
    "time_to_epoch_s": ("epoch", "s"),
    "cpu_time_per_epoch_s": ("CPU time of an epoch", "s"),
    "energy_j": ("energy", "J"),
    "peak_process_rss_bytes": ("memory", "B"),
}
START_UP = "start-up"
NS_PER_S = 1e9


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    framework: Annotated[str, "framework of the implementation"] = "pytorch"
    isolation: Annotated[str, "what is compared with none; several with commas"] = "namespace"
    data: Annotated[str | None, "a data set's name or folder (default: generated)"] = None
    samples: Annotated[int, "generated training samples"] = 6000
    epochs: Annotated[int, "epochs of a run"] = 4
    pairs: Annotated[int, "runs of each kind"] = 6
    null_tests: Annotated[int, "comparisons of bare with bare runs"] = 0


def measure(settings: Settings) -> Iterator[Ratio | Skipped]:
    """A ratio for each figure, of each comparison."""
    isolations = yield from _possible(settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = settings.data or str(generated_data("mnist", settings.samples, folder / "home"))
        if isolations:
            yield from _compare(settings, data, folder / "isolated", isolations)
        for number in range(settings.null_tests):
            yield from _null_test(settings, data, folder / f"null-{number}", number + 1)


def _possible(settings: Settings) -> Generator[Skipped, None, list[str]]:
    """The kinds that this machine and user can start; the others are skipped."""
    kinds = [kind.value for kind in Isolation if kind is not Isolation.NONE]
    asked = settings.isolation.split(",")
    unknown = next((kind for kind in asked if kind not in kinds), None)
    if unknown is not None:
        raise SuiteError(
            f"--isolation {unknown!r} is not compared with none; choose {', '.join(kinds[:-1])} or"
            f" {kinds[-1]}, several with commas."
        )
    if settings.pairs < 1:
        raise SuiteError(
            f"--pairs {settings.pairs} measures nothing; {MIN_PAIRS_FOR_INTERVAL} or more give a 95"
            " % interval."
        )
    possible = []
    for kind in asked:
        try:
            refuse_isolation(Isolation(kind))
            possible.append(kind)
        except SuiteError as error:
            yield Skipped(kind, str(error))
    return possible


def _compare(
    settings: Settings, data: str, folder: Path, isolations: Sequence[str]
) -> Iterator[Ratio | Skipped]:
    """Each kind over bare runs of the same rounds; a round starts with another kind than the one
    before."""
    kinds, rounds = [BARE, *isolations], []
    for number in range(settings.pairs):
        first = number % len(kinds)
        rounds.append(
            {
                kind: _run(settings, data, folder / f"{number}-{kind}", kind)
                for kind in kinds[first:] + kinds[:first]
            }
        )
    for isolation in isolations:
        for figure in (*FIGURES, START_UP):
            both = [(found[isolation][figure], found[BARE][figure]) for found in rounds]
            known = [
                (one.value, other.value)
                for one, other in both
                if one.value is not None and other.value is not None
            ]
            title, unit = FIGURES.get(figure, (START_UP, "s"))
            subject = f"{title}, {settings.framework}"
            reason = both[0][0].reason or both[0][1].reason or "unknown"
            yield (
                ratio_of(subject, isolation, BARE, known, unit)
                if known
                else Skipped(f"{subject}, {isolation}", reason)
            )


def _null_test(settings: Settings, data: str, folder: Path, number: int) -> Iterator[Ratio]:
    """Bare runs over bare runs: time of an epoch, and CPU and wall time of the whole process."""
    pairs = []
    for pair in range(settings.pairs):
        found = {
            side: _alone(settings, data, folder / f"{pair}-{side}")
            for side in alternating(pair, 0, 1)
        }
        pairs.append((found[0], found[1]))
    for title in pairs[0][0]:
        yield ratio_of(
            f"{title}, {settings.framework}",
            f"null test {number}",
            BARE,
            [(one[title], other[title]) for one, other in pairs],
        )


def _alone(settings: Settings, data: str, folder: Path) -> Mapping[str, float]:
    """The times of one short run of the implementation alone."""
    folder.parent.mkdir(exist_ok=True)
    used = usage_of(
        implementation_command(settings.framework, _request(settings, data, folder), folder),
        child_environment(1),
    )
    return {
        "epoch": epoch_time_s(folder),
        "CPU time of a run": used.cpu_s,
        "time of a run": used.wall_s,
    }


def _request(settings: Settings, data: str, folder: Path) -> Mapping[str, Any]:
    """The request of a null test's runs, which differ in their folder alone."""
    values = _resolved(settings.framework, data, settings.epochs)
    return {**values, "output_directory": str(folder)}


@cache
def _resolved(framework: str, data: str, epochs: int) -> Mapping[str, Any]:
    return request_of(
        {
            "framework": framework,
            "data": data,
            "epochs": epochs,
            "output": Path(data) / "never-written",
        }
    )


class Measured(NamedTuple):
    """A figure of a run; ``reason`` says why it has no value: a short run may have no memory
    reading, a machine no power sensor."""

    value: float | None
    reason: str | None = None


def _run(settings: Settings, data: str, folder: Path, isolation: str) -> Mapping[str, Measured]:
    """The figures of one run."""
    options = {
        "framework": settings.framework,
        "data": data,
        "epochs": settings.epochs,
        "output": folder,
        "isolation": isolation,
    }
    output_of(run_command(options))
    bundle = Bundle(folder)
    figures: dict[str, dict[str, Any]] = read_summary(bundle)["figures"]
    values = {name: Measured(figures[name]["value"], figures[name]["reason"]) for name in FIGURES}
    released_ns = (bundle.run().isolation or {})["released_ns"]
    first_ns = next(event.mono_ns for event in bundle.log().events if event.key == "init_start")
    return {**values, START_UP: Measured((first_ns - released_ns) / NS_PER_S)}


BENCHMARK = Benchmark(
    "What does isolation cost a training run?",
    measure,
    Settings(),
    Settings(framework="fake", samples=1000, epochs=2, pairs=1),
    full_s=200,
    quick_s=15,
    needs=(framework_environment("pytorch"),),
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
