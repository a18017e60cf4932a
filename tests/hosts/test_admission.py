"""What must never be wrong in silence: a node that differs, and a machine under two names, end a
run before its first step."""

import re
from pathlib import Path

import pytest

from proofs.host_faults.faults import (
    LABELS,
    Scene,
    hosts,
    other_gradients,
    other_optimizer,
    other_schedule,
    other_version,
    rolled_labels,
)
from tests.conftest import environment_of
from tests.hosts.test_failures import finished_epochs, wait_for
from tests.hosts.training import Trainer

pytestmark = [pytest.mark.hosts, pytest.mark.proof]


@pytest.fixture
def scene(trainer: Trainer, tmp_path: Path) -> Scene:
    """Two hosts with PyTorch."""
    return Scene(trainer, environment_of("pytorch").interpreter, tmp_path)


def refused(trainer: Trainer, framework: str, output: Path) -> str:
    """The sentence with which a run ends, with exit code 2; nobody is left on any host, and no
    epoch was trained."""
    answer = trainer.typed(trainer.words(framework, output))
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    assert "epoch_stop" not in (
        (output / "log.txt").read_text() if (output / "log.txt").exists() else ""
    )
    trainer.cluster.expect_nobody_left()
    return next(line for line in answer.stderr.splitlines() if line.startswith("error: "))


def test_labels_rolled_by_three_on_one_node(
    trainer: Trainer, framework: str, tmp_path: Path
) -> None:
    rolled_labels(Scene(trainer, environment_of(framework).interpreter, tmp_path))
    sentence = refused(trainer, framework, tmp_path / "run")
    assert "node2 has other data in train-labels-idx1-ubyte than node1" in sentence
    assert "rsync" in sentence
    said = re.findall(
        r"error: rank (\d) on node\d: (.*)", (tmp_path / "run/output.txt").read_text()
    )
    assert {rank for rank, _ in said} <= {"0", "1"} and said
    assert len({sentence for _, sentence in said}) == 1, "every rank says it"


@pytest.mark.pytorch
def test_another_learning_rate_in_the_schedules_of_one_node(scene: Scene) -> None:
    other_schedule(scene)
    sentence = refused(scene.trainer, "pytorch", scene.folder / "run")
    assert (
        "node2" in sentence and "reference_impls/schedules.py" in sentence and "rsync" in sentence
    )


@pytest.mark.pytorch
def test_another_version_of_the_framework_on_one_node(scene: Scene) -> None:
    other_version(scene)
    sentence = refused(scene.trainer, "pytorch", scene.folder / "run")
    assert "node2 has another version of torch than node1 (1.0.0" in sentence
    assert "suite env create pytorch --force" in sentence


@pytest.mark.pytorch
def test_another_file_of_the_same_version_on_one_node(scene: Scene) -> None:
    """node2's SGD steps a tenth further."""
    other_optimizer(scene)
    sentence = refused(scene.trainer, "pytorch", scene.folder / "run")
    assert "node2 has another file torch/optim/sgd.py than node1" in sentence


def test_a_gradient_that_only_its_numbers_show(
    trainer: Trainer, framework: str, tmp_path: Path
) -> None:
    """The fault is in mpi4py, whose files may differ: gradients behind a convolution are a
    tenth."""
    other_gradients(Scene(trainer, environment_of(framework).interpreter, tmp_path), framework)
    sentence = refused(trainer, framework, tmp_path / "run")
    assert "node1 and node2 compute different gradients from the same mini-batch" in sentence
    assert "of its norm apart, 0.2 is allowed" in sentence


@pytest.mark.pytorch
def test_machines_of_one_host_name_are_told_apart(scene: Scene) -> None:
    for host in scene.cluster.hosts:
        assert scene.cluster.run(host, "hostname", "raspberrypi").returncode == 0
    hosts(*(host.address for host in scene.cluster.hosts))(scene)
    rolled_labels(scene)
    sentence = refused(scene.trainer, "pytorch", scene.folder / "run")
    first, second = (host.address for host in scene.cluster.hosts)
    assert f"{second} has other data in {LABELS} than {first}" in sentence
    assert "node1 has other data in" in (scene.folder / "run/run.json").read_text()


@pytest.mark.pytorch
def test_labels_that_change_on_one_node_while_it_trains(scene: Scene) -> None:
    theirs, output = scene.folder / "labels", scene.folder / "run"
    content = (scene.trainer.digits / LABELS).read_bytes()
    theirs.write_bytes(content)
    scene.replace(scene.trainer.digits / LABELS, theirs)
    process = scene.trainer.start("pytorch", output, "--epochs", 10)
    wait_for(lambda: process.poll() is not None or finished_epochs(output), 120)
    with theirs.open("r+b") as stream:
        stream.write(content[:8] + content[11:] + content[8:11])
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert f"the data on node2 changed during the run ({LABELS})" in said
    scene.cluster.expect_nobody_left()


@pytest.mark.pytorch
def test_one_machine_under_two_names(scene: Scene) -> None:
    first = scene.cluster.hosts[0]
    hosts(first.name, first.address)(scene)
    sentence = refused(scene.trainer, "pytorch", scene.folder / "run")
    assert f"{first.address} and node1 are one machine" in sentence
    assert "--ranks-per-node" in sentence
    assert not (scene.folder / "run").exists()


@pytest.mark.pytorch
def test_a_name_that_is_no_host(scene: Scene) -> None:
    hosts("node1", "pi9")(scene)
    assert "pi9 cannot be reached" in refused(scene.trainer, "pytorch", scene.folder / "run")
