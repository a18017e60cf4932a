"""Two hosts train together: every gradient crosses the wire between them, and a slower wire costs
what it must."""

from pathlib import Path

import pytest

from reference_impls.communication import LARGE_BYTES
from suite.bundle.reader import Bundle
from suite.catalog.workloads import load_workload
from suite.metrics.study import PARTS
from tests.conftest import Run, environment_of
from tests.hosts.training import OVER_OPEN_MPI, Trainer
from tests.namespaces import Traffic

pytestmark = pytest.mark.hosts
LEAST_BYTES = 4 * load_workload("lenet").parameters
"""What each of two ranks must at least send and receive in a step: the sum of two arrays needs, at
both ends, all that the other end has."""


MEASURING_BYTES = sum(2**power for power in range(16, 21)) + 2 * 2**20 + 2 * LARGE_BYTES
"""What each of two nodes sends at most to measure its link before the run: messages from 64 KiB to
1 MiB, the last one three times. A busy machine sends fewer: the first slow one is the last. The
link's check and the run begin with a large message each."""


def counted(trainer: Trainer) -> dict[str, Traffic]:
    return {host.name: trainer.cluster.traffic(host) for host in trainer.cluster.hosts}


def train_and_count(
    trainer: Trainer, framework: str, output: Path, *more: object, at_most: float = 1.05
) -> Bundle:
    """Three epochs, in which every gradient goes through both hosts' interfaces, both ways, and
    little else: ``at_most`` times the gradients."""
    before = counted(trainer)
    bundle = trainer.train(framework, output, "--epochs", 3, *more)
    after = counted(trainer)
    steps = bundle.steps_frame()
    least = LEAST_BYTES * steps["step"].max()
    for host in before:
        for crossed in (
            after[host].sent_bytes - before[host].sent_bytes,
            after[host].received_bytes - before[host].received_bytes,
        ):
            assert least < crossed < at_most * least + MEASURING_BYTES
    assert bundle.log().value("nodes_of_ranks") == ["node0", "node1"]
    assert list(steps.groupby("rank")["samples"].sum()) == [3 * 719, 3 * 719]
    return bundle


def test_every_gradient_crosses_the_wire(
    trainer: Trainer, some_framework: str, suite: Run, tmp_path: Path
) -> None:
    bundle = train_and_count(trainer, some_framework, tmp_path / "run")
    suite.done(f"check {bundle.path}")


@pytest.mark.proof
def test_accumulated_gradients_cross_the_wire_once_an_update(
    trainer: Trainer, framework: str, suite: Run, tmp_path: Path
) -> None:
    """Of 45 mini-batches every fifth. Counted is what the second host sends: the first one measures
    the link before the run, too."""
    first = trainer.cluster.hosts[0]
    before = trainer.cluster.traffic(first)
    bundle = trainer.train(
        framework, tmp_path / "run", "--epochs", 3, "--batch-size", 32, "--accumulate", 5
    )
    after = trainer.cluster.traffic(first)
    least = LEAST_BYTES * 3 * 9
    received_bytes = after.received_bytes - before.received_bytes
    assert least < received_bytes < 1.05 * least + MEASURING_BYTES
    assert {
        bucket["exchanges"] for event in bundle.log().all("bucket_times") for bucket in event.value
    } == {9}
    suite.done(f"check {bundle.path}")


@pytest.mark.proof
@OVER_OPEN_MPI
@pytest.mark.pytorch
def test_another_mpi_does_the_same(trainer: Trainer, tmp_path: Path) -> None:
    train_and_count(trainer, "pytorch", tmp_path / "run")


@pytest.mark.proof
@pytest.mark.pytorch
def test_a_link_of_100_megabits_shows_as_communication(trainer: Trainer, tmp_path: Path) -> None:
    """The backward pass hides a part of the exchange, the larger the slower the machine: only a
    whole step has the wire's time as its least."""
    environment_of("pytorch")
    on_the_wire_s = LEAST_BYTES * 8 / 100e6
    open_s, _ = undisturbed_s(trainer.train("pytorch", tmp_path / "open", "--steps", 60))
    trainer.cluster.shape(trainer.cluster.hosts[1], megabits_per_s=100)
    shaped_s, step_s = undisturbed_s(trainer.train("pytorch", tmp_path / "shaped", "--steps", 60))
    assert open_s < 0.5 * on_the_wire_s
    assert open_s + 0.5 * on_the_wire_s < shaped_s < 2 * on_the_wire_s
    assert 0.95 * on_the_wire_s < step_s  # a link lets some bytes through at once after a pause


def undisturbed_s(bundle: Bundle) -> tuple[float, float]:
    """The communication of a step, and the whole step, when the machine does little else: the lower
    quartiles, of the rank that takes longer."""
    steps = bundle.steps_frame()
    longest = (
        steps.assign(step_s=steps[PARTS].sum(axis=1))
        .groupby("step")[["communication_s", "step_s"]]
        .max()
        .quantile(0.25)
    )
    return float(longest["communication_s"]), float(longest["step_s"])


@pytest.mark.proof
def test_a_run_that_does_not_begin_on_its_first_host_is_refused(
    trainer: Trainer, tmp_path: Path
) -> None:
    """The records would be where nobody looks."""
    _, second = trainer.cluster.hosts
    answer = trainer.cluster.run(second, *trainer.words("fake", tmp_path / "run"))
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1].startswith(
        "error: The hostfile's first host is node1; it must be this machine"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.proof
@pytest.mark.pytorch
def test_a_node_without_the_data_is_named_in_its_own_words(
    trainer: Trainer, tmp_path: Path
) -> None:
    environment_of("pytorch")
    first, second = trainer.cluster.hosts
    (tmp_path / "empty").mkdir()
    trainer.cluster.replace(second, trainer.digits, tmp_path / "empty")
    answer = trainer.cluster.run(first, *trainer.words("pytorch", tmp_path / "run"))
    assert answer.returncode == 2
    sentence = answer.stderr.splitlines()[-1]
    assert sentence.startswith("error: The run did not finish: rank ")
    assert "node2 has other data in t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte" in sentence
    assert "(unreadable: No such file or directory for " in sentence
    assert "no epoch was finished" in sentence
    assert "Traceback" not in answer.stderr


@pytest.mark.proof
@pytest.mark.chainer
def test_a_node_without_the_environment_is_named(trainer: Trainer, tmp_path: Path) -> None:
    interpreter = environment_of("chainer").interpreter
    first, second = trainer.cluster.hosts
    (tmp_path / "empty").mkdir()
    trainer.cluster.replace(second, interpreter.parent, tmp_path / "empty")
    answer = trainer.cluster.run(first, *trainer.words("chainer", tmp_path / "run"))
    assert answer.returncode == 2
    assert f"node2 has no {interpreter}" in answer.stderr
    assert "suite env create chainer" in answer.stderr
