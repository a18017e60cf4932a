"""Steps of a schedule in a process of PyTorch's environment: CPU time, and the highest resident set."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find
from suite.memory.chain import Chain
from suite.memory.schedule import Schedule

FRAMEWORK = "pytorch"
SECONDS = 3600


@dataclass(frozen=True)
class MeasuredStep:
    """One step: CPU seconds, and the highest resident set of the process so far (VmHWM)."""

    cpu_s: float
    peak_bytes: int


def measured_steps(network: str, image: int, batch: int, blocks: Chain, schedule: Schedule, steps: int) -> tuple[MeasuredStep, ...]:
    """``steps`` steps on random pictures with one thread, after one that warms up. Raises SuiteError if the process ends early."""
    request = {
        "model": f"torchvision:{network}",
        "image": [3, image, image],
        "batch": batch,
        "classes": 1000,
        "threads": 1,
        "seed": 1,
        "blocks": [[block.first, block.last] for block in blocks],
        "schedule": [step.as_list for step in schedule.steps],
    }
    answers = answers_of("reference_impls.pytorch.memory_steps", request, "\n" * (steps + 1), f"Training {network} with the schedule {schedule.name}")
    return tuple(MeasuredStep(answer["cpu_s"], answer["VmHWM"]) for answer in answers[2:])


def answers_of(module: str, request: object, lines: str, what: str, in_budget: bool = True) -> list[dict[str, Any]]:
    """What a program of the reference implementation answers, a line of JSON each. Raises SuiteError, beginning with ``what``, if it fails.

    ``in_budget``: it returns freed memory to the kernel, which costs time.
    """
    environment = find(load_framework(FRAMEWORK))
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        path = Path(scratch) / "request.json"
        path.write_text(json.dumps(request), encoding="utf-8")
        command = [str(environment.interpreter), "-m", module, str(path)]
        variables = child_environment(1, in_budget=in_budget)
        done = subprocess.run(command, cwd=repository_root(), env=variables, input=lines, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"it was killed (exit code {done.returncode}): too little memory"])[-1]
        raise SuiteError(f"{what} failed: {last}", "measure less with --measure-below, or fewer --networks")
    return [json.loads(line) for line in done.stdout.splitlines()]
