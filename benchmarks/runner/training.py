"""Training that benchmarks measure: generated data, requests, and an implementation without the
harness."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.runner.child import output_of
from reference_impls import contract
from suite.catalog.frameworks import load_framework
from suite.datasets import prepare
from suite.launch.environments import find_environment

SUITE = str(Path(sys.executable).with_name("suite"))


def generated_data(name: str, samples: int, home: Path) -> Path:
    """The folder of a generated data set in the layout of ``name``: it needs no download."""
    return prepare.generate_data_set(name, samples, seed=1, home=home).directory


def run_command(options: Mapping[str, object]) -> list[str]:
    """`suite run` of LeNet-5 in the open division on one thread, with further options by name."""
    fixed = {"division": "open", "workload": "lenet", "learning_rate": 0.0001, "threads": 1}
    flags = [
        word
        for name, value in {**fixed, **options}.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    return [SUITE, "run", *flags]


def request_of(options: Mapping[str, object], **changes: object) -> dict[str, Any]:
    """The request that `suite run` would make of these options, with changes."""
    shown = json.loads(output_of([*run_command(options), "--dry-run"]))
    return {**shown["rows"][0]["request"], **changes}


def implementation_command(framework: str, request: Mapping[str, Any], folder: Path) -> list[str]:
    """The command that trains without the harness; writes the request into ``folder``, which it
    creates."""
    folder.mkdir()
    path = folder / contract.REQUEST_NAME
    path.write_text(json.dumps(request), encoding="utf-8")
    found = load_framework(framework)
    return [str(find_environment(found).interpreter), "-m", found.module, "--request", str(path)]
