"""Planned and measured peaks of memory: ``make memory-peaks``, with PyTorch's environment and a C compiler; docs/memory.md has the last output.

ResNet-18 and ResNet-50 at 224x224, with and without a schedule. Measured is the highest resident set after three steps, with the arena of
reference_impls/pytorch/arena.c, which is told the plan as its limit.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from suite.memory.network import load_network
from suite.memory.planning import Workplace, plan
from suite.memory.resident import resident
from suite.memory.schedule import Schedule
from suite.memory.schedulers import none
from suite.memory.sizes import write_size
from tests.suite.memory.little_memory import ARENA, start, step

NETWORKS = ("resnet18", "resnet50")
BATCHES = (1, 4, 8, 16)
TIGHT = 0.7
"""Budget of the second plan of each network and mini-batch: this part of what the activations need without recomputation."""


def main() -> None:
    """Measure and print a Markdown table."""
    print("| network | mini-batch | schedule | planned | measured | measured / planned |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        library = Path(scratch) / "arena.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(ARENA), "-ldl", "-lpthread"], check=True)
        for name in NETWORKS:
            for batch in BATCHES:
                for schedule, planned in plans(name, batch):
                    extra = {"LD_PRELOAD": str(library), "ARENA_LIMIT": str(planned - resident().size_bytes)}
                    measured = peak(Path(scratch) / "request.json", name, batch, schedule, extra)
                    cells = (name, batch, schedule.name, write_size(planned), write_size(measured), f"{measured / planned:.3f}")
                    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def plans(name: str, batch: int) -> Iterator[tuple[Schedule, int]]:
    """Ordinary training and the plan for a tight budget, with their planned peaks."""
    workplace = Workplace(load_network(name), 224, "sgd-momentum", resident())
    loose = plan(workplace, batch, 1 << 40)
    yield none(len(loose.blocks)), loose.peak_bytes
    tight = workplace.fixed_bytes + round(TIGHT * (loose.peak_bytes - workplace.fixed_bytes))
    if tight > workplace.fixed_bytes + loose.gradient_bytes * 1.3:
        found = plan(workplace, batch, tight)
        if found.schedule is not None and found.planned_bytes is not None:
            yield found.schedule.schedule, found.planned_bytes


def peak(path: Path, name: str, batch: int, schedule: Schedule, extra: dict[str, str]) -> int:
    """VmHWM after three steps, in bytes."""
    process = start(path, name, batch, schedule, extra, None)
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    highest = max(int(step(process)["VmHWM"]) for _ in range(3))
    process.stdin.close()
    process.wait()
    return highest


if __name__ == "__main__":
    main()
