"""Several ranks on this machine: the records grow with their number and not with its square; they
evaluate one model."""

import json
import re
from pathlib import Path

import pytest

from reference_impls.contract import log_name
from suite.bundle.log import Log
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.launch.environments import adopt_interpreter
from tests.conftest import Run, environment_of

pytestmark = [pytest.mark.proof]
FEW, MANY, OVERSUBSCRIBED = 2, 8, 64


def logs_of(bundle: Path, ranks: int) -> list[Log]:
    return [Bundle(bundle).log(rank) for rank in range(ranks)]


@pytest.fixture(scope="session")
def runs(
    digits: Path, suite: Run, suite_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Path]:
    """The fake framework on two and on eight ranks, in an interpreter with mpi4py."""
    adopt_interpreter(load_framework("fake"), environment_of("pytorch").interpreter, suite_home)
    made = {}
    for ranks in (FEW, MANY):
        made[ranks] = tmp_path_factory.mktemp("ranks") / str(ranks)
        words = (
            f"--division open --workload lenet --framework fake --data digits={digits} --threads 1"
            " --epochs 2"
        )
        suite.done(
            f"run {words} --batch-size 360 --ranks-per-node {ranks} --baseload 0"
            f" --output {made[ranks]}"
        )
    return made


@pytest.mark.proof
@pytest.mark.pytorch
def test_the_fake_framework_trains_on_several_ranks_as_on_one(
    runs: dict[int, Path], suite: Run
) -> None:
    for path in runs.values():
        suite.done(f"check {path} --json")
    correct = [
        [event.metadata["correct"] for event in Bundle(path).log().all("eval_accuracy")]
        for path in runs.values()
    ]
    assert correct[0] == correct[1]


@pytest.mark.proof
@pytest.mark.pytorch
def test_two_ranks_that_accumulate_train_as_by_larger_mini_batches(
    runs: dict[int, Path], digits: Path, suite: Run, tmp_path: Path
) -> None:
    """Three mini-batches of 120 samples an update; 1438 samples end with one of 118."""
    words = (
        f"--division open --workload lenet --framework fake --data digits={digits} --threads 1"
        " --epochs 2"
    )
    limits = f"--batch-size 120 --accumulate 3 --ranks-per-node {FEW} --baseload 0"
    suite.done(f"run {words} {limits} --output {tmp_path}/run")
    suite.done(f"check {tmp_path}/run")
    found, expected = (Bundle(path) for path in (tmp_path / "run", runs[FEW]))
    correct = [
        [event.metadata["correct"] for event in bundle.log().all("eval_accuracy")]
        for bundle in (found, expected)
    ]
    assert correct[0] == correct[1]
    steps = found.steps_frame()
    assert set(steps["step"][steps["communication_s"] > 0]) == {
        place for place in range(1, 25) if place % 3 == 0
    }


@pytest.mark.proof
@pytest.mark.pytorch
def test_64_ranks_train_as_two_and_their_logs_are_no_longer(
    runs: dict[int, Path], digits: Path, suite: Run, tmp_path: Path
) -> None:
    """Many ranks a processor: one of the two epochs, by a limit of its four steps."""
    words = (
        f"--division open --workload lenet --framework fake --data digits={digits} --threads 1"
        " --epochs 2"
    )
    limits = f"--steps 4 --batch-size 360 --ranks-per-node {OVERSUBSCRIBED} --baseload 0"
    suite.done(f"run {words} {limits} --output {tmp_path}/run")
    suite.done(f"check {tmp_path}/run")
    logs = logs_of(tmp_path / "run", OVERSUBSCRIBED)
    assert {log.value("eval_accuracy") for log in logs} == {
        Bundle(runs[FEW]).log().value("eval_accuracy")
    }
    assert (
        len(logs[0].value("clock_offsets_ns"))
        == OVERSUBSCRIBED
        == len(logs[0].value("chain_heads"))
    )
    sizes = [
        (tmp_path / "run" / log_name(rank)).stat().st_size for rank in range(1, OVERSUBSCRIBED)
    ]
    assert (
        max(sizes) - min(sizes) < 0.01 * min(sizes)
        and max(sizes) < (runs[FEW] / log_name(1)).stat().st_size
    )


@pytest.mark.proof
@pytest.mark.pytorch
def test_no_log_but_rank_0s_grows_with_the_ranks(runs: dict[int, Path]) -> None:
    sizes = {
        ranks: [(path / log_name(rank)).stat().st_size for rank in range(ranks)]
        for ranks, path in runs.items()
    }
    others = [size for ranks in runs for size in sizes[ranks][1:]]
    assert max(others) - min(others) < 0.01 * min(others)
    a_rank = (sizes[MANY][0] - sizes[FEW][0]) / (MANY - FEW)
    assert 0 < a_rank < 0.05 * sizes[FEW][0]


@pytest.mark.proof
@pytest.mark.pytorch
def test_every_rank_logs_what_it_compared_and_its_learning_rates(runs: dict[int, Path]) -> None:
    logs = logs_of(runs[MANY], MANY)
    assert len({json.dumps(log.value("admission"), sort_keys=True) for log in logs}) == 1
    assert re.fullmatch("[0-9a-f]{64}", logs[1].value("admission")["weights"])
    rates = [[event.value for event in log.all("learning_rates")] for log in logs]
    assert rates == [rates[0]] * MANY
    assert rates[0][0][0] == 0.005 and rates[0][0][-1] > rates[0][1][0] > 0


@pytest.mark.proof
def test_all_ranks_have_the_mean_of_their_statistics(
    framework: str, suite: Run, suite_home: Path, tmp_path: Path
) -> None:
    """Without the averaging they differ after the first step: each rank normalises its own
    samples."""
    adopt_interpreter(load_framework(framework), environment_of(framework).interpreter, suite_home)
    suite.done("data prepare cifar10 --synthetic")
    words = f"--division open --workload resnet18 --framework {framework} --data synthetic"
    limits = "--threads 1 --steps 2 --batch-size 8 --ranks-per-node 2 --baseload 0"
    suite.done(f"run {words} {limits} --output {tmp_path}/run")
    first, second = (
        [event.value for event in log.all("state_digests")] for log in logs_of(tmp_path / "run", 2)
    )
    assert first == second
    assert first[0]["statistic"] != first[0]["parameter"]
