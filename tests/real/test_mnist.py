"""LeNet-5 on real MNIST: the target is reached, and the frameworks do the same mathematics."""

import json
from pathlib import Path

import pytest

from reference_impls.contract import DataSet
from suite.datasets.prepare import from_directory
from tests.conftest import FRAMEWORKS, Run, environment_of, train

pytestmark = pytest.mark.real
STEPS = 100


def test_a_closed_run_reaches_the_target_and_complies(framework: str, suite: Run, mnist: Path, tmp_path: Path) -> None:
    assert suite("env", "create", framework, "--interpreter", environment_of(framework).interpreter).returncode == 0
    assert suite("data", "prepare", "mnist", "--from", mnist).returncode == 0
    command = ("run", "--division", "closed", "--device", "auto", "--workload", "lenet", "--framework", framework, "--threads", 1)
    ran = suite(*command, "--output", tmp_path / "run", "--json")
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(ran.stdout)["figures"]
    assert figures["best_accuracy"]["value"] >= 0.99
    assert figures["epochs_to_target"]["value"] <= 10
    judged = suite("check", tmp_path / "run")
    assert judged.returncode == 0, judged.stdout


@pytest.mark.agreement
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_first_losses_agree_between_frameworks(seed: int, mnist: Path, tmp_path: Path) -> None:
    """Same initial weights, same mini-batches: the losses of 100 steps agree to 1e-3 relative."""
    data = DataSet("mnist", str(from_directory("mnist", mnist, tmp_path / "home").directory), "idx", 10, 60000, 10000, True, False)
    losses = {name: train(name, tmp_path / name, data, seed=seed, steps=STEPS).losses for name in FRAMEWORKS}
    for name in FRAMEWORKS:
        assert len(losses[name]) == STEPS
        assert losses[name] == pytest.approx(losses["pytorch"], rel=1e-3)
