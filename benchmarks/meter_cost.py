"""Measures the meters' overhead per epoch, and the cost of each: one training, with and without all meters alternating.

usage: python benchmarks/meter_cost.py [--framework pytorch] [--data mnist] [--batch-size 64] [--pairs 80] [--block-s 2.5]

One implementation trains on and on, alone and without evaluating. Beside it, in blocks of some seconds, a recorder reads every meter at
its default period, as `suite run` does, or does not; nothing else of the harness runs. Two neighbouring blocks, one of each, make a pair
that sees the same machine; which comes first alternates. Of each pair, per step of the training: the ratio of the times, and the ratio of
the CPU times, which other programs on the machine disturb less. A step's CPU time holds what the meters take from it through caches and
memory; what they take by needing its core is their own CPU time, at most. Printed are the medians of the ratios with the 95 % interval that
their order gives them; the CPU time of all meters together as a share of one core; then a table of each meter's own cost in Markdown,
from the recorders' own records. A block holds the opening of the meters too, which a run pays once.
Asked of them: under 1 % of an epoch, under 3 % of a core.
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

import numpy as np
from harness_cost import SUITE

from reference_impls import contract
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.execution.recorder import MeterRecord, Recorder
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find
from suite.launch.process import terminate
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters

WARM_UP_EPOCHS = 3
ENDLESS_EPOCHS = 1_000_000
POLL_S = 0.2


@dataclass(frozen=True)
class Block:
    """A block of seconds with meters (with their records) or without; ``cpu_ns`` is the CPU time of the implementation's threads."""

    start_ns: int
    stop_ns: int
    cpu_ns: int
    records: tuple[MeterRecord, ...]


def main() -> None:
    """Measure and print."""
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with start(arguments, run) as process:
            wait_for_epochs(process, run, WARM_UP_EPOCHS)
            pairs = [pair(process, run, arguments.block_s, number) for number in range(arguments.pairs)]
            wait_for_epochs(process, run, 1)  # the last block's steps are written at an epoch's end
            terminate(process)
        starts_ns = np.sort(Bundle(run).steps_frame()["start_ns"].to_numpy())
    print(f"{len(starts_ns)} steps, {len(pairs)} pairs of blocks of {arguments.block_s:g} s")
    for name, per_step in (("time", seconds), ("CPU time", lambda each: each.cpu_ns * 1e-9)):
        ratios = [per_step(metered) / steps(starts_ns, metered) / per_step(alone) * steps(starts_ns, alone) for alone, metered in pairs]
        low, high = median_interval(ratios)
        print(f"{name} of a step, with meters / without: median {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f}")
    report([metered for _, metered in pairs])


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="pytorch")
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=80)
    parser.add_argument("--block-s", type=float, default=2.5)
    return parser.parse_args()


def start(arguments: argparse.Namespace, folder: Path) -> "subprocess.Popen[bytes]":
    """An implementation that trains LeNet-5 on one thread until it is terminated."""
    framework = load_framework(arguments.framework)
    chosen = {**vars(arguments), "output": folder, "threads": 1, "learning_rate": 0.0001, "epochs": ENDLESS_EPOCHS}
    names = ("framework", "data", "batch_size", "output", "threads", "learning_rate", "epochs")
    words = [word for name in names for word in (f"--{name.replace('_', '-')}", str(chosen[name]))]
    options = ["run", "--division", "open", "--workload", "lenet", *words]
    shown = subprocess.run([SUITE, *options, "--dry-run"], capture_output=True, text=True, check=True, cwd=repository_root())
    folder.mkdir()
    request = {**json.loads(shown.stdout)[0]["request"], "target_accuracy": None, "eval_every_epochs": ENDLESS_EPOCHS}
    (folder / contract.REQUEST_NAME).write_text(json.dumps(request))
    command = [str(find(framework).interpreter), "-m", framework.module, "--request", str(folder / contract.REQUEST_NAME)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=repository_root(), env=child_environment(1), stdout=quiet, stderr=quiet, start_new_session=True)


def wait_for_epochs(process: "subprocess.Popen[bytes]", folder: Path, epochs: int) -> None:
    """Wait for N more epochs."""
    log = folder / contract.log_name(0)
    wanted = _epochs(log) + epochs
    while _epochs(log) < wanted:
        if process.poll() is not None:
            raise SystemExit(f"the implementation ended with {process.returncode}; run `{' '.join(map(str, process.args))}` to see why")
        time.sleep(POLL_S)


def _epochs(log: Path) -> int:
    return log.read_text().count('"epoch_stop"') if log.exists() else 0


def pair(process: "subprocess.Popen[bytes]", folder: Path, block_s: float, number: int) -> tuple[Block, Block]:
    """A block without meters and one with them; the order alternates."""
    order = (False, True) if number % 2 == 0 else (True, False)
    blocks = {metered: block(process, folder, block_s, metered) for metered in order}
    return blocks[False], blocks[True]


def block(process: "subprocess.Popen[bytes]", folder: Path, block_s: float, metered: bool) -> Block:
    """Some seconds of training."""
    data = json.loads((folder / contract.REQUEST_NAME).read_text())["data"]["directory"]
    recorder = Recorder(open_meters() if metered else (), folder)
    start_ns, used_ns = time.monotonic_ns(), cpu_ns(process.pid)
    if metered:
        recorder.start(MeteredProcess(process.pid, Path(data)))
    time.sleep(block_s)
    stop_ns, used_ns = time.monotonic_ns(), cpu_ns(process.pid) - used_ns
    return Block(start_ns, stop_ns, used_ns, recorder.stop())


def cpu_ns(pid: int) -> int:
    """CPU time of the process's threads, ns (proc(5), schedstat)."""
    return sum(int(path.read_text().split()[0]) for path in Path("/proc", str(pid), "task").glob("*/schedstat"))


def steps(starts_ns: "np.ndarray", each: Block) -> float:
    """Number of steps in a block, with fractions at its ends."""
    first, last = np.interp([each.start_ns, each.stop_ns], starts_ns, np.arange(len(starts_ns)))
    return float(last - first)


def report(metered: Sequence[Block]) -> None:
    """Print the meters' CPU time."""
    shares = [each.records[-1].cost_s / seconds(each) for each in metered]  # the recorder's own record: its whole thread
    print(f"all meters: {statistics.median(shares):.3%} of one core, range {min(shares):.3%} to {max(shares):.3%}\n")
    print("\n".join(table(metered)))


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % confidence interval of the median, distribution-free (binomial)."""
    ordered, count = sorted(values), len(values)
    tail, outside = 0.0, 0
    while tail + math.comb(count, outside) / 2**count <= 0.025:
        tail += math.comb(count, outside) / 2**count
        outside += 1
    return ordered[max(outside - 1, 0)], ordered[min(count - outside, count - 1)]


def seconds(each: Block) -> float:
    """Duration of a block."""
    return (each.stop_ns - each.start_ns) * 1e-9


def table(metered: Sequence[Block]) -> list[str]:
    """Cost of each meter over all blocks, and of all together: the recorder's record has the whole time of its thread."""
    total_s = sum(map(seconds, metered))
    lines = ["| meter | period | median period reached | readings/s | CPU time per second | of one core |", "|---|---|---|---|---|---|"]
    for records in zip(*(each.records for each in metered), strict=True):
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
