"""Reference points are made only from closed runs that reached their target or trained all their
epochs."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reference_impls.contract import LOCAL, SYNCHRONISED
from reference_impls.training_state import KINDS
from suite import api
from suite.bundle.reader import Bundle
from suite.bundle.resumption import Resumption
from suite.catalog.reference_points import (
    ReferenceRun,
    frozen_points,
    load_points,
    local_batch_size,
    newest_points,
    write_points,
)
from suite.catalog.rounds import load_rounds
from suite.catalog.workloads import Workload, load_workload, load_workloads
from suite.compliance.checker import BundleVerdict
from suite.errors import SuiteError
from suite.metrics.reference_runs import compare_runs, make_points, refuse_other_precisions
from tests.builders import RICH, Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.log_edits import set_everywhere

RESNET = load_workload("resnet18")


def bundles(folder: Path, batch_size: int = 32, division: str = "closed") -> list[Path]:
    """Two runs, which reach the target in their second and third epoch."""
    made = []
    for seed, accuracies in enumerate([(0.97, 0.991), (0.97, 0.985, 0.9905)], start=1):
        scenario = Scenario(
            name=f"r{seed}",
            seed=seed,
            accuracies=accuracies,
            batch_size=batch_size,
            division=division,
        )
        made.append(make_bundle(folder / str(seed), scenario))
    return made


def test_a_point_holds_the_epochs_of_every_run_and_reads_back(tmp_path: Path) -> None:
    (point,) = make_points(bundles(tmp_path / "runs"))
    assert (point.workload, point.batch_size, point.epochs) == ("lenet", 32, (2, 3))
    write_points([point], tmp_path)
    assert load_points("lenet", tmp_path) == (point,)


def without_target(
    path: Path, seed: int, accuracies: tuple[float, ...], resumed: Resumption | None = None
) -> Path:
    """A resumed run evaluates the state that it starts from first."""
    trained = accuracies if resumed is None else accuracies[1:]
    scenario = Scenario(name=path.name, seed=seed, accuracies=trained, division="open")
    bundle = EditableBundle(make_bundle(path, scenario))
    set_everywhere("target_accuracy", None)(bundle)
    if resumed is not None:
        bundle.run["resumed"] = vars(resumed)
        bundle.request["epochs"] = resumed.epoch + len(trained)
        start = bundle.event("epoch_start")
        restored = {"event_type": "POINT_IN_TIME", "key": "eval_accuracy", "value": accuracies[0]}
        bundle.events.insert(bundle.events.index(start), {**start, **restored})
    bundle.save(recomputed=True)
    return path


def test_a_run_that_no_target_ended_has_the_epochs_to_the_target_of_now(tmp_path: Path) -> None:
    """The third was resumed twice, each time from the state of an earlier epoch than its last: what
    it trained after the state is lost."""
    reached = (0.97, 0.97, 0.97, 0.9905, *(0.97,) * 6)
    digests = {kind: "0" * 64 for kind in KINDS}
    first = without_target(tmp_path / "n3", 3, (*reached[:2], 0.9905))
    later = Resumption(Bundle(first).run().run_id, 2, digests, 1, 1, "no power", 0, 0, 0, None, 0.0)
    second = without_target(tmp_path / "n4", 3, (*reached[1:4], 0.97), later)
    last = replace(later, run_id=Bundle(second).run().run_id, epoch=4)
    made = [
        without_target(tmp_path / "n1", 1, reached),
        without_target(tmp_path / "n2", 2, (0.97,) * 10),
        first,
        without_target(tmp_path / "n5", 3, reached[3:], last),
        second,
    ]
    (point,) = make_points(made)
    assert [(run.epochs_trained, run.reached) for run in point.runs] == [
        (4, True),
        (10, False),
        (4, True),
    ]


def test_another_batch_size_is_added_and_the_same_replaced(tmp_path: Path) -> None:
    write_points(make_points(bundles(tmp_path / "a")), tmp_path)
    write_points(make_points(bundles(tmp_path / "b", batch_size=64)), tmp_path)
    write_points(make_points(bundles(tmp_path / "c")[:1]), tmp_path)
    assert [(point.batch_size, len(point.runs)) for point in load_points("lenet", tmp_path)] == [
        (32, 1),
        (64, 2),
    ]


def test_ranks_that_synchronise_have_the_points_of_one_rank() -> None:
    assert (
        local_batch_size(RESNET, 128, 1, LOCAL)
        == local_batch_size(RESNET, 128, 4, SYNCHRONISED)
        == 128
    )
    assert local_batch_size(RESNET, 128, 4, LOCAL) == 32
    assert local_batch_size(RESNET, 130, 4, LOCAL) == 33, "the largest share"
    assert local_batch_size(load_workload("vgg11"), 128, 4, LOCAL) is None


def test_a_run_that_missed_its_target_is_kept(tmp_path: Path) -> None:
    missed = make_bundle(tmp_path / "missed", Scenario(name="m", seed=3, accuracies=(0.98,) * 10))
    (point,) = make_points([*bundles(tmp_path / "runs"), missed])
    assert point.epochs == (2, 3, math.inf)
    assert point.expected_epochs == (2 + 3 + 10) / 2
    write_points([point], tmp_path)
    assert load_points("lenet", tmp_path) == (point,)


def test_a_point_without_a_run_that_reached_the_target_expects_nothing(tmp_path: Path) -> None:
    (point,) = make_points(
        [make_bundle(tmp_path / "missed", Scenario(name="m", accuracies=(0.98,) * 10))]
    )
    assert point.expected_epochs is None


def test_points_of_schema_1_are_read(tmp_path: Path) -> None:
    (tmp_path / "rules/reference_points").mkdir(parents=True)
    run = {"run_id": "r", "framework": "pytorch", "seed": 1, "epochs_to_target": 4, "manifest": "0"}
    point = {"batch_size": 16, "base_learning_rate": 0.005, "eval_every_epochs": 1, "runs": [run]}
    (tmp_path / "rules/reference_points/lenet.json").write_text(
        json.dumps({"schema": 1, "points": [point]})
    )
    assert load_points("lenet", tmp_path)[0].runs == (
        ReferenceRun("r", "pytorch", 1, 4, True, "0"),
    )


def test_a_run_that_ended_before_its_last_epoch_makes_no_point(tmp_path: Path) -> None:
    short = make_bundle(tmp_path / "short", Scenario(accuracies=(0.97, 0.98)))
    with pytest.raises(SuiteError, match="reached the target"):
        make_points([short])


def test_open_runs_make_no_point(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="trained all its epochs"):
        make_points(bundles(tmp_path, division="open"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epochs": 5}, "epochs"),
        ({"accumulation": 4}, "mini-batches per update"),
        ({"trains": {"parameters": ["fc3.*"], "statistics": "frozen"}}, "trained part"),
        ({"parallel": {"wire": "float16"}}, "rounding of sent gradients"),
        ({"parallel": {"shares": "speed"}}, "shares of the ranks"),
        ({"data": {"eval_samples": 100}}, r"data \(all of the published mnist\)"),
    ],
    ids=[
        "a shorter schedule",
        "accumulated gradients",
        "a part",
        "rounded gradients",
        "shares",
        "a part of the data",
    ],
)
def test_a_run_of_another_recipe_without_a_target_makes_no_point(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    epochs = changes.get("epochs", 10)
    bundle = EditableBundle(without_target(tmp_path / "run", 1, (0.97,) * epochs))
    for name, value in changes.items():
        own = bundle.request.get(name)
        bundle.request[name] = {**own, **value} if isinstance(own, dict) else value
    bundle.save(recomputed=True)
    with pytest.raises(SuiteError, match=f"differs from the workload lenet in: {said}; leave"):
        make_points([bundle.path])


def test_two_runs_of_one_seed_are_no_two_samples(tmp_path: Path) -> None:
    first, again = bundles(tmp_path / "mine"), bundles(tmp_path / "theirs")
    with pytest.raises(
        SuiteError,
        match=r"mine/1 and .*theirs/1 have the same setting, framework \(pytorch\) and seed \(1\)",
    ):
        make_points([*first, *again])


def test_runs_of_anybody_make_a_point_if_they_comply(tmp_path: Path) -> None:
    made = [
        make_bundle(tmp_path / "runs" / str(seed), replace(RICH, seed=seed, name=f"r{seed}"))
        for seed in (1, 2)
    ]
    (point,) = api.make_reference_points(tmp_path / "runs")
    assert [run.seed for run in point.runs] == [1, 2]
    with (made[1] / "log.txt").open("a", encoding="utf-8") as log:
        log.write("edited\n")
    with pytest.raises(SuiteError, match=r"runs/2 does not comply \("):
        api.make_reference_points(tmp_path / "runs")


def test_an_interrupted_run_that_another_continues_need_not_comply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished one is checked all the same: nothing can continue it."""
    first = EditableBundle(without_target(tmp_path / "first", 1, (0.97,) * 3))
    name, digests = first.run["run_id"], dict.fromkeys(KINDS, "0" * 64)
    broken = Resumption(name, 2, digests, 1, 1, "no power", 0, 0, 0, None, 0.0)
    again = without_target(tmp_path / "again", 1, (0.97,) * 9, broken)
    checked: list[Path] = []

    def complies(path: Path) -> BundleVerdict:
        checked.append(path)
        return BundleVerdict(path, "", "open", ())

    monkeypatch.setattr("suite.compliance.checker.check_bundle", complies)
    for status, expected in (("interrupted", [again]), ("finished", [again, first.path])):
        checked.clear()
        first.run["status"] = status
        first.save()
        (point,) = api.make_reference_points(tmp_path)
        assert checked == expected and [run.epochs_trained for run in point.runs] == [10]


