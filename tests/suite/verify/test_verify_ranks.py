"""Several ranks are, after some steps in float64, where one rank is; a mistake in what they do
together shows."""

import json

import pytest

from reference_impls.contract import LOCAL, Parallel
from suite.catalog.workloads import load_workload
from suite.files.paths import suite_home
from suite.verify.probing import ProbedImplementation
from suite.verify.ranks import (
    BUCKET_BYTES,
    ONE_RANK,
    STEPS,
    RanksVerdict,
    verify_ranks,
)
from tests.conftest import Run, environment_of

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


@pytest.mark.chainer
def test_ranks_train_as_one(suite: Run) -> None:
    """In every framework, for other workloads and more ranks: `make prove verify-full`."""
    environment_of("chainer")
    answer = suite.done(
        "verify-ranks lenet --framework chainer --ranks 2 --json", SUITE_HOME=str(suite_home())
    )
    (verdict,) = json.loads(answer.stdout)["rows"]
    assert (verdict["ranks"], verdict["steps"], verdict["reference"]) == (2, STEPS, ONE_RANK)
    assert {one["quantity"] for one in verdict["differences"]} >= {
        "losses",
        "parameter",
        "ranks apart",
    }
    assert verdict["batch_size"] % 2, "only unequal shares show whether they are weighed"


@pytest.mark.proof
def test_the_frameworks_own_collective_does_the_same(framework: str, suite: Run) -> None:
    command = f"verify-ranks lenet --framework {framework} --ranks 2 --collective native --json"
    answer = suite.done(command, SUITE_HOME=str(suite_home()))
    assert json.loads(answer.stdout)["rows"][0]["collective"] == "native"


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
