"""How small a cheat the replayed epoch finds: `make prove smallest-cheat`.

LeNet-5 is trained for an epoch on MNIST; from its state the next one is trained REPLAYS times as it
should be, each with other roundings, and with cheats. The smallest one that is found with a power
of 95 % moves a figure by the margin that the audit allows, and by what 95 of 100 runs scatter;
between the sizes that were trained it is interpolated.
"""

import argparse
import json
import math
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from proofs.figures import hand_over
from proofs.proof import find_proof
from reference_impls import contract
from reference_impls.state_file import StateFile, state_name
from suite.catalog.audit_tolerances import load_audit_tolerances
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.files.paths import repository_root
from suite.launch.environments import find_environment
from suite.metrics.epoch_replays import (
    ReplayedFigures,
    least_margin,
    replay_figures,
    scatter_margin,
)
from suite.verify.replaying import train_program
from suite.verify.rounding import round_anew
from tools.audit_tolerances import requested

REPLAYS, POWER_Z = 12, 1.645
SIZES = {"samples": (0.1, 0.3), "updates": (0.1, 0.3), "rate": (0.1, 0.3)}
EVALUATED = 10_000


def prepare(folder: Path) -> Path:
    """The request of a run in ``folder`` that kept its states."""
    request = folder / contract.REQUEST_NAME
    if not request.exists():
        (folder / "states").mkdir(parents=True)
        framework = load_framework("pytorch")
        asked = requested(load_workload("lenet"), None, 128, 0.04, 1, 469)
        command = [str(find_environment(framework).interpreter), "-m", framework.module]
        train_program(
            asked._replace(framework=framework.name, output_directory=str(folder)),
            [*command, "--keep-states", str(folder / "states")],
            repository_root(),
            "The training",
        )
    return request


def wanted(folder: Path) -> Iterator[dict[str, Any]]:
    """What is trained: a cheat, its size, and a state with roundings of its own."""
    plan = [("none", 0.0)] * REPLAYS
    plan += [(cheat, size) for cheat, sizes in SIZES.items() for size in sizes for _ in range(2)]
    for seed, (cheat, size) in enumerate(plan):
        state = folder / f"rounded_{seed}.npz"
        if not state.exists():
            round_anew(StateFile(str(folder / "states" / state_name(1))), seed, state)
        yield {"state": str(state), "cheat": cheat, "size": size}


def measure(folder: Path) -> list[dict[str, Any]]:
    """The losses and correct samples of every training, kept as they come."""
    request, kept = prepare(folder), folder / "measured.jsonl"
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    count = len(done)
    interpreter = find_environment(load_framework("pytorch")).interpreter
    command = [str(interpreter), "-m", "proofs.smallest_cheat.worker", str(request)]
    asked = "".join(f"{json.dumps(each)}\n" for each in list(wanted(folder))[count:])
    with kept.open("a", encoding="utf-8") as stream:
        subprocess.run(
            command, input=asked, text=True, stdout=stream, cwd=repository_root(), check=True
        )
    return [json.loads(line) for line in kept.read_text().splitlines()]


def smallest(trained: list[dict[str, Any]]) -> dict[str, float]:
    """For each cheat the smallest size that is found with a power of 95 %."""
    of = defaultdict(list)
    for each in trained:
        of[each["cheat"], each["size"]].append((each["losses"], each["correct"]))
    honest = of.pop(("none", 0.0))
    own = replay_figures(honest[0], honest)[1]
    replays = load_audit_tolerances("lenet").replays
    found: dict[str, float] = {}
    for name in ReplayedFigures.__annotations__:
        values = np.array([getattr(each, name) for each in own], float)
        scatter = float(values.std(ddof=1))
        beyond = scatter_margin(replays, scatter, least_margin(name, EVALUATED)) + POWER_Z * scatter
        print(f"{name}: {values.mean():.6g}, scatter {scatter:.2g}, found from {beyond:.2g} on")
        shifts: dict[str, list[tuple[float, float]]] = defaultdict(lambda: [(0.0, 0.0)])
        for (cheat, size), runs in sorted(of.items()):
            moved = [getattr(replay_figures(run, honest)[0], name) - values.mean() for run in runs]
            print(f"  {cheat} {size:.0%}: {', '.join(f'{each:+.3g}' for each in moved)}")
            shifts[cheat].append((size, min(map(abs, moved))))
        for cheat, points in shifts.items():
            sizes, reached = zip(*points, strict=True)
            if beyond <= reached[-1]:
                size = float(np.interp(beyond, reached, sizes))
                found[cheat] = min(found.get(cheat, math.inf), size)
    return found


def main() -> None:
    """Measure, and print the smallest cheats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=find_proof("smallest-cheat").kept)
    print("```text")
    found = smallest(measure(parser.parse_args().folder))
    print("```\n")
    for cheat, size in found.items():
        print(f"- {cheat}: from {size:.1%} on, with a power of 95 %")
    hand_over(**{f"{cheat}_percent": round(100 * size, 2) for cheat, size in found.items()})


if __name__ == "__main__":
    main()
