"""``counted_steps.json``: what valgrind's cachegrind counted in whole processes that train, and
from it the counts of a step.

Instructions, accesses to data and branches are counted. Caches and the branch predictor are
simulated: cachegrind's model has two levels of caches and no prefetcher. The counts of a step are
the difference between two processes of one framework that differ in the number of steps alone:
start-up, import and the building of the model are in both.

Rates need time, which valgrind does not show: the same training is timed without it.
"""

import math
from dataclasses import asdict, dataclass
from pathlib import Path

from suite.errors import FileError
from suite.files.json_file import read_record
from suite.files.schema import from_plain
from suite.metrics.sealed_record import SealedRecord

COUNTED = "counted_steps.json"
SOURCE = "valgrind cachegrind, simulated caches"
SCHEMA = 1
MAX_PROCESSES = 100
X86_64 = "x86_64"
MIN_CLOCK_HZ, MAX_CLOCK_HZ = 1e8, 1e10


@dataclass(frozen=True)
class Counts:
    """Totals of a process, or of a step. ``l1d_refill`` and ``branch_mispredicts`` are
    simulated."""

    instructions: float
    l1d_access: float
    l1d_refill: float
    branches: float
    branch_mispredicts: float

    def per_step(self, fewer: "Counts", steps: int) -> "Counts":
        """What a step adds, where ``fewer`` is the process with ``steps`` steps fewer."""
        own, other = asdict(self), asdict(fewer)
        return Counts(**{name: (own[name] - other[name]) / steps for name in own})


@dataclass(frozen=True)
class Process:
    """A process that trained ``steps`` mini-batches and ended."""

    framework: str
    framework_version: str | None
    steps: int
    counts: Counts


@dataclass(frozen=True)
class TimedSteps:
    """A window of the same training without valgrind: its steps, their CPU time, and the cores'
    mean clock meanwhile; None: it was not measured."""

    framework: str
    steps: int
    cpu_s: float
    clock_hz: float | None


@dataclass(frozen=True)
class Caches:
    """The simulated caches as cachegrind takes them: size in bytes, ways, line in bytes; and whose
    they are."""

    processor: str
    l1i: tuple[int, ...]
    l1d: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(frozen=True)
class CountedSteps:
    """The record. ``cpu_model`` and ``architecture`` are the machine's, whose instructions were
    counted; ``valgrind`` the program's version."""

    schema: int
    title: str
    source: str
    valgrind: str
    caches: Caches
    cpu_model: str | None
    workload: str
    data: str
    train_samples: int
    batch_size: int
    threads: int
    seed: int
    processes: tuple[Process, ...]
    timed: tuple[TimedSteps, ...] = ()
    architecture: str = X86_64  # all that older records counted

    @property
    def steps_per_epoch(self) -> int:
        """Mini-batches of an epoch; the last one may be smaller."""
        return -(-self.train_samples // self.batch_size)

    @property
    def of_step(self) -> dict[str, Counts]:
        """The counts of a step, by framework in the record's order."""
        return {
            name: more.counts.per_step(fewer.counts, more.steps - fewer.steps)
            for name, (fewer, more) in self.pairs.items()
        }

    @property
    def pairs(self) -> dict[str, tuple[Process, Process]]:
        """The processes with fewest and with most steps, by framework."""
        by_name: dict[str, list[Process]] = {}
        for process in sorted(self.processes, key=lambda process: process.steps):
            by_name.setdefault(process.framework, []).append(process)
        return {
            name: (by_name[name][0], by_name[name][-1])
            for name in dict.fromkeys(process.framework for process in self.processes)
        }


def figures(record: CountedSteps) -> dict[str, dict[str, float]]:
    """Figures by framework, named as those of hardware counters; counts are per epoch (steps of an
    epoch times those of a step)."""
    return {name: _figures(step, record.steps_per_epoch) for name, step in record.of_step.items()}


def _figures(step: Counts, steps: int) -> dict[str, float]:
    ratios = {
        "l1d_miss_ratio": step.l1d_refill / step.l1d_access,
        "branch_mispredict_ratio": step.branch_mispredicts / step.branches,
    }
    return {**{name: value * steps for name, value in asdict(step).items()}, **ratios}


def rates(record: CountedSteps) -> dict[str, dict[str, tuple[float, ...]]]:
    """Instructions per CPU second, and per cycle where the clock was measured: a value for each
    timed window, by framework."""
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for name, step in record.of_step.items():
        windows = [window for window in record.timed if window.framework == name]
        per_s = tuple(step.instructions * window.steps / window.cpu_s for window in windows)
        per_cycle = tuple(
            rate / window.clock_hz
            for rate, window in zip(per_s, windows, strict=True)
            if window.clock_hz is not None
        )
        found[name] = {"instructions_per_cpu_s": per_s, "ipc": per_cycle}
    return found


TOO_FEW = (
    f"must have 1 to {MAX_PROCESSES} processes, a positive batch size and at least 1 training"
    " sample"
)
TOO_MANY = (
    "has a negative count, more cache misses than accesses, or more mispredicted than executed"
    " branches,"
)


def read_counted_steps(directory: Path) -> CountedSteps:
    """Read the record; raises FileError where it is malformed or its counts cannot be those of such
    processes."""
    path = directory / COUNTED
    record = from_plain(read_record(path, SCHEMA), CountedSteps, f"{path}: ")
    if (
        not 1 <= len(record.processes) <= MAX_PROCESSES
        or record.batch_size < 1
        or record.train_samples < 1
    ):
        raise FileError(path, TOO_FEW)
    for name, (fewer, more) in record.pairs.items():
        if not 0 < fewer.steps < more.steps:
            raise FileError(path, f"must have two processes of {name} with different step counts")
    for name, step in record.of_step.items():
        if (
            not 0 <= step.l1d_refill <= step.l1d_access
            or not 0 <= step.branch_mispredicts <= step.branches
        ):
            raise FileError(path, f"{TOO_MANY} for a step of {name}")
        if not 0 < step.instructions < float("inf") or not step.l1d_access or not step.branches:
            raise FileError(
                path,
                "must have a finite number above 0 of instructions, data accesses and branches for"
                f" a step of {name}",
            )
    for window in record.timed:
        if (
            window.framework not in record.pairs
            or window.steps < 1
            or not 0 < window.cpu_s < math.inf
        ):
            name = window.framework[:40]
            raise FileError(
                path,
                "must have at least 1 step, a finite CPU time above 0 s and counted processes for"
                f" each timed window of {name!r}",
            )
        if window.clock_hz is not None and not MIN_CLOCK_HZ < window.clock_hz < MAX_CLOCK_HZ:
            raise FileError(path, f"has an impossible clock of the cores, {window.clock_hz:g} Hz")
    return record


COUNTED_STEPS = SealedRecord(
    COUNTED, "count again (`suite cachegrind`)", lambda folder: [folder / COUNTED]
)
