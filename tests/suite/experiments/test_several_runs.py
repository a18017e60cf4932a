"""Several runs one after the other: what is left, what it will take, and how the runs of a stall
analysis differ."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impls.contract import Request
from suite.bundle.lifetime import Lifetime
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.bundle.stall_folder import BatchSource
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution.request import PageCache, RunRequest
from suite.experiments import matrix_cost, sweep_runs
from suite.experiments.matrix_cost import Pace, estimate_matrix_cost
from suite.experiments.stall_runs import variants
from tests.builders import Scenario, make_bundle, make_request
from tests.faults.edits.editable_bundle import EditableBundle


@pytest.fixture
def request_of(tmp_path: Path) -> Callable[..., RunRequest]:
    """A run of LeNet-5 on 1,438 digits, with changes to its training."""

    def make(**changes: Any) -> RunRequest:
        training = make_request(tmp_path / "run", Scenario(framework="fake", data="digits"))
        defined = load_workload("lenet"), load_device("generic"), "", load_framework("fake")
        return RunRequest("run", *defined, training._replace(**changes), baseload_s=10.0)

    return make


def test_the_time_that_is_left_is_the_mean_of_the_runs_that_were_made(
    request_of: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    took_s, now_s, said, prepared = iter([30.0, 10.0, 5.0, 7.0]), [0.0], [], list[int]()

    def make(*_: object, **how: object) -> None:
        assert how["force"], "what a killed call left is replaced"
        now_s[0] += next(took_s)

    clock = SimpleNamespace(monotonic=lambda: now_s[0], sleep=lambda seconds: None)
    monkeypatch.setattr(sweep_runs, "time", clock)
    monkeypatch.setattr(sweep_runs, "run_one", make)
    are_kept = [False, True, False, False, True, False]
    sweep_runs.run_all(
        [request_of()] * 6, list("abcdef"), are_kept, None, said.append, prepared.append
    )
    assert prepared == [0, 2, 3, 5]
    assert [(each.number, each.total, each.label) for each in said] == [
        (number, 6, label) for number, label in enumerate("abcdef", 1)
    ]
    assert [getattr(each, "left_s", "kept") for each in said] == [
        None,
        "kept",
        3 * 30.0,
        2 * 20.0,
        "kept",
        1 * 15.0,
    ]


def of_lenet(training: Request) -> RunRequest:
    """A run of LeNet-5 with this training."""
    defined = load_workload("lenet"), load_device("generic"), "", load_framework("pytorch")
    return RunRequest("run", *defined, training)


def test_a_finished_run_is_kept_although_the_old_tasks_data_were_prepared_since(
    tmp_path: Path,
) -> None:
    bundle = Bundle(make_bundle(tmp_path / "run"))
    training = read_request(bundle.run(), "run.json")
    now = of_lenet(training._replace(old_task=training.data))
    assert sweep_runs.is_done(bundle.path, now)


def test_a_finished_run_is_kept_whose_data_folder_is_named_after_this_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record has the host's label, as the request of the next call would."""
    made = EditableBundle(make_bundle(tmp_path / "run"))
    made.request["data"]["directory"] = "$DATA/node0-data"
    made.save()
    host = os.uname_result(("Linux", "orin", "5.15.136-tegra", "#1", "aarch64"))
    monkeypatch.setattr("suite.execution.run_records.os.uname", lambda: host)
    training = read_request(Bundle(made.path).run(), "run.json")
    data = training.data._replace(directory="/mnt/orin-data")
    assert sweep_runs.is_done(made.path, of_lenet(training._replace(data=data)))


