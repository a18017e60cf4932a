"""The options that make an original run again."""

import shutil
from pathlib import Path

import pytest

from reference_impls.contract import ASYNCHRONOUS, WAITING, Parallel
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.catalog.precisions import Precision
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution.resolve import requested_part
from suite.experiments.replication.originals import (
    Original,
    find_originals,
    options_of,
    originals_in_turn,
)
from tests.faults.edits.editable_bundle import EditableBundle


def test_a_run_is_made_again_in_its_precision_and_in_the_frameworks_own_where_it_names_none(
    good_bundle: Path,
) -> None:
    bundle = Bundle(good_bundle)
    request = read_request(bundle.run(), "run.json")
    named = request._replace(precision=Precision.BF16_MIXED.value)
    asked = [
        options_of(Original(bundle, one), "lab", None, None).precision for one in (request, named)
    ]
    assert asked == [None, Precision.BF16_MIXED]


def test_a_run_is_made_again_as_it_was(good_bundle: Path) -> None:
    bundle = Bundle(good_bundle)
    request = read_request(bundle.run(), "run.json")
    changed = request._replace(
        seed=3,
        epochs=4,
        steps=5,
        global_batch_size=6,
        threads=7,
        loading=request.loading._replace(workers=8, prefetch=9),
        accumulation=10,
        parallel=Parallel(2, 1, "native", 2**22, True, "synchronised", "float16", "speed"),
    )
    found = options_of(Original(bundle, changed), "lab", None, None)
    assert (found.seed, found.epochs, found.steps, found.batch_size) == (3, 4, 5, 6)
    assert (found.threads, found.workers, found.prefetch, found.accumulate) == (7, 8, 9, 10)
    assert (found.placement.ranks, found.collective.value) == (2, "native")
    assert (found.normalisation.value, found.wire.value) == ("synchronised", "float16")
    assert found.shares.value == "speed"
    assert (found.organization, found.data) == ("lab", None)
    digits = changed._replace(data=request.data._replace(name="digits"))
    for one, folder, data in (
        (digits, None, "digits"),
        (digits, Path("/srv"), "digits=/srv"),
        (changed, Path("/srv"), "/srv"),
    ):
        assert options_of(Original(bundle, one), "lab", folder, None).data == data
    assert (found.no_target, found.trains) == (False, None)
    untargeted = changed._replace(target_accuracy=None)
    assert options_of(Original(bundle, untargeted), "lab", None, None).no_target
    for part in ("last-three", "all"):
        trains = requested_part(part, load_workload("lenet-adapt"))
        adapting = changed._replace(workload="lenet-adapt", trains=trains)
        assert options_of(Original(bundle, adapting), "lab", None, None).trains == part
    several = changed._replace(parallel=changed.parallel._replace(nodes=2))
    with pytest.raises(SuiteError, match="on several nodes"):
        options_of(Original(bundle, several), "lab", None, None)
    turns = [Original(bundle, request._replace(seed=seed)) for seed in (4, 5, 6)]
    assert [each.request.seed for each in originals_in_turn(turns, 5)] == [4, 5, 6, 4, 5]


def test_a_run_that_shows_the_split_of_an_entry_is_no_run_of_it(
    good_bundle: Path, tmp_path: Path
) -> None:
    """Both lie in one folder of a submission."""
    split = {"timing": WAITING, "division": "open", "steps": 3750}
    for number in range(1, 5):
        bundle = EditableBundle(Path(shutil.copytree(good_bundle, tmp_path / f"runs/run_{number}")))
        bundle.request.update({"seed": number, "timing": ASYNCHRONOUS})
        bundle.request.update(split if number == 4 else {})
        bundle.save()
    found = find_originals(tmp_path / "runs")
    assert sorted(original.request.seed for original in found) == [1, 2, 3]
    (alone,) = find_originals(tmp_path / "runs/run_4")
    assert alone.request.seed == 4
