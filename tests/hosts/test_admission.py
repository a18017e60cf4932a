"""What must never be wrong in silence: a node that differs, and a machine under two names, end a
run before its first step."""

import re
import subprocess
from pathlib import Path

import pytest

from suite.files.paths import repository_root
from suite.launch.environments import Environment
from tests.conftest import environment_of
from tests.hosts.test_failures import finished_epochs, wait_for
from tests.hosts.training import Trainer

pytestmark = [pytest.mark.hosts, pytest.mark.proof]
LABELS = "train-labels-idx1-ubyte"
SCHEDULES = repository_root() / "reference_impls/schedules.py"


def rolled(labels: Path, place: Path, by: int = 3) -> Path:
    """The labels of an IDX file, each moved by some samples."""
    content = labels.read_bytes()
    place.write_bytes(content[:8] + content[8 + by :] + content[8 : 8 + by])
    return place


def refused(trainer: Trainer, framework: str, output: Path) -> str:
    """The sentence with which a run ends, with exit code 2; nobody is left on any host, and no
    epoch was trained."""
    answer = trainer.cluster.run(
        trainer.cluster.hosts[0],
        *trainer.words(framework, output),
        variables=trainer.variables,
        cwd=repository_root(),
        timeout_s=300,
    )
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
    trainer.cluster.replace(
        trainer.cluster.hosts[1],
        trainer.digits / LABELS,
        rolled(trainer.digits / LABELS, tmp_path / "labels"),
    )
    sentence = refused(trainer, framework, tmp_path / "run")
    assert "node2 has other data in train-labels-idx1-ubyte than node1" in sentence
    assert "rsync" in sentence


@pytest.mark.pytorch
def test_every_rank_says_it(trainer: Trainer, tmp_path: Path) -> None:
    environment_of("pytorch")
    trainer.cluster.replace(
        trainer.cluster.hosts[1],
        trainer.digits / LABELS,
        rolled(trainer.digits / LABELS, tmp_path / "labels"),
    )
    refused(trainer, "pytorch", tmp_path / "run")
    said = re.findall(
        r"error: rank (\d) on node\d: (.*)", (tmp_path / "run/output.txt").read_text()
    )
    assert {rank for rank, _ in said} <= {"0", "1"} and said
    assert len({sentence for _, sentence in said}) == 1


@pytest.mark.pytorch
def test_another_learning_rate_in_the_schedules_of_one_node(
    trainer: Trainer, tmp_path: Path
) -> None:
    environment_of("pytorch")
    (tmp_path / "schedules.py").write_text(
        SCHEDULES.read_text().replace("return base * (1.0 - step", "return base * (1.1 - step")
    )
    trainer.cluster.replace(trainer.cluster.hosts[1], SCHEDULES, tmp_path / "schedules.py")
    sentence = refused(trainer, "pytorch", tmp_path / "run")
    assert (
        "node2" in sentence and "reference_impls/schedules.py" in sentence and "rsync" in sentence
    )


@pytest.mark.pytorch
def test_another_version_of_the_framework_on_one_node(trainer: Trainer, tmp_path: Path) -> None:
    version = _torch(environment_of("pytorch")) / "version.py"
    text = version.read_text()
    (tmp_path / "version.py").write_text(
        re.sub(r"__version__ = '[^']*'", "__version__ = '1.0.0'", text)
    )
    assert (tmp_path / "version.py").read_text() != text
    trainer.cluster.replace(trainer.cluster.hosts[1], version, tmp_path / "version.py")
    sentence = refused(trainer, "pytorch", tmp_path / "run")
    assert "node2 has another version of torch than node1 (1.0.0" in sentence
    assert "suite env create pytorch --force" in sentence


@pytest.mark.pytorch
def test_ranks_that_come_apart_after_all_comparisons(trainer: Trainer, tmp_path: Path) -> None:
    """A library of the same version that computes something else: node2's SGD steps a tenth
    further."""
    optimizer = _torch(environment_of("pytorch")) / "optim/sgd.py"
    text = optimizer.read_text()
    (tmp_path / "sgd.py").write_text(text.replace("alpha=-lr", "alpha=-1.1 * lr"))
    assert (tmp_path / "sgd.py").read_text() != text
    trainer.cluster.replace(trainer.cluster.hosts[1], optimizer, tmp_path / "sgd.py")
    answer = trainer.cluster.run(
        trainer.cluster.hosts[0],
        *trainer.words("pytorch", tmp_path / "run", "--epochs", 3),
        variables=trainer.variables,
        cwd=repository_root(),
        timeout_s=300,
    )
    assert answer.returncode == 2, answer.stderr
    assert (
        "node2 (rank 1) has another parameter" in answer.stderr
        and "than node1 (rank 0) after epoch 1" in answer.stderr
    )


@pytest.mark.pytorch
def test_labels_that_change_on_one_node_while_it_trains(trainer: Trainer, tmp_path: Path) -> None:
    environment_of("pytorch")
    theirs = tmp_path / "labels"
    theirs.write_bytes((trainer.digits / LABELS).read_bytes())
    trainer.cluster.replace(trainer.cluster.hosts[1], trainer.digits / LABELS, theirs)
    process = trainer.start("pytorch", tmp_path / "run", "--epochs", 10)
    wait_for(lambda: process.poll() is not None or finished_epochs(tmp_path / "run"), 120)
    with theirs.open("r+b") as stream:
        stream.write(rolled(theirs, tmp_path / "rolled").read_bytes())
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert f"the data on node2 were changed during the run ({LABELS})" in said
    trainer.cluster.expect_nobody_left()


def _torch(environment: Environment) -> Path:
    words = [
        str(environment.interpreter),
        "-c",
        "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])",
    ]
    return Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip())


@pytest.mark.pytorch
def test_one_machine_under_two_names(trainer: Trainer, tmp_path: Path) -> None:
    environment_of("pytorch")
    first = trainer.cluster.hosts[0]
    trainer.hostfile.write_text(f"{first.name}\n{first.address}\n")
    sentence = refused(trainer, "pytorch", tmp_path / "run")
    assert f"{first.address} and node1 are one machine" in sentence
    assert "--ranks-per-node" in sentence
    assert not (tmp_path / "run").exists()


@pytest.mark.pytorch
def test_a_name_that_is_no_host(trainer: Trainer, tmp_path: Path) -> None:
    environment_of("pytorch")
    trainer.hostfile.write_text("node1\npi9\n")
    assert "pi9 cannot be reached" in refused(trainer, "pytorch", tmp_path / "run")
