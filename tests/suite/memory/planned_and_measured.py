"""Planned and measured peaks of memory: ``make memory-peaks``, with PyTorch's environment and a C compiler; docs/memory.md has the last output.

ResNet-18 and ResNet-50 at 224x224, without a schedule and with the ones that three parts of the activations' memory need. Measured is the highest
resident set after four steps, with the arena of reference_impls/pytorch/arena.c. The framework's own size is measured first.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from suite.memory.chain import updated_at_once
from suite.memory.network import load_network
from suite.memory.optimal import fastest
from suite.memory.planning import Workplace, plan
from suite.memory.resident import Resident, measure
from suite.memory.schedule import Schedule
from suite.memory.sizes import write_size
from tests.suite.memory.little_memory import ARENA, start, step

NETWORKS = ("resnet18", "resnet50")
BATCHES = (1, 2, 4, 8, 16)
STEPS = 4
PARTS = (0.75, 0.5, 0.25)
"""Budgets of the schedules: these parts of what activations and gradients need without recomputation; those that fit."""


def main() -> None:
    """Measure and print a Markdown table."""
    print("| network | mini-batch | schedule | planned | measured | measured / planned |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        library = Path(scratch) / "arena.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(ARENA), "-ldl", "-lpthread"], check=True)
        framework = measure(Path(scratch))
        for name in NETWORKS:
            for batch in BATCHES:
                for schedule, planned in plans(name, batch, framework):
                    measured = peak(Path(scratch) / "request.json", name, batch, schedule, {"LD_PRELOAD": str(library)})
                    title = "none" if schedule is None else schedule.name
                    cells = (name, batch, title, write_size(planned), write_size(measured), f"{measured / planned:.3f}")
                    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def plans(name: str, batch: int, framework: Resident) -> Iterator[tuple[Schedule | None, int]]:
    """Ordinary training, and the schedules, with their planned peaks."""
    workplace = Workplace(load_network(name), 224, "sgd-momentum", framework)
    loose = plan(workplace, batch, 1 << 40)
    yield None, loose.peak_bytes
    found = [fastest(updated_at_once(loose.blocks), round(part * (loose.peak_bytes - workplace.fixed_bytes))) for part in PARTS]
    for each in dict.fromkeys(found):
        if each is not None and each.cost.recompute_factor > 1:
            yield each.schedule, workplace.fixed_bytes + each.cost.peak_bytes


def peak(path: Path, name: str, batch: int, schedule: Schedule | None, extra: dict[str, str]) -> int:
    """VmHWM after the steps, in bytes."""
    process = start(path, name, batch, schedule, extra, None)
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    highest = max(int(step(process)["VmHWM"]) for _ in range(STEPS))
    process.stdin.close()
    process.wait()
    return highest


if __name__ == "__main__":
    main()
