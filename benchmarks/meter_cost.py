"""What the meters add to an epoch, and what each of them costs: one training, with and without all meters in turns.

usage: python benchmarks/meter_cost.py [--framework pytorch] [--data mnist] [--batch-size 256] [--pairs 20] [--block-s 13]

One implementation trains on and on, alone. Beside it, in blocks of some seconds, a recorder reads every meter at its default period, as
`suite run` does, or does not; nothing else of the harness runs. Two neighbouring blocks, one of each, make a pair that sees the same
machine; which comes first alternates. Of each pair: the ratio of the shortest epochs that lie wholly in its blocks, which are those that
other programs disturbed least; an epoch must be longer than the meters' periods, or the shortest would be one without a reading. Printed
are the median of the ratios with the 95 % interval that their order gives it, and their range; the CPU time of all meters together as a
share of one core; then a table of each meter's own cost in Markdown, from the recorders' own records. A block holds the opening of the
meters too, which a run pays once. Asked of them: under 1 % of an epoch, under 3 % of a core.
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

from harness_cost import SUITE

from reference_impls import contract
from suite.bundle import Bundle
from suite.environments import find
from suite.frameworks import load_framework
from suite.launch import end, surroundings
from suite.measure.meter import Subject
from suite.measure.recorder import MeterRecord, Recorder
from suite.measure.registry import open_meters
from suite.paths import repository_root

WARM_UP_EPOCHS = 3
ENDLESS_EPOCHS = 1_000_000
POLL_S = 0.2


@dataclass(frozen=True)
class Block:
    """Some seconds with meters, whose records it holds, or without."""

    start_ns: int
    stop_ns: int
    records: tuple[MeterRecord, ...]


def main() -> None:
    """Measure and print."""
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        with start(arguments, run) as process:
            wait_for_epochs(process, run)
            pairs = [pair(process, run, arguments.block_s, number) for number in range(arguments.pairs)]
            end(process)
        ratios = [ratio for each in pairs if (ratio := compare(run, *each)) is not None]
    report(ratios, [with_meters for _, with_meters in pairs])


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="pytorch")
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--block-s", type=float, default=13.0)
    return parser.parse_args()


def start(arguments: argparse.Namespace, folder: Path) -> "subprocess.Popen[bytes]":
    """An implementation that trains LeNet-5 on one thread until it is ended."""
    framework = load_framework(arguments.framework)
    chosen = {**vars(arguments), "output": folder, "threads": 1, "learning_rate": 0.0001, "epochs": ENDLESS_EPOCHS}
    names = ("framework", "data", "batch_size", "output", "threads", "learning_rate", "epochs")
    words = [word for name in names for word in (f"--{name.replace('_', '-')}", str(chosen[name]))]
    options = ["run", "--division", "open", "--workload", "lenet", *words]
    shown = subprocess.run([SUITE, *options, "--dry-run"], capture_output=True, text=True, check=True, cwd=repository_root())
    folder.mkdir()
    request = {**json.loads(shown.stdout)[0]["request"], "target_accuracy": None}
    (folder / contract.REQUEST_NAME).write_text(json.dumps(request))
    command = [str(find(framework).interpreter), "-m", framework.module, "--request", str(folder / contract.REQUEST_NAME)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=repository_root(), env=surroundings(1), stdout=quiet, stderr=quiet, start_new_session=True)


def wait_for_epochs(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Until the first epochs are over; they start more slowly than all others."""
    log = folder / contract.log_name(0)
    while not log.exists() or log.read_text().count('"epoch_stop"') < WARM_UP_EPOCHS:
        if process.poll() is not None:
            raise SystemExit(f"the implementation ended with {process.returncode}; run `{' '.join(map(str, process.args))}` to see why")
        time.sleep(POLL_S)


def pair(process: "subprocess.Popen[bytes]", folder: Path, block_s: float, number: int) -> tuple[Block, Block]:
    """A block without and one with meters; every other time the other way round."""
    order = (False, True) if number % 2 == 0 else (True, False)
    blocks = {metered: block(process, folder, block_s, metered) for metered in order}
    return blocks[False], blocks[True]


def block(process: "subprocess.Popen[bytes]", folder: Path, block_s: float, metered: bool) -> Block:
    """Some seconds of training."""
    data = json.loads((folder / contract.REQUEST_NAME).read_text())["data"]["directory"]
    recorder = Recorder(open_meters() if metered else (), folder)
    start_ns = time.monotonic_ns()
    if metered:
        recorder.start(Subject(process.pid, Path(data)))
    time.sleep(block_s)
    stop_ns = time.monotonic_ns()
    return Block(start_ns, stop_ns, recorder.stop())


def compare(folder: Path, without: Block, metered: Block) -> float | None:
    """The ratio of the blocks' shortest epochs; None where a block was too short for one."""
    bundle = Bundle(folder)
    starts_ns = bundle.steps().groupby("epoch")["start_ns"].min()
    stops_ns = {event.epoch: event.mono_ns for event in bundle.log().all("epoch_stop")}
    epochs = [(int(start_ns), stops_ns[int(epoch)]) for epoch, start_ns in starts_ns.items() if stops_ns.get(int(epoch)) is not None]
    shortest_s = []
    for each in (without, metered):
        times_s = [(stop - start) * 1e-9 for start, stop in epochs if stop is not None and each.start_ns <= start and stop <= each.stop_ns]
        if not times_s:
            return None
        shortest_s.append(min(times_s))
    return shortest_s[1] / shortest_s[0]


def report(ratios: Sequence[float], metered: Sequence[Block]) -> None:
    """Print what was asked, with its spread, then the table."""
    low, high = median_interval(ratios)
    shares = [each.records[-1].cost_s / seconds(each) for each in metered]  # the recorder's own record: its whole thread
    print(f"epoch with meters / without: median {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f}, ", end="")
    print(f"range {min(ratios):.4f} to {max(ratios):.4f}, {len(ratios)} pairs")
    print(f"all meters: {statistics.median(shares):.3%} of one core, range {min(shares):.3%} to {max(shares):.3%}\n")
    print("\n".join(table(metered)))


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The values between which the true median lies with at least 95 %: by the binomial distribution, whatever theirs is."""
    ordered, count = sorted(values), len(values)
    tail, outside = 0.0, 0
    while tail + math.comb(count, outside) / 2**count <= 0.025:
        tail += math.comb(count, outside) / 2**count
        outside += 1
    return ordered[max(outside - 1, 0)], ordered[min(count - outside, count - 1)]


def seconds(each: Block) -> float:
    """How long a block was."""
    return (each.stop_ns - each.start_ns) * 1e-9


def table(metered: Sequence[Block]) -> list[str]:
    """Each meter's own cost over all blocks, and the sum of all: the recorder's own record holds its thread's whole time."""
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
