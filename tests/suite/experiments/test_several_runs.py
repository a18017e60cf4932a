"""Several runs one after the other: what is left, what it will take, and how the runs of a stall
analysis differ."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.lifetime import Lifetime
from suite.bundle.reader import Bundle
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


def test_a_matrix_costs_what_like_runs_took(
    request_of: Callable[..., RunRequest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    like = [Pace("lenet", "fake", start, sample, 4.0) for start, sample in ((1, 0.1), (9, 0.5))]
    paces = [
        *like,
        Pace("lenet", "fake", 2, 0.2, None),
        Pace("lenet", "pytorch", 99, 99, 99),
        Pace("vgg11", "fake", 99, 99, 99),
    ]
    monkeypatch.setattr(matrix_cost, "_paces", lambda folder: iter(paces))
    whole = request_of(epochs=2)  # 2 x 1,438 samples at 0.2 s, 2 s around, 10 s idle
    cut = request_of(epochs=2, steps=3, global_batch_size=10)
    requests = [whole, cut, request_of(epochs=2, steps=10**6)]  # no more than the epochs
    found = estimate_matrix_cost(requests, tmp_path)
    assert found.time_s == pytest.approx(3 * (10 + 2) + 0.2 * (2 * 2 * 1438 + 30))
    assert found.energy_j == pytest.approx(4.0 * (found.time_s or 0)) and found.runs == 3
    paces[:3] = [replace(pace, power_w=None) for pace in paces[:3]]
    unmeasured = estimate_matrix_cost(requests, tmp_path)
    assert (unmeasured.time_s, unmeasured.energy_j) == (found.time_s, None)
    other = replace(whole, workload=replace(whole.workload, name="other"))
    assert estimate_matrix_cost([whole, other], tmp_path).time_s is None


def test_a_runs_pace_is_its_own_time_over_its_samples(tmp_path: Path) -> None:
    bundle = Bundle(make_bundle(tmp_path / "run", Scenario(power_w=5.0)))
    pace, figures = matrix_cost._pace(bundle), bundle.json("summary.json")["figures"]
    run_s = figures["gross_time_s"]["value"]
    assert (pace.workload, pace.framework) == ("lenet", "pytorch")
    assert pace.sample_s == pytest.approx(run_s / (3 * 60_000))
    assert pace.power_w == pytest.approx(figures["energy_j"]["value"] / run_s)
    lifetime = Lifetime(None, 10**9, ((10**9, 5 * 10**9), (80 * 10**9, 86 * 10**9)), 91 * 10**9)
    lived = replace(bundle.run(), lifetime=lifetime.to_dict())
    assert matrix_cost._around_s(lived, 60.0) == pytest.approx(90 - 4 - 6 - 60)
    assert matrix_cost._around_s(replace(lived, closed_later={"by": "x"}), 60.0) == 0.0


def test_the_three_runs_of_a_stall_analysis_differ_in_their_data_alone(
    request_of: Callable[..., RunRequest], tmp_path: Path
) -> None:
    whole = request_of()
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
    assert len(variants(whole, tmp_path, 2)) == 3
    for wrong, epochs, words in ((whole, 1, "--epochs 2"), (request_of(steps=5), 3, "--steps out")):
        with pytest.raises(SuiteError, match=words):
            variants(wrong, tmp_path, epochs)
