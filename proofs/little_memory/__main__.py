"""ResNet-152 trains in a cgroup of 1.5 GB as it does without a limit, and what that costs: `make
prove little-memory`.

As root, with PyTorch's environment and a C compiler. Other settings: `python -m
proofs.little_memory resnet152 32 2GB 10 1.93GB`. Two processes take turns of one step each: one as
`suite run` trains without a budget, one in a memory cgroup with the planned schedule, swap off.
Both use one thread. Each turn gives the ratio of their CPU times. The processes have the same seed,
so losses, gradients, weights and buffers must be equal.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from proofs.figures import hand_over
from suite.catalog.frameworks import load_framework
from suite.files.json_file import read_json
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find_environment
from suite.memory.chain import network_chain, updated_at_once
from suite.memory.network import load_network, networks_folder
from suite.memory.operation_times import measure_times
from suite.memory.optimal import fastest_schedule
from suite.memory.planning import Workplace
from suite.memory.resident import Resident
from suite.memory.schedule import Action, Schedule
from suite.memory.sizes import parse_size, write_size

ROOT = Path("/sys/fs/cgroup")
IMAGE = 224
ARENA = repository_root() / "reference_impls" / "pytorch" / "arena.c"
OWN_BYTES = 275_000_000
"""Resident after some steps beside large arrays, torch 2.13 on x86-64: interpreter, framework, its
kernels and small arrays.

torchvision and the compiler that torch.optim imports, which the steps do without, would be 90 MB
more.
"""

WARMING = 3
"""Steps before the first turn that counts: the arena returns memory in two, and has its plan from
the third on."""


@dataclass(frozen=True)
class Turn:
    """One step of each process: CPU seconds."""

    limited_s: float
    plain_s: float


def main() -> int:
    """Measure and print; 1: the limited steps computed something else.

    Arguments: network, mini-batch, limit, turns, and what is planned for, if that is less than the
    limit.
    """
    name, batch, limit, turns, budget = (
        *sys.argv[1:],
        *("resnet152", "8", "1.5GB", "10", "")[len(sys.argv) - 1 :],
    )
    size = parse_size(limit)
    network = load_network(name)
    workplace = Workplace(network, IMAGE, "sgd-momentum", Resident(OWN_BYTES, "measured"))
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        times = measure_times(network, IMAGE, min(int(batch), 8), Path(scratch))
    blocks = updated_at_once(network_chain(network, IMAGE, IMAGE, int(batch), times))
    planned = fastest_schedule(blocks, parse_size(budget or limit) - workplace.fixed_bytes)
    if planned is None:
        raise SystemExit(f"No schedule fits {budget or limit}.")
    print(
        f"planned: {(workplace.fixed_bytes + planned.cost.peak_bytes) / 1e9:.3f} GB, factor"
        f" {planned.cost.recompute_factor:.3f}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch, cgroup(size) as group:
        own = Path(scratch)
        library = own / "arena.so"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(ARENA), "-ldl", "-lpthread"],
            check=True,
        )
        limited = start(
            own / "limited.json",
            name,
            int(batch),
            planned.schedule,
            {"LD_PRELOAD": str(library)},
            group,
        )
        plain = start(own / "plain.json", name, int(batch), None, {}, None)
        for process in (limited, plain):
            read(process)
        measured, peak, plain_peak, equal = measure(limited, plain, int(turns))
    planned_bytes = workplace.fixed_bytes + planned.cost.peak_bytes
    report(planned.cost.recompute_factor, planned_bytes, size, measured, peak, plain_peak, equal)
    hand_over(
        turns=len(measured),
        limit_gb=size / 1e9,
        highest_resident_set_gb=round(peak / 1e9, 3),
        planned_gb=round(planned_bytes / 1e9, 3),
        without_a_schedule_gb=round(plain_peak / 1e9, 3),
        recompute_factor=round(
            statistics.median(turn.limited_s / turn.plain_s for turn in measured), 3
        ),
        planned_recompute_factor=round(planned.cost.recompute_factor, 3),
    )
    return int(not equal)


def measure(
    limited: "subprocess.Popen[str]", plain: "subprocess.Popen[str]", turns: int
) -> tuple[list[Turn], int, int, bool]:
    """The turns after the first ones, which warm up, the highest resident sets, and whether all
    digests are equal."""
    found, peaks = [], (0, 0)
    for number in range(1 - WARMING, turns + 1):
        order = (limited, plain) if number % 2 else (plain, limited)
        answers = {id(process): step(process) for process in order}
        own, other = answers[id(limited)], answers[id(plain)]
        peaks = own["VmHWM"], other["VmHWM"]
        seconds = (
            f"{own['cpu_s']:.2f} s (kernel {own['system_s']:.2f}) against {other['cpu_s']:.2f} s"
            f" (kernel {other['system_s']:.2f})"
        )
        arena = (
            f"{own['faults']} page faults, arena of {write_size(own['planned'])},"
            f" {own['unplanned']} requests without a place in it"
        )
        print(
            f"turn {number}: {seconds}, VmHWM {own['VmHWM'] / 1e9:.3f} GB"
            f" ({other['VmHWM'] / 1e9:.3f}), {arena}",
            flush=True,
        )
        if number > 0:
            found.append(Turn(own["cpu_s"], other["cpu_s"]))
    digests = [step(process, "digest") for process in (limited, plain)]
    for process in (limited, plain):
        if process.stdin is not None:
            process.stdin.close()
        process.wait()
    return found, *peaks, digests[0] == digests[1]


def start(
    path: Path,
    name: str,
    batch: int,
    schedule: Schedule | None,
    extra: dict[str, str],
    group: Path | None,
) -> "subprocess.Popen[str]":
    """A process that waits for its turns; in the cgroup before it imports anything."""
    network = load_network(name)
    blocks = [[block.first, block.last] for block in network_chain(network, IMAGE, IMAGE, batch)]
    steps = [step.as_list for step in schedule.steps] if schedule else []
    rows = read_json(networks_folder() / f"{name}.json")["rows"]
    request = {
        "rows": rows,
        "image": [3, IMAGE, IMAGE],
        "batch": batch,
        "classes": 1000,
        "threads": 1,
        "seed": 1,
    }
    if schedule is not None and any(step.action is Action.SPILL for step in schedule.steps):
        request["spill"] = str(path.parent)
    path.write_text(json.dumps({**request, "blocks": blocks, "schedule": steps}), encoding="utf-8")
    enter = f"echo $$ > {group}/cgroup.procs; " if group else ""
    command = f'{enter}exec "$0" -m reference_impls.pytorch.memory_steps "$1"'
    interpreter = str(find_environment(load_framework("pytorch")).interpreter)
    environment = {**child_environment(1), "PYTHONPATH": "", **extra}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        ["sh", "-c", command, interpreter, str(path)],
        cwd=repository_root(),
        env=environment,
        stdin=pipe,
        stdout=pipe,
        text=True,
    )


def step(process: "subprocess.Popen[str]", line: str = "") -> dict[str, Any]:
    """One turn's answer."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return read(process)