def test_a_matrix_costs_what_like_runs_took(
    request_of: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alike = ("digits", "lenet", "fake", 10, "cpu", "float32")
    like = [Pace(alike, once, sample, 3.0, 4.0) for once, sample in ((1, 0.1), (9, 0.5))]
    paces = [
        *like,
        Pace(alike, 2, 0.2, None, None),
        Pace(("digits", "lenet", "pytorch", *alike[3:]), 99, 99, 99, 99),
        Pace(("digits", "lenet", "fake", 20, *alike[4:]), 99, 99, 99, 99),
        Pace(("mnist", *alike[1:]), 99, 99, 99, 99),
    ]
    monkeypatch.setattr(matrix_cost, "_paces", lambda folder: iter(paces))
    # 2 x 1,438 samples at 0.2 s, two evaluations, 2 s once, 10 s idle
    whole = request_of(epochs=2, global_batch_size=10)
    cut = request_of(epochs=2, steps=150, global_batch_size=10)  # 144 steps are an epoch
    no_more = request_of(epochs=2, steps=10**6, global_batch_size=10)
    requests = [whole, cut, no_more]
    found = estimate_matrix_cost(requests, tmp_path)
    assert found.time_s == pytest.approx(3 * (10 + 2) + 0.2 * (2 * 2 * 1438 + 1500) + 5 * 3.0)
    assert found.energy_j == pytest.approx(4.0 * (found.time_s or 0)) and found.runs == 3
    assert "of 3 finished runs" in found.source
    paces[:3] = [replace(pace, power_w=None, evaluation_s=None) for pace in paces[:3]]
    unmeasured = estimate_matrix_cost(requests, tmp_path)
    forward_s = 0.2 * whole.training.data.eval_samples / 3
    assert unmeasured.time_s == pytest.approx((found.time_s or 0) + 5 * (forward_s - 3.0))
    assert unmeasured.energy_j is None
    other = request_of(epochs=2, global_batch_size=16)
    assert estimate_matrix_cost([whole, other], tmp_path).time_s is None


def test_a_run_s_pace_is_that_of_its_steps_and_of_its_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its power is that of the time in which its energy is counted."""
    bundle = Bundle(make_bundle(tmp_path / "run", Scenario(power_w=5.0)))
    summary = bundle.json("summary.json")
    figures, epochs = summary["figures"], summary["epochs"]
    run_s = figures["gross_time_s"]["value"]
    figures["uncounted_s"]["value"] = 0.1 * run_s
    monkeypatch.setattr(matrix_cost, "read_summary", lambda bundle: summary)
    pace = matrix_cost._pace(bundle)
    assert pace.settings == ("mnist", "lenet", "pytorch", 32, "cpu", "float32")
    assert pace.sample_s == pytest.approx(epochs[1]["end_to_end_s"] / 60_000, 1e-2)
    assert pace.evaluation_s == pytest.approx(
        (run_s - sum(epoch["end_to_end_s"] for epoch in epochs)) / 3, 1e-2
    )
    assert pace.power_w == pytest.approx(figures["energy_j"]["value"] / (0.9 * run_s))
    lifetime = Lifetime(None, 10**9, ((10**9, 5 * 10**9), (80 * 10**9, 86 * 10**9)), 91 * 10**9)
    lived = replace(bundle.run(), lifetime=lifetime.to_dict())
    assert matrix_cost._around_s(lived, 60.0) == pytest.approx(90 - 4 - 6 - 60)
    assert matrix_cost._around_s(replace(lived, closed_later={"by": "x"}), 60.0) == 0.0


def test_the_three_runs_of_a_stall_analysis_differ_in_their_data_alone(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    whole = request_of(division="closed")
    found = variants(whole, tmp_path, 3)
    assert {
        source: (one.page_cache, one.training.batches, one.training.drop_cache_every_epoch)
        for source, one in found.items()
    } == {
        BatchSource.COLD: (PageCache.COLD, "read", True),
        BatchSource.WARM: (PageCache.WARM, "read", False),
        BatchSource.SYNTHETIC: (PageCache.WARM, "synthetic", False),
    }
    assert len({one.directory for one in found.values()}) == 3
    for one in found.values():
        assert (one.training.epochs, one.training.target_accuracy, one.baseload_s) == (3, None, 0)
        assert one.training.division == "open", "else its epochs break a rule"
    assert len(variants(whole, tmp_path, 2)) == 3
    for wrong, epochs, words in ((whole, 1, "--epochs 2"), (request_of(steps=5), 3, "--steps out")):
        with pytest.raises(SuiteError, match=words):
            variants(wrong, tmp_path, epochs)
