"""What the meters add to a training step, and what each of them costs: one training, with and
without all meters in turns.

One implementation trains without end, without the harness and without evaluation. In blocks of some
seconds a recorder reads every meter at its default period, as in `suite run`, or does not; nothing
else of the harness runs. Two neighbouring blocks, one of each kind, make a pair.

- Time and CPU time per training step, with meters / without. Other programs disturb the CPU time
  less. It contains what the meters take from the training through caches and memory; what they take
  by needing its core is at most their own CPU time.
- CPU time of all meters, of the recorder's thread, and of each meter, per second of one core, from
  the recorder's own records. A block includes opening the meters, which a run does once.

Aim: under 1 % of an epoch, under 3 % of a core.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from benchmarks.runner.benchmark import Benchmark, Ratio, alternating, ratio_of
from benchmarks.runner.command_line import run_alone
from benchmarks.runner.needs import framework_environment
from benchmarks.runner.training import generated_data, implementation_command, request_of
from reference_impls import contract
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.execution.recorder import MeterRecord, Recorder
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.process import terminate_session
from suite.meters.meter import MeteredProcess
from suite.meters.registry import open_meters

WARM_UP_EPOCHS = 3
ENDLESS_EPOCHS = 1_000_000
POLL_S = 0.2
EPOCH_TIMEOUT_S = 300.0
RECORDER = "recorder"
"""The record of the recorder's own thread: what meters do there, and writing."""


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    framework: Annotated[str, "framework of the implementation"] = "pytorch"
    data: Annotated[
        str | None,
        "a data set's name or folder (default: 12,000 generated samples in MNIST's layout)",
    ] = None
    batch_size: Annotated[int, "samples of a mini-batch"] = 64
    pairs: Annotated[int, "pairs of blocks"] = 45
    block_s: Annotated[float, "seconds of a block"] = 2.5


@dataclass(frozen=True)
class Block:
    """Some seconds of training. ``cpu_ns``: CPU time of the implementation's threads; ``records``:
    the meters', empty without them."""

    start_ns: int
    stop_ns: int
    cpu_ns: int
    records: tuple[MeterRecord, ...]

    @property
    def duration_s(self) -> float:
        """Its length."""
        return (self.stop_ns - self.start_ns) * 1e-9


Pair = tuple[Block, Block]
"""With meters, without."""


def measure(settings: Settings) -> Iterator[Ratio]:
    """Time and CPU time of a step; then the meters' own CPU time."""
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        data = settings.data or str(generated_data("mnist", 12_000, Path(name) / "home"))
        process = start(settings, data, run)
        try:
            wait_for_epochs(process, run, WARM_UP_EPOCHS)
            pairs = [
                measure_pair(process, run, settings.block_s, number)
                for number in range(settings.pairs)
            ]
            wait_for_epochs(process, run, 1)  # the last block's steps are written at an epoch's end
        finally:
            terminate_session(process)
        starts_ns = np.sort(Bundle(run).steps_frame()["start_ns"].to_numpy())
    training = f"LeNet-5, {settings.framework}, blocks of {settings.block_s:g} s"
    sides = ("with all meters", "without")
    yield ratio_of(
        f"time of a step; {training}",
        *sides,
        [_per_step(starts_ns, pair, lambda block: block.duration_s) for pair in pairs],
    )
    yield ratio_of(
        f"CPU time of a step; {training}",
        *sides,
        [_per_step(starts_ns, pair, lambda block: block.cpu_ns * 1e-9) for pair in pairs],
    )
    metered = [with_meters for with_meters, _ in pairs]
    yield from costs(metered)
    print("\n".join(table(metered)), file=sys.stderr)


def start(settings: Settings, data: str, folder: Path) -> "subprocess.Popen[bytes]":
    """An implementation that trains LeNet-5 on one thread until it is terminated."""
    options = {
        "framework": settings.framework,
        "data": data,
        "batch_size": settings.batch_size,
        "epochs": ENDLESS_EPOCHS,
        "output": folder,
    }
    request = request_of(options, target_accuracy=None, eval_every_epochs=ENDLESS_EPOCHS)
    command = implementation_command(settings.framework, request, folder)
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command,
        cwd=repository_root(),
        env=child_environment(1),
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
    )


