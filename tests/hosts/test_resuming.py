"""A node is lost: the run ends after the silence that was asked for, and goes on with the nodes
that are left."""

import subprocess
from pathlib import Path

import pytest

from suite.bundle.layout import states_folder
from suite.bundle.reader import Bundle
from suite.bundle.resumption import read_resumption
from tests.conftest import Run, environment_of
from tests.hosts.test_failures import finished_epochs, wait_for
from tests.hosts.training import Trainer
from tests.namespaces import OVER_THE_WIRE, Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]
EPOCHS, LOST_AFTER_S = 20, 20
ENDS_S = 60.0
# too slow to reach the target
TRAINING = ("--epochs", EPOCHS, "--learning-rate", 1e-9, "--keep-states", "--baseload", 0)


def lose_last_node(trainer: Trainer, output: Path, *more: object) -> str:
    """Train until a state was kept, cut the last host's link, and return the sentence with which
    the run ends."""
    process = trainer.start("pytorch", output, *TRAINING, *more)
    try:
        wait_for(lambda: process.poll() is not None or is_kept(output), 180)
        assert process.poll() is None, process.communicate()
        trainer.cluster.cut(trainer.cluster.hosts[-1])
        _, said = process.communicate(timeout=ENDS_S)
    finally:
        process.kill()
    assert process.returncode == 2, said
    return next(line for line in said.splitlines() if line.startswith("error: "))


def is_kept(output: Path) -> bool:
    """Whether the state of a finished epoch was kept."""
    return any(
        (states_folder(output) / f"epoch_{epoch}.npz").exists() for epoch in finished_epochs(output)
    )


def resume(
    trainer: Trainer, run: Path, output: Path, left: int
) -> "subprocess.CompletedProcess[str]":
    """Continue a run on the first hosts of the hostfile."""
    trainer.hostfile.write_text("".join(f"{host.name}\n" for host in trainer.cluster.hosts[:left]))
    return trainer.typed(trainer.words("pytorch", output, *TRAINING, "--resume", run))


def expect_whole(before: Path, after: Path, ranks: tuple[int, int], suite: Run) -> None:
    """The second run trained from the first one's last kept state to the last epoch, says from
    what, and complies."""
    bundle = Bundle(after)
    record = read_resumption(bundle.run().resumed)
    assert record is not None and record.epoch >= 1
    assert (record.run_id, record.ranks, record.nodes) == (
        Bundle(before).run().run_id,
        ranks[0],
        ranks[0],
    )
    assert "no heartbeat from rank" in record.reason
    assert bundle.log().value("ranks") == ranks[1]
    assert finished_epochs(after) == list(range(record.epoch + 1, EPOCHS + 1))
    restored = bundle.log().first("state_restored")
    assert restored is not None and restored.value == dict(record.state)
    suite.done(f"check {after}")


def test_the_only_node_that_is_left_goes_on(trainer: Trainer, suite: Run, tmp_path: Path) -> None:
    environment_of("pytorch")
    sentence = lose_last_node(trainer, tmp_path / "lost", "--silence", LOST_AFTER_S)
    assert f"no heartbeat from rank 1 on node node2 for {LOST_AFTER_S} s" in sentence
    assert f"--resume {tmp_path}/lost" in sentence
    answer = resume(trainer, tmp_path / "lost", tmp_path / "again", 1)
    assert answer.returncode == 0, answer.stderr
    expect_whole(tmp_path / "lost", tmp_path / "again", (2, 1), suite)


def test_two_of_three_nodes_go_on(
    three_hosts: Cluster, digits: Path, suite: Run, tmp_path: Path
) -> None:
    environment_of("pytorch")
    trainer = Trainer(
        three_hosts, digits, three_hosts.hostfile(tmp_path / "hosts.txt"), OVER_THE_WIRE
    )
    assert "no heartbeat from rank 2 on node node3 for 10 s" in lose_last_node(
        trainer, tmp_path / "lost"
    )
    answer = resume(trainer, tmp_path / "lost", tmp_path / "again", 2)
    assert answer.returncode == 0, answer.stderr
    expect_whole(tmp_path / "lost", tmp_path / "again", (3, 2), suite)


def test_a_node_that_is_still_lost_is_named_before_anything_is_trained(
    trainer: Trainer, tmp_path: Path
) -> None:
    environment_of("pytorch")
    lose_last_node(trainer, tmp_path / "lost")
    answer = resume(trainer, tmp_path / "lost", tmp_path / "again", 2)
    assert answer.returncode == 2
    assert "node2 cannot be reached" in answer.stderr
    assert not (tmp_path / "again").exists()
