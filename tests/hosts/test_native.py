"""The frameworks' own all-reduces train on two hosts whose names mean 127.0.1.1 on themselves, as
Debian writes them."""

from pathlib import Path

import pytest

from reference_impls.contract import log_name
from suite.compliance.checker import check_bundle
from suite.compliance.finding import Severity
from tests.conftest import Run
from tests.faults.edits.fault import recomputed
from tests.faults.edits.rank_log_edits import set_of_rank
from tests.hosts.test_training import train_and_count
from tests.hosts.training import Trainer

pytestmark = [pytest.mark.hosts, pytest.mark.proof]


def test_ranks_find_one_another_and_every_gradient_crosses_the_wire(
    trainer: Trainer, framework: str, suite: Run, tmp_path: Path
) -> None:
    bundle = train_and_count(
        trainer, framework, tmp_path / "run", "--collective", "native", at_most=1.1
    )
    assert bundle.log().value("collective") == "native"
    suite.done(f"check {bundle.path}")


@pytest.mark.pytorch
def test_a_closed_run_may_use_them_and_is_refused_with_another_replica_on_one_rank(
    trainer: Trainer, tmp_path: Path
) -> None:
    """The digits are no data of the closed division, and have a target of their own: that is all
    that is wrong with the run."""
    native = trainer.train(
        "pytorch",
        tmp_path / "run",
        "--division",
        "closed",
        "--allow-invalid",
        "--epochs",
        2,
        "--collective",
        "native",
    )
    before = refused_by(native.path)
    assert before == {
        (rule, "run.json") for rule in ("closed-data", "closed-length", "no-findings-allowed")
    }
    digests = dict(native.log(1).all("state_digests")[-1].value, parameter="0" * 64)
    recomputed("another replica", set_of_rank(1, "state_digests", digests, number=-1)).change(
        native.path
    )
    assert refused_by(native.path) == before | {("state-digests", log_name(1))}


def refused_by(path: Path) -> set[tuple[str, str]]:
    """The rules that a bundle violates, each with the file."""
    return {
        (finding.check, finding.file)
        for finding in check_bundle(path).findings
        if finding.severity is Severity.INVALID
    }
