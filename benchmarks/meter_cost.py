"""What the meters add to an epoch, and what each of them costs: the same implementation with and without all of them, in turns.

usage: python benchmarks/meter_cost.py [--framework pytorch] [--data digits] [--epochs 20] [--pairs 5]

Without: the implementation alone. With: the same while a recorder reads every meter at its default period, as `suite run` does; nothing
else of the harness runs. The figure is the mean of epochs 2 to last of each run, from the step records. Printed are the ratio of each
pair, their median with the 95 % interval that their order gives it, and their range; the CPU time of all meters together as a share of one
core; then a table of each meter's own cost in Markdown, from the recorders' own records. Asked of them: under 1 % of an epoch, under 3 % of a core.
"""

import argparse
import json
import math
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness_cost import SUITE, epoch_time_s, options, parse

from reference_impls import contract
from suite.environments import find
from suite.frameworks import load_framework
from suite.launch import surroundings
from suite.measure.meter import Subject
from suite.measure.recorder import MeterRecord, Recorder
from suite.measure.registry import open_meters
from suite.paths import repository_root


@dataclass(frozen=True)
class Run:
    """One run: seconds per epoch, seconds in all, and the meters' records."""

    epoch_s: float
    run_s: float
    records: tuple[MeterRecord, ...]


def main() -> None:
    """Measure and print."""
    arguments = parse()
    ratios, metered = [], []
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(arguments.pairs):
            order = (False, True) if pair % 2 == 0 else (True, False)
            runs = {with_meters: run(arguments, Path(folder) / f"{pair}-{with_meters}", with_meters) for with_meters in order}
            metered.append(runs[True])
            ratios.append(runs[True].epoch_s / runs[False].epoch_s)
            print(f"pair {pair + 1}: without {runs[False].epoch_s:.4f} s, with {runs[True].epoch_s:.4f} s, ratio {ratios[-1]:.4f}", flush=True)
    low, high = median_interval(ratios)
    print(f"median ratio {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f}, range {min(ratios):.4f} to {max(ratios):.4f}")
    shares = [run.records[-1].cost_s / run.run_s for run in metered]  # the recorder's own record: the whole thread
    print(f"all meters: {statistics.median(shares):.3%} of one core (range {min(shares):.3%} to {max(shares):.3%}), {len(ratios)} pairs\n")
    print("\n".join(table(metered)))


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The values between which the true median lies with at least 95 %: by the binomial distribution, whatever theirs is."""
    ordered, count = sorted(values), len(values)
    tail, outside = 0.0, 0
    while tail + math.comb(count, outside) / 2**count <= 0.025:
        tail += math.comb(count, outside) / 2**count
        outside += 1
    return ordered[max(outside - 1, 0)], ordered[min(count - outside, count - 1)]


def run(arguments: argparse.Namespace, folder: Path, with_meters: bool) -> Run:
    """Run the implementation once, alone or with every meter on."""
    framework = load_framework(arguments.framework)
    shown = subprocess.run([SUITE, *options(arguments, folder), "--dry-run"], capture_output=True, text=True, check=True, cwd=repository_root())
    request = json.loads(shown.stdout)[0]["request"]
    folder.mkdir()
    (folder / contract.REQUEST_NAME).write_text(json.dumps(request))
    command = [str(find(framework).interpreter), "-m", framework.module, "--request", str(folder / contract.REQUEST_NAME)]
    recorder = Recorder(open_meters() if with_meters else (), folder)
    began_s = time.monotonic()
    with subprocess.Popen(command, cwd=repository_root(), env=surroundings(1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        if with_meters:
            recorder.start(Subject(process.pid, Path(request["data"]["directory"])))
        process.wait()
    run_s = time.monotonic() - began_s
    records = recorder.stop()
    if process.returncode != 0:
        raise SystemExit(f"the implementation ended with {process.returncode}; run `{' '.join(command)}` to see why")
    return Run(epoch_time_s(folder), run_s, records)


def table(runs: Sequence[Run]) -> list[str]:
    """Each meter's own cost over all runs, and the sum of all: the recorder's own record holds its thread's whole time."""
    total_s = sum(run.run_s for run in runs)
    lines = ["| meter | period | median period reached | readings/s | CPU time per second | of one core |", "|---|---|---|---|---|---|"]
    for records in zip(*(run.records for run in runs), strict=True):
        first, cost_s = records[0], sum(record.cost_s for record in records)
        reached = [record.achieved_period_s for record in records if record.achieved_period_s is not None]
        if first.available:
            period = f"{statistics.median(reached):.3f} s" if reached else "-"
            rate = sum(record.readings for record in records) / total_s
            lines.append(
                f"| {first.name} | {first.period_s:g} s | {period} | {rate:.1f} | {cost_s / total_s * 1e3:.3f} ms | {cost_s / total_s:.3%} |"
            )
    return lines


if __name__ == "__main__":
    main()
