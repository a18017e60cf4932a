"""A submission that complies: three closed runs of one framework, and the verdict that its model is
the workload's."""

import hashlib
import itertools
import json
from pathlib import Path

import pytest

from suite import __version__
from suite.catalog.workloads import load_workload
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from tests.builders import Scenario, files_sha256, make_bundle, reference_differences

EPOCHS_TO_TARGET = (3, 4, 6)
"""Like the reference's runs; three times three would converge faster than chance explains."""


LATER_S = 900
"""How long one run begins after another."""


def started_name(seed: int) -> str:
    """The id of the seed's run, LATER_S after that of the seed before."""
    minutes = LATER_S * (seed - 1) // 60
    return f"lenet-pytorch-20270115T{8 + minutes // 60:02d}{minutes % 60:02d}00Z-{seed:06d}"


def make_runs(folder: Path, count: int = 3) -> list[Path]:
    """Bundles of one entry, by seed."""
    made = []
    for seed, epochs in zip(range(1, count + 1), itertools.cycle(EPOCHS_TO_TARGET)):
        accuracies = (0.97, *(0.985,) * (epochs - 2), 0.9905)
        name, later_s = started_name(seed), LATER_S * (seed - 1)
        scenario = Scenario(
            name,
            seed=seed,
            step_s=0.0005 + seed * 2.5e-6,
            jitter=0.01,
            accuracies=accuracies,
            later_s=later_s,
        )
        made.append(make_bundle(folder / f"run{seed}", scenario))
    return made


def make_probe(path: Path, passed: bool = True) -> Path:
    """A verdict as `suite verify-model lenet --framework pytorch --output` writes it, shortened."""
    difference = {
        "precision": "float64",
        "quantity": "parameter count",
        "error": 0.0 if passed else 0.1,
        "tolerance": 0.0,
        "worst": "61,706 of 61,706 expected" if passed else "67,877 of 61,706 expected",
        "problem": None,
    }
    digests = {
        precision: hashlib.sha256(precision.encode()).hexdigest()
        for precision in ("float64", "float32")
    }
    subject = {
        "name": "pytorch",
        "module": "reference_impls.pytorch.probe",
        "passed": passed,
        "digests": digests,
    }
    subject["implementation_sha256"] = files_sha256("pytorch")
    subject["parameters"] = load_workload("lenet").parameters
    subject["differences"] = [
        {**difference, "passed": passed},
        *reference_differences(load_workload("lenet")),
    ]
    values = {
        "schema": 2,
        "suite_version": __version__,
        "workload": "lenet",
        "model": load_workload("lenet").model,
        "passed": passed,
        "reference": "pytorch",
        "accelerator": "cpu",
        "timed_batch_size": Scenario.batch_size,
        "expected_parameters": load_workload("lenet").parameters,
    }
    path.write_text(json.dumps({**values, "subjects": [subject]}))
    return path


@pytest.fixture
def offer(tmp_path: Path) -> PackageRequest:
    """The package request of the good submission."""
    return PackageRequest(
        "acme", None, SystemAvailability.RESEARCH, "a fan", (make_probe(tmp_path / "probe.json"),)
    )


@pytest.fixture
def submission(offer: PackageRequest, tmp_path: Path) -> Path:
    """A good submission that a test may edit."""
    return package_runs(make_runs(tmp_path / "runs"), offer, tmp_path / "submissions")
