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

from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.launch.environments import adopt
from tests.conftest import Run, environment_of
from tests.hosts.training import OVER_BOTH, Trainer
from tests.namespaces import Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Training:
    """A run of two nodes that has finished its first epoch; ``framework`` trains."""

    cluster: Cluster
    process: "subprocess.Popen[str]"
    bundle: Path
    framework: str

    def rank(self, number: int) -> int:
        """The process that trains on a host."""
        found = self.cluster.processes(self.cluster.hosts[number])
        (pid,) = [
            pid
            for pid, words in found.items()
            if words.split()[1:3] == ["-m", f"reference_impls.{self.framework}"]
        ]
        return pid

    def find(self, number: int, words: str) -> int:
        """The Python process on a host whose command line has these words."""
        found = self.cluster.processes(self.cluster.hosts[number])
        (pid,) = [
            pid for pid, said in found.items() if words in said and "python" in said.split()[0]
        ]
        return pid

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
    adopt(load_framework("fake"), environment_of("pytorch").interpreter, home)  # it has mpi4py
    at_home = replace(trainer, variables={**trainer.variables, "SUITE_HOME": str(home)})
    with started(at_home, "fake", tmp_path / "run") as training:
        yield training


@contextmanager
def started(trainer: Trainer, framework: str, output: Path) -> Iterator[Training]:
    process = trainer.start(framework, output, "--epochs", 100000, "--learning-rate", 1e-9)
    try:
        wait_for(lambda: process.poll() is not None or finished_epochs(output), 180)
        assert process.poll() is None, process.communicate()
        yield Training(trainer.cluster, process, output, framework)
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
    verdict = suite("check", training.bundle, "--json")
    assert verdict.returncode == 1, verdict.stderr
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
@pytest.mark.parametrize(("rank", "number"), [(0, signal.SIGBUS), (1, signal.SIGKILL)])
def test_a_rank_that_is_ended_by_a_signal(
    pytorch_training: Training, suite: Run, rank: int, number: signal.Signals
) -> None:
    os.kill(pytorch_training.rank(rank), number)
    assert f"was ended by signal {number.value} ({number.name})" in expect_end(
        pytorch_training, suite, rank
    )


def test_an_mpirun_that_is_killed(training: Training, suite: Run) -> None:
    found = training.cluster.processes(training.cluster.hosts[0])
    (pid,) = [
        pid
        for pid, words in found.items()
        if words.split()[0].endswith(("mpirun", "mpiexec", "mpiexec.hydra"))
    ]
    os.kill(pid, signal.SIGKILL)
    assert (
        "mpirun, which starts and watches the ranks, was ended by signal 9 (SIGKILL)"
        in expect_end(training, suite, None)
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_a_proxy_of_mpirun_that_is_killed(training: Training, suite: Run, rank: int) -> None:
    """The ranks would go on, and their results be lost at the end."""
    found = training.cluster.processes(training.cluster.hosts[rank])
    (pid,) = [
        pid
        for pid, words in found.items()
        if words and words.split()[0].endswith("hydra_pmi_proxy")
    ]
    os.kill(pid, signal.SIGKILL)
    assert f"the launcher of rank {rank} on node node{rank + 1}" in expect_end(
        training, suite, rank
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_a_heartbeat_process_that_is_killed(training: Training, suite: Run, rank: int) -> None:
    os.kill(training.find(rank, "-m reference_impls.rank"), signal.SIGKILL)
    assert "the heartbeat process of rank" in expect_end(training, suite, rank)


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
    pid = training.find(1, "suite.execution.node_recorder")
    os.kill(pid, signal.SIGKILL)
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
    assert "Interrupted; every finished epoch is kept" in said
    assert training.process.returncode == 2
    training.cluster.expect_nobody_left()


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
    training.cluster.expect_nobody_left()  # once the node lives again


@OVER_BOTH
def test_a_network_that_is_cut(pytorch_training: Training, suite: Run) -> None:
    pytorch_training.cluster.cut(pytorch_training.cluster.hosts[1])
    assert "no heartbeat" in expect_end(pytorch_training, suite, 1)


def test_a_harness_that_is_killed(training: Training) -> None:
    training.process.kill()
    training.cluster.expect_nobody_left()
