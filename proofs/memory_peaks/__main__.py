"""Planned and measured peaks of memory of ResNet-18 and ResNet-50 agree, with and without
schedules: `make prove memory-peaks`.

It needs PyTorch's environment and a C compiler. ResNet-18 and ResNet-50 at 224x224, without a
schedule and with the ones that three parts of the activations' memory need, by recomputation and by
activations on storage. Measured is the highest resident set after four steps, with the arena of
reference_impls/pytorch/arena.c. The framework's own size is measured first, of the two kinds of
process: with a schedule they import no torch.optim. Arguments: networks and mini-batches to do.
"""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from proofs.figures import hand_over
from proofs.little_memory.__main__ import ARENA, IMAGE, start, step
from suite.compliance.rules.recomputation import MAX_DEVIATION
from suite.memory.chain import network_chain, updated_at_once
from suite.memory.network import load_network
from suite.memory.optimal import fastest_schedule
from suite.memory.planning import Workplace, plan_memory
from suite.memory.resident import Resident, measure_resident, peak_of_lenet
from suite.memory.schedule import Schedule
from suite.memory.schedulers import keep_all
from suite.memory.sizes import write_size
from suite.memory.spilling import spilled_schedule

NETWORKS = ("resnet18", "resnet50")
BATCHES = (1, 2, 4, 8, 16)
STEPS = 4
PARTS = (0.75, 0.5, 0.25)
"""Budgets of the schedules: these parts of what activations and gradients need without
recomputation; those that fit."""


def main() -> int:
    """Measure and print a Markdown table; 1: a measured peak is further from the planned one than
    the checker allows."""
    ratios = []
    names, batches = (
        [each for each in sys.argv[1:] if not each.isdigit()],
        [int(each) for each in sys.argv[1:] if each.isdigit()],
    )
    print(
        "| network | mini-batch | schedule | planned | measured | measured / planned"
        " |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        library = Path(scratch) / "arena.so"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(ARENA), "-ldl", "-lpthread"],
            check=True,
        )
        frameworks = (
            measure_resident(Path(scratch)),
            Resident(peak_of_lenet(scheduled_lenet()), "measured"),
        )
        for name in names or NETWORKS:
            for batch in batches or BATCHES:
                for schedule, planned in plans(name, batch, *frameworks):
                    measured = peak(
                        Path(scratch) / "request.json",
                        name,
                        batch,
                        schedule,
                        {"LD_PRELOAD": str(library)},
                    )
                    ratios.append(measured / planned)
                    title = "none" if schedule is None else schedule.name
                    cells = (
                        name,
                        batch,
                        title,
                        write_size(planned),
                        write_size(measured),
                        f"{measured / planned:.3f}",
                    )
                    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    worst = max(abs(ratio - 1) for ratio in ratios)
    hand_over(
        rows=len(ratios),
        worst_error_percent=round(100 * worst, 1),
        median_of_measured_over_planned=round(statistics.median(ratios), 3),
    )
    return int(worst > MAX_DEVIATION)


def scheduled_lenet() -> dict[str, object]:
    """What makes the steps of LeNet-5 follow a schedule, one that keeps everything."""
    blocks = network_chain(load_network("workload-lenet"), 28, 28, 1)
    return {
        "blocks": [[block.first, block.last] for block in blocks],
        "schedule": [step.as_list for step in keep_all(len(blocks)).steps],
    }


def plans(
    name: str, batch: int, ordinary: Resident, scheduled: Resident
) -> Iterator[tuple[Schedule | None, int]]:
    """Ordinary training, and the schedules, with their planned peaks; the framework's size is that
    of each one's kind of process."""
    workplace = Workplace(load_network(name), IMAGE, "sgd-momentum", ordinary)
    loose = plan_memory(workplace, batch, 1 << 40)
    yield None, loose.peak_bytes
    blocks, fixed = (
        updated_at_once(loose.blocks),
        replace(workplace, framework=scheduled).fixed_bytes,
    )
    budgets = [round(part * (loose.peak_bytes - workplace.fixed_bytes)) for part in PARTS]
    for each in dict.fromkeys(
        solve(blocks, budget)
        for solve in (fastest_schedule, spilled_schedule)
        for budget in budgets
    ):
        if each is not None and each.schedule != keep_all(len(blocks)):
            yield each.schedule, fixed + each.cost.peak_bytes


def peak(
    path: Path, name: str, batch: int, schedule: Schedule | None, extra: dict[str, str]
) -> int:
    """VmHWM after the steps, in bytes."""
    process = start(path, name, batch, schedule, extra, None)
    assert process.stdout is not None and process.stdin is not None
    process.stdout.readline()
    highest = max(int(step(process)["VmHWM"]) for _ in range(STEPS))
    process.stdin.close()
    process.wait()
    return highest


if __name__ == "__main__":
    sys.exit(main())