def test_reference_runs_are_of_float32(tmp_path: Path) -> None:
    run = make_bundle(tmp_path / "run", RICH)
    refuse_other_precisions([run])
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(
        json.dumps({**record, "request": {**record["request"], "precision": "bf16-mixed"}})
    )
    with pytest.raises(
        SuiteError, match="computed in bf16-mixed, and reference runs compute in float32"
    ):
        refuse_other_precisions([run])


def test_runs_are_compared_with_the_point_of_their_kind(tmp_path: Path) -> None:
    write_points(make_points(bundles(tmp_path / "a")), tmp_path)
    point, epochs, found = compare_runs(bundles(tmp_path / "b"), tmp_path)
    assert (point.epochs, epochs, found.p_faster, found.p_different) == (
        (2, 3),
        (2, 3),
        pytest.approx(5 / 6),
        1.0,
    )
    with pytest.raises(SuiteError, match="no reference point at batch size 64"):
        compare_runs(bundles(tmp_path / "c", batch_size=64), tmp_path)
    with pytest.raises(SuiteError, match="2 settings"):
        compare_runs([*bundles(tmp_path / "d", batch_size=64), *bundles(tmp_path / "e")], tmp_path)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "rules/reference_points").mkdir(parents=True)
    (tmp_path / "rules/reference_points/lenet.json").write_text('{"schema": 1, "points": [{}]}')
    with pytest.raises(SuiteError, match=r"lenet\.json holds no reference points"):
        load_points("lenet", tmp_path)


