"""A rank dies, a node hangs, the network is cut: the run ends within 30 s, says who and when, and leaves nobody behind."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.bundle.reader import Bundle
from tests.conftest import Run, environment_of
from tests.hosts.training import OVER_BOTH, Trainer
from tests.namespaces import Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.alone, pytest.mark.pytorch]
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Training:
    """A run of two nodes that has finished its first epoch."""

    cluster: Cluster
    process: "subprocess.Popen[str]"
    bundle: Path

    def rank(self, number: int) -> int:
        """The process that trains on a host."""
        found = self.cluster.processes(self.cluster.hosts[number])
        (pid,) = [pid for pid, words in found.items() if words.split()[1:3] == ["-m", "reference_impls.pytorch"]]
        return pid

    def expect_nobody_left(self, seconds: float = TIMEOUT_S) -> None:
        """Soon nothing runs on any host but its SSH server."""
        deadline_s = time.monotonic() + seconds
        while (left := self._left()) and time.monotonic() < deadline_s:
            time.sleep(0.1)
        assert not left

    def _left(self) -> list[str]:
        found = [words for host in self.cluster.hosts for words in self.cluster.processes(host).values()]
        return [words for words in found if words and "sshd" not in words.split()[0]]


@pytest.fixture
def training(trainer: Trainer, tmp_path: Path) -> Iterator[Training]:
    """LeNet on both hosts, for longer than any test lasts."""
    environment_of("pytorch")
    output = tmp_path / "run"
    process = trainer.start("pytorch", output, "--epochs", 100000)
    try:
        wait_for(lambda: process.poll() is not None or finished_epochs(output), 180)
        assert process.poll() is None, process.communicate()
        yield Training(trainer.cluster, process, output)
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


def expect_end(training: Training, suite: Run, rank: int) -> str:
    """As below, and nobody is left on any host."""
    began_s = time.monotonic()
    sentence = expect_sentence(training, suite, rank)
    training.expect_nobody_left(TIMEOUT_S - (time.monotonic() - began_s))
    return sentence


def expect_sentence(training: Training, suite: Run, rank: int) -> str:
    """The run ends in time, with one sentence; the bundle has every finished epoch and can be judged."""
    _, said = training.process.communicate(timeout=TIMEOUT_S)
    sentence = next(line for line in said.splitlines() if line.startswith("error: "))
    assert training.process.returncode == 2
    assert "Traceback" not in said
    assert f"rank {rank} on node node{rank + 1}" in sentence
    last = max(finished_epochs(training.bundle))
    assert f"epoch {last}" in sentence
    assert set(Bundle(training.bundle).steps_frame()["epoch"]) >= set(range(1, last + 1))
    verdict = suite("check", training.bundle, "--json")
    assert verdict.returncode == 1, verdict.stderr
    (finding,) = json.loads(verdict.stdout)["verdicts"][0]["findings"]
    assert finding["rule"] == "run-complete"
    assert sentence.partition("did not finish: ")[2].partition("; the last")[0] in finding["observed"]
    return sentence


@OVER_BOTH
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed(training: Training, suite: Run, rank: int) -> None:
    os.kill(training.rank(rank), signal.SIGKILL)
    expect_end(training, suite, rank)


def test_a_rank_that_is_stopped(training: Training, suite: Run) -> None:
    os.kill(training.rank(1), signal.SIGSTOP)
    assert "stopped" in expect_end(training, suite, 1)


def test_a_node_that_hangs_whole(training: Training, suite: Run) -> None:
    for pid in training.cluster.processes(training.cluster.hosts[1]):
        os.kill(pid, signal.SIGSTOP)
    try:
        assert "no heartbeat" in expect_sentence(training, suite, 1)
    finally:
        for pid in training.cluster.processes(training.cluster.hosts[1]):
            os.kill(pid, signal.SIGCONT)
    training.expect_nobody_left()  # once the node lives again


@OVER_BOTH
def test_a_network_that_is_cut(training: Training, suite: Run) -> None:
    training.cluster.cut(training.cluster.hosts[1])
    assert "no heartbeat" in expect_end(training, suite, 1)


def test_a_person_who_interrupts(training: Training) -> None:
    training.process.send_signal(signal.SIGINT)
    _, said = training.process.communicate(timeout=TIMEOUT_S)
    assert "Interrupted; every finished epoch is kept" in said
    assert training.process.returncode == 2
    training.expect_nobody_left()


def test_a_harness_that_is_killed(training: Training) -> None:
    training.process.kill()
    training.expect_nobody_left()