def read(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """One line of a process."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(
            f"The process ended with {process.wait()}: killed at the limit, or see the lines above."
        )
    answer: dict[str, Any] = json.loads(line)
    return answer


@contextmanager
def cgroup(size: int) -> Iterator[Path]:
    """A memory cgroup with this limit and without swap, version 1 or 2."""
    second = (ROOT / "cgroup.controllers").is_file()
    group = (ROOT if second else ROOT / "memory") / f"little-memory-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.max" if second else "memory.limit_in_bytes")).write_text(str(size))
        swap = group / ("memory.swap.max" if second else "memory.swappiness")
        if swap.is_file():
            swap.write_text("0")
        yield group
    finally:
        group.rmdir()


def report(
    planned_factor: float,
    planned_bytes: int,
    size: int,
    turns: list[Turn],
    peak: int,
    plain_peak: int,
    equal: bool,
) -> None:
    """Print the result."""
    ratios = sorted(turn.limited_s / turn.plain_s for turn in turns)
    low, high = interval(ratios)
    peaks = (
        f"{peak / 1e9:.3f} GB (planned {planned_bytes / 1e9:.3f}), without a schedule"
        f" {plain_peak / 1e9:.3f}"
    )
    print(f"limit {write_size(size)}, swap off; highest resident set {peaks}")
    turns_text = f"median of {len(ratios)} turns, 95 %: {low:.3f} to {high:.3f}"
    print(
        f"recompute factor {statistics.median(ratios):.3f} ({turns_text}), planned"
        f" {planned_factor:.3f}"
    )
    print(
        "losses, gradients, weights and statistics:"
        f" {'equal, bit for bit' if equal else 'DIFFERENT'}"
    )


def interval(ordered: list[float]) -> tuple[float, float]:
    """The 95 % interval of a median by order statistics; of fewer than six values, their range."""
    count, below = len(ordered), 0
    while count >= 6 and 2 * sum(comb(count, k) for k in range(below + 2)) / 2**count <= 0.05:
        below += 1
    return ordered[below], ordered[-1 - below]


if __name__ == "__main__":
    sys.exit(main())
