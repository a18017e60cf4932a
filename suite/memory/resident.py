"""The framework's own resident size: what a process has before any weight, measured once per
environment.

It is the highest resident set of a process that trained LeNet-5 for two steps: interpreter,
libraries, the optimizer's and the kernels' code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.frameworks import load_framework
from suite.files.json_file import read_json
from suite.launch.environments import find_environment
from suite.memory.programs import FRAMEWORK, answers_of, keep_result, kept_place

SHIPPED = 325_000_000
SHIPPED_SOURCE = "measured with torch 2.13.0 and torchvision 0.28.0 on x86-64, not on this machine"
TIMEOUT_S = 600.0
HERE = "measured in this machine's environment"


@dataclass(frozen=True)
class Resident:
    """Bytes, and where the figure is from."""

    size_bytes: int
    source: str


def resident_size() -> Resident:
    """The measured size of this machine's environment if there is one, else the shipped figure.
    Starts nothing."""
    path = kept_place(None)
    if path is None or not path.is_file():
        return Resident(SHIPPED, SHIPPED_SOURCE)
    return Resident(int(read_json(path)["size_bytes"]), HERE)


def measure_resident(folder: Path | None = None) -> Resident:
    """Measure the environment of PyTorch on this machine and keep the figure. Raises SuiteError
    without an environment."""
    size = peak_of_lenet({})
    keep_result(
        kept_place(folder),
        {"size_bytes": size, "packages": find_environment(load_framework(FRAMEWORK)).packages},
    )
    return Resident(size, HERE)


def peak_of_lenet(more: Mapping[str, object]) -> int:
    """The highest resident set of a process that trains LeNet-5 for two steps, bytes; ``more``
    replaces values of its request."""
    request = {
        "model": "own:lenet5:10",
        "image": [1, 28, 28],
        "batch": 1,
        "classes": 10,
        "threads": 1,
        "seed": 1,
        "blocks": [],
        "schedule": [],
    }
    what = "Measuring the framework"
    answers = answers_of(
        "reference_impls.pytorch.memory_steps",
        {**request, **more},
        "\n\n",
        what,
        in_budget=False,
        timeout_s=TIMEOUT_S,
    )
    return int(answers[-1]["VmHWM"])
