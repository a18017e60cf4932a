"""How long `suite check` takes: a submission of 15 bundles, and trees of up to 1,000 bundles, with the memory that it needs.

usage: python benchmarks/check_speed.py [--submission DIR] [--bundles 1000] [--repeats 5]

Bundles are made up as the tests make them (LeNet-5 on MNIST, three epochs of 469 steps, five meters), or, with --submission, are those of a
submission that exists, copied. Every measurement is a process of its own, `suite check --json`, with its wall time, CPU time and peak memory;
printed is, of the
submission, the fastest of the repeats, and of the trees the fit of CPU time to the number of bundles.
Asked of it: 15 bundles under 2 s; time linear in the number of bundles, memory flat.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from suite.files.paths import repository_root

sys.path.insert(0, str(repository_root()))  # the makers of bundles are the tests'

from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package
from tests.builders import RICH, make_bundle

SUITE = Path(sys.executable).with_name("suite")
ENTRIES, RUNS = 5, 3
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Cost:
    """One process: wall and CPU time (s), peak resident memory (MiB), exit code."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    code: int


def main() -> None:
    """Measure and print."""
    arguments = parse()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        submission = arguments.submission or make_submission(folder)
        cost = fastest(submission, arguments.repeats)
        count = len(list(submission.glob("*/*/run_*")))
        print(f"a submission of {count} bundles: {cost.wall_s:.2f} s ({cost.cpu_s:.2f} s of CPU), {cost.peak_mib:.0f} MiB, exit code {cost.code}")
        show_trees(folder / "tree", submission, arguments.bundles)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submission", type=Path)
    parser.add_argument("--bundles", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def make_submission(folder: Path) -> Path:
    """Five entries of three runs each, by batch size."""
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
        for size in (48, 64, 96, 128, 160)[:ENTRIES]
        for seed in range(1, RUNS + 1)
    ]
    return package(runs, PackageRequest("acme", "v0.1", SystemAvailability.RESEARCH, "", ()), folder / "submissions")


def show_trees(tree: Path, submission: Path, most: int) -> None:
    """Print the time for each size of a growing tree of loose bundles, and the deviation from linear growth."""
    sources = sorted(submission.glob("*/*/run_*"))
    counts, times_s = [], []
    for count in (max(1, round(share * most)) for share in SHARES):
        for number in range(len(counts) and counts[-1], count):
            shutil.copytree(sources[number % len(sources)], tree / f"bundle{number:05d}")
        cost = measure(tree)
        counts.append(count)
        times_s.append(cost.cpu_s)
        print(f"{count:5} bundles: {cost.wall_s:.2f} s ({cost.cpu_s:.2f} s of CPU), {cost.peak_mib:.0f} MiB, exit code {cost.code}", flush=True)
    slope, start = np.polyfit(counts, times_s, 1)
    off = max(abs(time_s - start - slope * count) / time_s for count, time_s in zip(counts, times_s, strict=True))
    print(f"CPU time = {start:.2f} s + {1000 * slope:.1f} ms a bundle, no measurement further than {100 * off:.0f} % from that")


def fastest(path: Path, repeats: int) -> Cost:
    """The fastest of several processes."""
    return min((measure(path) for _ in range(repeats)), key=lambda cost: cost.cpu_s)


def measure(path: Path) -> Cost:
    """Run `suite check` once; times and memory are the kernel's."""
    before_s = time.perf_counter()
    process = subprocess.Popen([SUITE, "check", "--json", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(time.perf_counter() - before_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode)


if __name__ == "__main__":
    main()
