"""A submission of three closed runs that complies, with every measurement that a rule reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.submission import package
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest
from tests.builders import RICH, Scenario, make_bundle
from tests.made_once import made_once
from tests.suite.submission.conftest import EPOCHS_TO_TARGET, LATER_S, make_probe, started_name


def good_submission(folder: Path, ranks: int = 1) -> Path:
    """Package three runs into a tree below ``folder``, each rank on its own node; returns the
    submission."""
    tree = (
        made_once(
            ("good submission", ranks),
            folder / "made",
            lambda place: _write_submission(place, ranks),
        )
        / "submissions"
    )
    (declaration,) = tree.glob("*/*/declaration.json")
    return declaration.parent


def _write_submission(folder: Path, ranks: int) -> None:
    runs = [
        make_bundle(folder / f"run{seed}", run_scenario(seed, epochs, ranks))
        for seed, epochs in enumerate(EPOCHS_TO_TARGET, start=1)
    ]
    offer = PackageRequest(
        "acme", None, SystemAvailability.RESEARCH, "", (make_probe(folder / "probe.json"),)
    )
    package_outside_git(runs, offer, folder / "submissions")


def package_outside_git(runs: list[Path], offer: PackageRequest, tree: Path) -> Path:
    """Package runs as an installed suite does: a kept output is the same in every checkout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package, "_git", lambda root, *arguments: None)
        return package.package_runs(runs, offer, tree)


def run_scenario(seed: int, epochs: int, ranks: int = 1) -> Scenario:
    """The run of a seed, which reaches its target after these epochs."""
    name, accuracies, later_s = (
        started_name(seed),
        (0.97, *(0.985,) * (epochs - 2), 0.9905),
        LATER_S * (seed - 1),
    )
    varied = replace(
        RICH, name=name, seed=seed, step_s=0.005 + seed * 2.5e-6, jitter=0.01, later_s=later_s
    )
    return replace(varied, ranks=ranks, nodes=ranks, accuracies=accuracies)
