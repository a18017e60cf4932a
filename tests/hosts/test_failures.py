"""A rank dies, a node hangs, the network is cut: the run ends within 30 s, says who and when, and
leaves nobody behind."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from proofs.host_faults.faults import (
    PROXY,
    RECORDER,
    Scene,
    cut,
    every,
    heartbeat,
    launcher,
    program,
    rank,
    send,
)
from suite.bundle.limits import MAX_EPOCHS
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.launch.environments import adopt_interpreter
from tests.conftest import Run, environment_of
from tests.hosts.training import OVER_BOTH, Trainer
from tests.namespaces import Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Training:
    """A run of two nodes that has finished its first epoch; ``framework`` trains."""

    scene: Scene
    process: "subprocess.Popen[str]"
    bundle: Path
    framework: str

    @property
    def cluster(self) -> Cluster:
        """The hosts."""
        return self.scene.cluster

    def ranks_run(self) -> bool:
        """Whether a rank trains on any host."""
        return any(
            f"-m reference_impls.{self.framework}" in words
            for host in self.cluster.hosts
            for words in self.cluster.processes(host).values()
        )


@pytest.fixture
def pytorch_training(trainer: Trainer, tmp_path: Path) -> Iterator[Training]:
    """LeNet on both hosts, for longer than any test lasts."""
    environment_of("pytorch")
    with started(trainer, "pytorch", tmp_path / "run") as training:
        yield training


@pytest.fixture
def training(trainer: Trainer, tmp_path: Path) -> Iterator[Training]:
    """The same by the framework of the standard library, whose ranks begin sooner: for faults of
    which the framework takes no part."""
    home = tmp_path / "home"
    adopt_interpreter(
        load_framework("fake"), environment_of("pytorch").interpreter, home
    )  # it has mpi4py
    at_home = replace(trainer, variables={**trainer.variables, "SUITE_HOME": str(home)})
    with started(at_home, "fake", tmp_path / "run") as training:
        yield training


@contextmanager
def started(trainer: Trainer, framework: str, output: Path) -> Iterator[Training]:
    process = trainer.start(framework, output, "--epochs", MAX_EPOCHS, "--learning-rate", 1e-9)
    try:
        wait_for(lambda: process.poll() is not None or finished_epochs(output), 180)
        assert process.poll() is None, process.communicate()
        scene = Scene(trainer, environment_of("pytorch").interpreter, output.parent)
        yield Training(scene, process, output, framework)
    finally:
        process.kill()
        process.communicate()


def finished_epochs(output: Path) -> list[int]:
    return list(Bundle(output).log().finished_epochs()) if (output / "log.txt").exists() else []


def wait_for(condition: Callable[[], object], seconds: float) -> None:
    deadline_s = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert condition()


def expect_end(training: Training, suite: Run, rank: int | None) -> str:
    """As below, and nobody is left on any host."""
    began_s = time.monotonic()
    sentence = expect_sentence(training, suite, rank)
    training.cluster.expect_nobody_left(TIMEOUT_S - (time.monotonic() - began_s))
    return sentence


def expect_sentence(training: Training, suite: Run, rank: int | None) -> str:
    """The run ends in time, with one sentence; the bundle has every finished epoch and can be
    judged. ``rank`` None: no rank is to blame."""
    _, said = training.process.communicate(timeout=TIMEOUT_S)
    sentence = next(line for line in said.splitlines() if line.startswith("error: "))
    assert training.process.returncode == 2
    assert "Traceback" not in said
    assert (
        f"rank {rank} on node node{rank + 1}" in sentence
        if rank is not None
        else " on node node" not in sentence
    )
    last = max(finished_epochs(training.bundle))
    assert f"epoch {last}" in sentence
    assert set(Bundle(training.bundle).steps_frame()["epoch"]) >= set(range(1, last + 1))
    verdict = suite.refused(f"check {training.bundle} --json", code=1)
    (finding,) = json.loads(verdict.stdout)["verdicts"][0]["findings"]
    assert finding["rule"] == "run-complete"
    said_in_bundle = re.sub(
        r"\bnode(\d)\b",
        lambda host: f"node{int(host[1]) - 1}",
        sentence.partition("did not finish: ")[2],
    )
    assert said_in_bundle.partition("; the last")[0] in finding["observed"]
    return sentence


@OVER_BOTH
# more: make prove host-faults
@pytest.mark.parametrize(("of", "number"), [(0, signal.SIGBUS), (1, signal.SIGKILL)])
def test_a_rank_that_is_ended_by_a_signal(
    pytorch_training: Training, suite: Run, of: int, number: signal.Signals
) -> None:
    rank(number, of)(pytorch_training.scene)
    assert f"was ended by signal {number.value} ({number.name})" in expect_end(
        pytorch_training, suite, of
    )


def test_an_mpirun_that_is_killed(training: Training, suite: Run) -> None:
    launcher(signal.SIGKILL)(training.scene)
    assert (
        "mpirun, which starts and watches the ranks, was ended by signal 9 (SIGKILL)"
        in expect_end(training, suite, None)
    )


@pytest.mark.parametrize("of", [0, 1])
def test_a_proxy_of_mpirun_that_is_killed(training: Training, suite: Run, of: int) -> None:
    """The ranks would go on, and their results be lost at the end."""
    program(signal.SIGKILL, of, PROXY)(training.scene)
    assert f"the launcher of rank {of} on node node{of + 1}" in expect_end(training, suite, of)


@pytest.mark.parametrize("of", [0, 1])
def test_a_heartbeat_process_that_is_killed(training: Training, suite: Run, of: int) -> None:
    heartbeat(signal.SIGKILL, of)(training.scene)
    assert "the heartbeat process of rank" in expect_end(training, suite, of)


def test_a_harness_that_is_stopped_for_longer_than_its_ranks_wait(
    training: Training, suite: Run
) -> None:
    os.kill(training.process.pid, signal.SIGSTOP)
    wait_for(lambda: not training.ranks_run(), TIMEOUT_S)
    os.kill(training.process.pid, signal.SIGCONT)
    assert "the harness itself was stopped for" in expect_end(training, suite, None)


def test_a_recorder_that_is_killed_is_started_again_and_the_run_goes_on_until_its_terminal_is_closed(  # noqa: E501
    training: Training,
) -> None:
    send(signal.SIGKILL, 1, RECORDER)(training.scene)
    wait_for(
        lambda: [
            1
            for words in training.cluster.processes(training.cluster.hosts[1]).values()
            if '"goes_on": true' in words
        ],
        TIMEOUT_S,
    )
    assert training.process.poll() is None
    training.process.send_signal(signal.SIGHUP)
    _, said = training.process.communicate(timeout=TIMEOUT_S)
    assert "The recorder on node2 was lost" in said and "it was started again" in said
    assert "Interrupted; " in said and " finished epoch" in said
    assert training.process.returncode == 2
    training.cluster.expect_nobody_left()


def test_a_rank_that_is_stopped(training: Training, suite: Run) -> None:
    rank(signal.SIGSTOP, 1, training.framework)(training.scene)
    assert "stopped" in expect_end(training, suite, 1)


def test_a_node_that_hangs_whole(training: Training, suite: Run) -> None:
    every(signal.SIGSTOP, 1)(training.scene)
    try:
        assert "no heartbeat" in expect_sentence(training, suite, 1)
    finally:
        every(signal.SIGCONT, 1)(training.scene)
    training.cluster.expect_nobody_left()  # once the node lives again


@OVER_BOTH
def test_a_network_that_is_cut(pytorch_training: Training, suite: Run) -> None:
    cut(1)(pytorch_training.scene)
    assert "no heartbeat" in expect_end(pytorch_training, suite, 1)


def test_a_harness_that_is_killed(training: Training) -> None:
    training.process.kill()
    training.cluster.expect_nobody_left()
