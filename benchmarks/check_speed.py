"""`suite check`: the time for a submission, and how time and memory grow with the number of
bundles.

Bundles are made up as the tests make them (LeNet-5 on MNIST, three epochs of 469 steps, five
meters), or are copies of an existing submission's. Every measurement is a process. The submission
is compared with a process that only reads and hashes the same files, which every checker must do;
one bundle with a process that only imports the packages that the check needs.
Growth is the CPU time per bundle, and the peak memory, of a large tree compared with a small one: 1
is linear time and constant memory. Aim: 15 bundles in under 2 s, 50 in 4 s, and
one in twice the time of the imports.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from benchmarks.runner.benchmark import Benchmark, Ratio, alternating, ratio_of
from benchmarks.runner.child import Usage, usage_of
from benchmarks.runner.command_line import run_alone
from benchmarks.runner.training import SUITE
from suite.catalog.rounds import current_round
from suite.errors import SuiteError
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from tests.builders import RICH, make_bundle

BATCH_SIZES = (48, 64, 96, 128, 160)
SEEDS = (1, 2, 3)
HASH = (
    "import hashlib, pathlib, sys; [hashlib.sha256(p.read_bytes()).hexdigest() for p in"
    " pathlib.Path(sys.argv[1]).rglob('*') if p.is_file()]"
)
FLOOR = (
    "from pathlib import Path\nimport typer\ndef check(paths: list[Path]) -> None:\n    import"
    " pyarrow.parquet, rich.console\ntyper.run(check)"
)
"""A command that imports what the check must, and does nothing."""
JUDGED = (0, 1)
"""Exit codes of a check that came to an end: no findings, findings."""


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    submission: Annotated[Path | None, "a submission to check (default: 15 made-up bundles)"] = None
    small: Annotated[int, "bundles of the small tree"] = 100
    large: Annotated[int, "bundles of the large tree"] = 400
    pairs: Annotated[int, "checks of each kind"] = 7


def measure(settings: Settings) -> Iterator[Ratio]:
    """The submission; then the trees."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        submission = settings.submission or make_submission(folder)
        bundles = sorted(submission.glob("*/*/run_*"))
        pairs = [measure_submission(submission, pair) for pair in range(settings.pairs)]
        subject = f"a submission of {len(bundles)} bundles"
        hashing = "reading and hashing its files"
        yield ratio_of(
            f"{subject}, wall time",
            "suite check",
            hashing,
            [(checked.wall_s, hashed.wall_s) for checked, hashed in pairs],
        )
        yield ratio_of(
            f"{subject}, CPU time",
            "suite check",
            hashing,
            [(checked.cpu_s, hashed.cpu_s) for checked, hashed in pairs],
        )
        yield ratio_of(
            "one bundle, CPU time",
            "suite check",
            "a command that imports typer, rich and pyarrow",
            [measure_one(bundles[0], pair) for pair in range(settings.pairs)],
        )
        yield from measure_growth(settings, bundles, folder)


def measure_one(bundle: Path, pair: int) -> tuple[float, float]:
    """CPU seconds of the check of one bundle, and of the floor."""
    ways = {
        "check": lambda: check(bundle),
        "floor": lambda: usage_of([sys.executable, "-c", FLOOR, bundle]),
    }
    used = {name: ways[name]().cpu_s for name in alternating(pair, *ways)}
    return used["check"], used["floor"]


def measure_submission(submission: Path, pair: int) -> tuple[Usage, Usage]:
    """Check it, and hash it."""
    ways = {
        "check": lambda: check(submission),
        "hash": lambda: usage_of([sys.executable, "-c", HASH, submission]),
    }
    used = {name: ways[name]() for name in alternating(pair, *ways)}
    return used["check"], used["hash"]


def measure_growth(settings: Settings, bundles: list[Path], folder: Path) -> Iterator[Ratio]:
    """CPU time per bundle and peak memory of a large tree against a small one."""
    trees = {
        count: make_tree(folder / f"tree{count}", bundles, count)
        for count in (settings.large, settings.small)
    }
    pairs = []
    for pair in range(settings.pairs):
        used = {count: check(trees[count]) for count in alternating(pair, *trees)}
        pairs.append((used[settings.large], used[settings.small]))
    sides = (f"tree of {settings.large} bundles", f"of {settings.small}")
    per_bundle = [
        (large.cpu_s / settings.large, small.cpu_s / settings.small) for large, small in pairs
    ]
    yield ratio_of("suite check, CPU time per bundle", *sides, per_bundle)
    yield ratio_of(
        "suite check, peak memory",
        *sides,
        [(large.peak_mib, small.peak_mib) for large, small in pairs],
        "MiB",
    )


def make_submission(folder: Path) -> Path:
    """Five entries of three runs, by batch size."""
    runs = [
        make_bundle(
            folder / f"run{size}-{seed}",
            replace(
                RICH,
                name=f"lenet-pytorch-20270115T080000Z-{size:03d}{seed:03d}",
                division="open",
                seed=seed,
                batch_size=size,
                step_s=0.02 + seed * 1e-5 + size * 1e-6,
                jitter=0.01,
            ),
        )
        for size in BATCH_SIZES
        for seed in SEEDS
    ]
    return package_runs(
        runs,
        PackageRequest("acme", current_round().name, SystemAvailability.RESEARCH, "", ()),
        folder / "submissions",
    )


def make_tree(tree: Path, bundles: list[Path], count: int) -> Path:
    """A folder of loose bundles, copied in turn."""
    for number in range(count):
        shutil.copytree(bundles[number % len(bundles)], tree / f"bundle{number:05d}")
    return tree


def check(path: Path) -> Usage:
    """One `suite check`; raises SuiteError when it does not come to a verdict."""
    used = usage_of([SUITE, "check", "--json", path])
    if used.exit_code not in JUDGED:
        raise SuiteError(f"`suite check {path}` ended with {used.exit_code}; run it to see why")
    return used


BENCHMARK = Benchmark(
    "How long does `suite check` take for a submission, and do time and memory grow with the number"
    " of bundles as they should?",
    measure,
    Settings(),
    Settings(small=20, large=60, pairs=2),
    full_s=120,
    quick_s=15,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
