"""Several ranks are, after some steps in float64, where one rank is; a mistake in what they do
together shows."""

import json

import pytest

from reference_impls.contract import LOCAL, Parallel
from suite.catalog.workloads import load_workload
from suite.files.paths import home
from suite.verify.probing import ProbedImplementation
from suite.verify.ranks import (
    BUCKET_BYTES,
    ONE_RANK,
    SHARES_IN_TURN,
    STEPS,
    RanksVerdict,
    verify_ranks,
)
from tests.conftest import Run, environment_of
from tests.every_case import some

WORKLOADS = {"lenet": ONE_RANK, "resnet18": SHARES_IN_TURN}
"""With what each is compared: batch normalisation makes shares another method than the whole."""

RANKS = {"lenet": (2, 4), "resnet18": (2,)}
STEPS_HERE = {"lenet": STEPS, "resnet18": 12}
"""VGG-11, four ranks of ResNet-18 and its 50 steps take minutes on two cores: `make prove
verify-full`."""

MISTAKES = {
    "every_rank_counts_alike": {"losses", "parameter"},
    "nobody_gets_the_first_ranks_weights": {"losses", "parameter", "ranks apart"},
    "a_bucket_stays_at_home": {"losses", "parameter", "ranks apart"},
}
"""Each and what must show it: ranks that make the same mistake stay together."""

MISTAKES_OF_STATISTICS = (
    "every_rank_normalises_alone",
    "every_rank_weighs_alike_in_the_backward_pass",
    "biased_running_variances",
)


@pytest.mark.parametrize(
    "some_framework", some(("chainer", "pytorch", "tensorflow")), indirect=True
)
@pytest.mark.parametrize("workload", some(WORKLOADS))
def test_ranks_train_as_one(some_framework: str, workload: str, suite: Run) -> None:
    ranks = some(RANKS[workload])
    ranks_of = [word for count in ranks for word in ("--ranks", count)]
    answer = suite.done(
        f"verify-ranks {workload} --framework {some_framework} --steps"
        f" {STEPS_HERE[workload]} --json",
        *ranks_of,
        SUITE_HOME=str(home()),
    )
    verdicts = json.loads(answer.stdout)["rows"]
    assert [(verdict["ranks"], verdict["steps"], verdict["reference"]) for verdict in verdicts] == [
        (n, STEPS_HERE[workload], WORKLOADS[workload]) for n in ranks
    ]
    assert all(
        {"losses", "parameter", "ranks apart"}
        <= {one["quantity"] for one in verdict["differences"]}
        for verdict in verdicts
    )
    uneven = [verdict["batch_size"] % verdict["ranks"] for verdict in verdicts]
    assert all(uneven), "only unequal shares show whether they are weighed"


@pytest.mark.proof
def test_the_frameworks_own_collective_does_the_same(framework: str, suite: Run) -> None:
    command = f"verify-ranks lenet --framework {framework} --ranks 2 --collective native --json"
    answer = suite.done(command, SUITE_HOME=str(home()))
    assert json.loads(answer.stdout)["rows"][0]["collective"] == "native"


@pytest.mark.proof
def test_synchronised_normalisation_is_that_of_one_rank_with_the_whole_mini_batch(
    framework: str, suite: Run
) -> None:
    """Losses, parameters and running statistics after 12 steps in float64; the ranks' shares are
    unequal. More steps and ranks take longer."""
    command = (
        f"verify-ranks resnet18 --framework {framework} --ranks 2 --normalisation synchronised"
    )
    answer = suite.done(
        f"{command} --steps {STEPS_HERE['resnet18']} --json", SUITE_HOME=str(home())
    )
    for verdict in json.loads(answer.stdout)["rows"]:
        assert (verdict["normalisation"], verdict["reference"]) == ("synchronised", ONE_RANK)
        assert {"losses", "parameter", "statistic", "ranks apart"} <= {
            one["quantity"] for one in verdict["differences"]
        }


@pytest.mark.proof
@pytest.mark.pytorch
@pytest.mark.parametrize("mistake", MISTAKES_OF_STATISTICS)
def test_a_mistake_in_the_statistics_is_noticed(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTAKE", mistake)
    module = "tests.reference_impls.mistaken_exchange"
    # in float64 the first step shows it
    verdict = _verdict(
        module, overlap=True, workload="resnet18", normalisation="synchronised", steps=6
    )
    assert "statistic" in {one.quantity for one in verdict.differences if not one.passed}


@pytest.mark.proof
@pytest.mark.pytorch
def test_without_overlap_the_sums_are_the_same() -> None:
    assert _verdict("reference_impls.pytorch.probe", overlap=False).passed


@pytest.mark.proof
@pytest.mark.pytorch
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTAKE", mistake)
    verdict = _verdict("tests.reference_impls.mistaken_exchange", overlap=True)
    missed = {one.quantity for one in verdict.differences if not one.passed}
    assert missed == MISTAKES[mistake]


def _verdict(
    module: str,
    overlap: bool,
    workload: str = "lenet",
    normalisation: str = LOCAL,
    steps: int = STEPS,
) -> RanksVerdict:
    subject = ProbedImplementation("pytorch", environment_of("pytorch").interpreter, module)
    parallel = Parallel(2, 1, "mpi", BUCKET_BYTES, overlap, normalisation)
    return verify_ranks(load_workload(workload), subject, parallel, lambda words: None, steps)
