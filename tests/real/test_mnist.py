"""LeNet-5 on real MNIST: the target is reached, and the frameworks do the same mathematics."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from reference_impls import contract
from reference_impls.contract import DataSet
from reference_impls.replay import LOSSES_NAME
from suite.catalog.frameworks import load_framework
from suite.datasets.prepare import from_directory
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from tests.builders import Scenario, make_request
from tests.conftest import FRAMEWORKS, Run, environment_of, train

pytestmark = [pytest.mark.real, pytest.mark.proof]
STEPS = 100
ROUNDED_ALIKE = 20


def test_a_closed_run_reaches_the_target_and_complies(
    framework: str, suite: Run, mnist: Path, tmp_path: Path
) -> None:
    suite.done(f"env create {framework} --interpreter {environment_of(framework).interpreter}")
    suite.done(f"data prepare mnist --from {mnist}")
    command = (
        f"run --division closed --device auto --workload lenet --framework {framework} --threads 1"
    )
    ran = suite.done(f"{command} --output {tmp_path}/run --json")
    figures = json.loads(ran.stdout)["figures"]
    assert figures["best_accuracy"]["value"] >= 0.99
    assert figures["epochs_to_target"]["value"] <= 10
    suite.done(f"check {tmp_path}/run")


@pytest.mark.agreement
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_first_losses_agree_between_frameworks(seed: int, mnist: Path, tmp_path: Path) -> None:
    """Same initial weights, same mini-batches: in float64 the losses of 100 steps agree to 1e-9
    relative.

    In float32 they agree until rounding decides a comparison (a maximum, a ReLU) differently, after
    which they diverge. When that is depends on the CPU's instructions: of seeds 1 to 3 none within
    100 steps on one machine, seed 3 at step 52 on another.
    """
    data = DataSet(
        "mnist",
        str(from_directory("mnist", mnist, tmp_path / "home").directory),
        "idx",
        10,
        60000,
        10000,
        True,
        False,
    )
    exact = {
        name: _in_float64(name, tmp_path / f"{name}-float64", data, seed) for name in FRAMEWORKS
    }
    for name in FRAMEWORKS:
        assert len(exact[name]) == STEPS
        assert exact[name] == pytest.approx(exact["pytorch"], rel=1e-9)
        losses = train(name, tmp_path / name, data, seed=seed, steps=ROUNDED_ALIKE).losses
        assert len(losses) == ROUNDED_ALIKE
        assert losses == pytest.approx(exact["pytorch"][:ROUNDED_ALIKE], rel=1e-4)


def _in_float64(framework: str, folder: Path, data: DataSet, seed: int) -> list[float]:
    folder.mkdir()
    request = make_request(folder, Scenario(framework=framework))._replace(
        data=data, global_batch_size=16, threads=1, seed=seed, steps=STEPS
    )
    (folder / contract.REQUEST_NAME).write_text(json.dumps(contract.request_to_dict(request)))
    words = [
        environment_of(framework).interpreter,
        "-m",
        f"{load_framework(framework).module}.replay",
        "--request",
        folder / contract.REQUEST_NAME,
    ]
    answer = subprocess.run(
        list(map(str, words)),
        cwd=repository_root(),
        env=child_environment(1),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return [float(loss) for loss in np.load(folder / LOSSES_NAME)["losses"]]
