"""A submission that complies: three closed runs of one framework, and the verdict that its model is the workload's."""

import itertools
import json
from pathlib import Path

import pytest

from suite.catalog.workloads import load_workload
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package
from tests.builders import Scenario, make_bundle

EPOCHS_TO_TARGET = (3, 4, 6)
"""Like the reference's runs; three times three would converge faster than chance explains."""


def make_runs(folder: Path, count: int = 3) -> list[Path]:
    """Bundles of one entry, by seed."""
    made = []
    for seed, epochs in zip(range(1, count + 1), itertools.cycle(EPOCHS_TO_TARGET)):
        accuracies = (0.97, *(0.985,) * (epochs - 2), 0.9905)
        scenario = Scenario(f"lenet-pytorch-20270115T080000Z-{seed:06d}", seed=seed, step_s=0.002 + seed * 1e-5, jitter=0.01, accuracies=accuracies)
        made.append(make_bundle(folder / f"run{seed}", scenario))
    return made


def make_probe(path: Path, passed: bool = True) -> Path:
    """A verdict as `suite verify-model lenet --framework pytorch --output` writes it, shortened."""
    subject = {"name": "pytorch", "module": "reference_impls.pytorch.probe", "passed": passed}
    path.write_text(json.dumps({"schema": 1, "workload": "lenet", "model": load_workload("lenet").model, "passed": passed, "subjects": [subject]}))
    return path


@pytest.fixture
def offer(tmp_path: Path) -> PackageRequest:
    """The package request of the good submission."""
    return PackageRequest("acme", None, SystemAvailability.RESEARCH, "a fan", (make_probe(tmp_path / "probe.json"),))


@pytest.fixture
def submission(offer: PackageRequest, tmp_path: Path) -> Path:
    """A good submission that a test may edit."""
    return package(make_runs(tmp_path / "runs"), offer, tmp_path / "submissions")