@pytest.mark.parametrize("workload", load_workloads(), ids=lambda workload: workload.name)
def test_the_repositorys_points_match_the_workloads_current_definition(workload: Workload) -> None:
    for point in load_points(workload.name):
        assert point.eval_every_epochs == workload.eval_every_epochs
        assert all(1 <= run.epochs_trained <= workload.epochs for run in point.runs)


def test_a_frozen_point_is_kept_beside_the_new_one_of_its_setting(tmp_path: Path) -> None:
    (old,) = make_points(bundles(tmp_path / "a"))
    write_points([old], tmp_path)
    (tmp_path / "rules/rounds").mkdir()
    (tmp_path / "rules/rounds/v0.1.toml").write_text(
        'name = "v0.1"\ntitle = "first"\nsuite_versions = []\nworkloads = []\nreference_points ='
        f' ["{old.digest}"]\n'
    )
    (new,) = make_points(bundles(tmp_path / "b")[:1])
    load_rounds.cache_clear()
    write_points([new], tmp_path)
    assert load_points("lenet", tmp_path) == (old, new)
    assert newest_points("lenet", tmp_path) == (new,)
    assert frozen_points(load_rounds(tmp_path)[0], "lenet", tmp_path) == (old,)


def test_a_points_digest_covers_its_runs() -> None:
    point, *_ = load_points("lenet")
    assert (
        replace(point, runs=point.runs[1:]).digest
        != point.digest
        != replace(point, batch_size=17).digest
    )