def wait_for_epochs(process: "subprocess.Popen[bytes]", folder: Path, epochs: int) -> None:
    """Wait until N more epochs are finished; raises SuiteError when the implementation ends, or
    takes too long."""
    log, deadline_s = folder / contract.log_name(0), time.monotonic() + EPOCH_TIMEOUT_S
    wanted = _finished_epochs(log) + epochs
    while _finished_epochs(log) < wanted:
        if process.poll() is not None:
            raise SuiteError(
                f"the implementation ended with {process.returncode}; run"
                f" `{' '.join(map(str, process.args))}` to see why"
            )
        if time.monotonic() > deadline_s:
            raise SuiteError(
                f"{epochs} epochs were not finished in {EPOCH_TIMEOUT_S:g} s; try a larger"
                " --batch-size"
            )
        time.sleep(POLL_S)


def _finished_epochs(log: Path) -> int:
    return log.read_text().count('"epoch_stop"') if log.exists() else 0


def measure_pair(
    process: "subprocess.Popen[bytes]", folder: Path, block_s: float, number: int
) -> Pair:
    """A block with and one without meters; the order alternates."""
    blocks = {
        metered: measure_block(process, folder, block_s, metered)
        for metered in alternating(number, False, True)
    }
    return blocks[True], blocks[False]


def measure_block(
    process: "subprocess.Popen[bytes]", folder: Path, block_s: float, metered: bool
) -> Block:
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
    """CPU time of the process's threads so far (proc(5), schedstat)."""
    return sum(
        int(path.read_text().split()[0])
        for path in Path("/proc", str(pid), "task").glob("*/schedstat")
    )


def _per_step(
    starts_ns: "np.ndarray", pair: Pair, quantity_s: Callable[[Block], float]
) -> tuple[float, float]:
    with_meters, without = (quantity_s(block) / steps_in(starts_ns, block) for block in pair)
    return with_meters, without


def steps_in(starts_ns: "np.ndarray", block: Block) -> float:
    """How many steps a block holds; those cut by its ends count in part."""
    first, last = np.interp([block.start_ns, block.stop_ns], starts_ns, np.arange(len(starts_ns)))
    return float(last - first)


def costs(metered: Sequence[Block]) -> Iterator[Ratio]:
    """CPU time of all meters together, of the recorder's thread and of each available meter, as a
    share of one core."""
    whole = [
        (sum(each.cost_s for each in block.records if each.name != RECORDER), block.duration_s)
        for block in metered
    ]
    yield ratio_of(
        "all meters, their threads and programs included", "its CPU time", "one core", whole
    )
    by_meter = {
        records[0].name: records
        for records in zip(*(block.records for block in metered), strict=True)
        if records[0].available
    }
    for name, records in sorted(by_meter.items(), key=lambda item: item[0] != RECORDER):
        subject = "the recorder's thread, writing included" if name == RECORDER else f"meter {name}"
        pairs = [
            (record.cost_s, block.duration_s)
            for record, block in zip(records, metered, strict=True)
        ]
        yield ratio_of(subject, "its CPU time", "one core", pairs)


def table(metered: Sequence[Block]) -> list[str]:
    """Each meter's periods, readings and cost over all blocks, in Markdown."""
    total_s = sum(block.duration_s for block in metered)
    lines = [
        (
            "| meter | period | median period reached | readings/s | CPU time per second | of one"
            " core |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for records in zip(*(block.records for block in metered), strict=True):
        first, cost_s = records[0], sum(record.cost_s for record in records)
        reached = [
            record.achieved_period_s for record in records if record.achieved_period_s is not None
        ]
        if first.available:
            period = f"{statistics.median(reached):.3f} s" if reached else "-"
            rate = sum(record.readings for record in records) / total_s
            lines.append(
                f"| {first.name} | {first.period_s:g} s | {period} | {rate:.1f} |"
                f" {cost_s / total_s * 1e3:.3f} ms | {cost_s / total_s:.3%} |"
            )
    return lines


BENCHMARK = Benchmark(
    "How much longer does a training step take while every meter is read, and how much CPU time do"
    " the meters use?",
    measure,
    Settings(),
    Settings(pairs=2, block_s=1.5),
    full_s=260,
    quick_s=20,
    needs=(framework_environment("pytorch"),),
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
