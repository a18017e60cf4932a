"""The framework's own resident size: what a process has before any weight, measured once per environment.

It is the highest resident set of a process that trained LeNet-5 for two steps: interpreter, libraries, the optimizer's and the kernels' code.
"""

import hashlib
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.files.durable import publish
from suite.files.json_file import read_json
from suite.files.paths import home, repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find

FRAMEWORK = "pytorch"
SHIPPED = 325_000_000
SHIPPED_SOURCE = "measured with torch 2.13.0 and torchvision 0.28.0 on x86-64, not on this machine"
HERE = "measured in this machine's environment"
SECONDS = 600


@dataclass(frozen=True)
class Resident:
    """Bytes, and where the figure is from."""

    size_bytes: int
    source: str


def resident(folder: Path | None = None) -> Resident:
    """The measured size of this machine's environment if there is one, else the shipped figure. Starts nothing."""
    path = _record(folder)
    if path is None or not path.is_file():
        return Resident(SHIPPED, SHIPPED_SOURCE)
    return Resident(int(read_json(path)["size_bytes"]), HERE)


def measure(folder: Path | None = None) -> Resident:
    """Measure the environment of PyTorch on this machine and keep the figure. Raises SuiteError without an environment."""
    environment = find(load_framework(FRAMEWORK))
    request = {"model": "own:lenet5:10", "image": [1, 28, 28], "batch": 1, "classes": 10, "threads": 1, "seed": 1, "blocks": [], "schedule": []}
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        path = Path(scratch) / "request.json"
        path.write_text(json.dumps(request), encoding="utf-8")
        command = [str(environment.interpreter), "-m", "reference_impls.pytorch.memory_steps", str(path)]
        done = subprocess.run(command, cwd=repository_root(), env=child_environment(1), input="\n\n", capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise SuiteError(f"Measuring the framework failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    size = int(json.loads(done.stdout.splitlines()[-1])["VmHWM"])
    record = _record(folder)
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
        with publish(record) as place:
            place.write_text(json.dumps({"size_bytes": size, "packages": environment.packages}), encoding="utf-8")
    return Resident(size, HERE)


def _record(folder: Path | None) -> Path | None:
    """The file of this environment's figure; None without an environment."""
    try:
        environment = find(load_framework(FRAMEWORK))
    except SuiteError:
        return None
    text = json.dumps([str(environment.interpreter), sorted(environment.packages.items())])
    return (folder or home() / "memory") / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
