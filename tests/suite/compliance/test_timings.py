"""Runs in asynchronous timing before the rules: an honest one on a GPU, and what is not judged of
it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reference_impls.contract import ASYNCHRONOUS
from suite.compliance.checker import BundleVerdict, check_bundle
from suite.compliance.registry import all_checks
from suite.metrics.summary import NOT_SPLIT
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit, in_turn, save_after
from tests.faults.edits.log_edits import request_also, set_device, set_everywhere
from tests.faults.edits.step_edits import without_split
from tests.faults.edits.table_edits import scale_column

ON_GPU = set_everywhere("accelerator", "cuda")
ASYNCHRONOUSLY = in_turn(request_also("timing", ASYNCHRONOUS), without_split())


@pytest.fixture
def judged(good_bundle_of: Callable[[int], Path]) -> Callable[[Edit], BundleVerdict]:
    """The verdict of a good run after an edit, everything recomputed."""

    def judge(edit: Edit) -> BundleVerdict:
        bundle = good_bundle_of(1)
        save_after(edit, recompute=True)(bundle)
        return check_bundle(bundle)

    return judge


def test_asynchronous_timing_adds_no_finding_to_a_run_on_a_gpu(
    good_bundle_of: Callable[[int], Path], judged: Callable[[Edit], BundleVerdict], tmp_path: Path
) -> None:
    """The good bundle is of a CPU: what the rules miss of a GPU (its arithmetic, its meters) they
    miss in either timing."""
    split = judged(ON_GPU)
    (tmp_path / "bundle-1").rename(tmp_path / "split")
    whole = judged(in_turn(ON_GPU, ASYNCHRONOUSLY))
    assert {finding.check for finding in whole.findings} <= {
        finding.check for finding in split.findings
    }
    assert split.not_applicable == ()
    assert set(whole.not_applicable) == {check.id for _, check in all_checks() if check.needs_split}


def test_an_epoch_that_computes_faster_than_the_device_is_found_without_the_split(
    judged: Callable[[Edit], BundleVerdict],
) -> None:
    """The device's peak is held against the time of whole epochs, here a thousandth of what they
    took."""

    def hurry(bundle: EditableBundle) -> None:
        stops_ns = {
            event["metadata"]["epoch_num"]: event["metadata"]["mono_ns"]
            for event in bundle.events
            if event["key"] == "epoch_stop"
        }
        until_ns = bundle.steps["epoch"].map(stops_ns)
        bundle.steps["start_ns"] = until_ns - (until_ns - bundle.steps["start_ns"]) // 1000

    verdict = judged(in_turn(set_device("raspberry-pi-4"), ON_GPU, ASYNCHRONOUSLY, hurry))
    assert "flop-rate" in {finding.check for finding in verdict.findings}


def test_negative_fetches_are_found_without_the_split(
    judged: Callable[[Edit], BundleVerdict],
) -> None:
    verdict = judged(in_turn(ON_GPU, ASYNCHRONOUSLY, scale_column("fetch_stall_s", -1.0)))
    assert "steps-in-time" in {finding.check for finding in verdict.findings}


def test_the_reason_says_where_the_split_is() -> None:
    assert "synchronised" in NOT_SPLIT
