"""When seeds reached a target, by how often they were evaluated."""

import runpy
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.target_scatter import Curves, crossed, table, train
from reference_impls.contract import Batch, Implementation, Pipeline, StepResult
from reference_impls.loop import Built
from suite.api import Division, RunOptions
from suite.catalog.frameworks import REFERENCE
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.files.paths import repository_root
from tests.builders import Scenario, make_request

CURVES = Curves(
    "lenet",
    4,
    {"1": (0.90, 0.96, 0.95, 0.97, 0.98, 0.97, 0.98, 0.99), "2": (0.91, 0.92, 0.95, 0.98)},
)


@pytest.mark.parametrize(
    ("target", "every", "epochs"),
    [
        (0.96, 1, [0.5, 1.0]),
        (0.96, 2, [0.5, 1.0]),
        (0.96, 4, [1.0, 1.0]),
        (0.98, 1, [1.25, 1.0]),
        (0.98, 4, [2.0, 1.0]),
        (0.99, 1, [2.0, None]),
    ],
)
def test_a_seed_reaches_a_target_at_the_first_evaluation_that_is_no_lower(
    target: float, every: int, epochs: list[float | None]
) -> None:
    assert crossed(CURVES, target, every) == epochs


@pytest.mark.parametrize(
    ("target", "every", "mean_of", "epochs"),
    [(0.945, 1, 4, [1.0, None]), (0.975, 1, 2, [1.25, None]), (0.97, 4, 2, [2.0, None])],
)
def test_the_mean_of_several_evaluations_may_be_what_reaches_it(
    target: float, every: int, mean_of: int, epochs: list[float | None]
) -> None:
    assert crossed(CURVES, target, every, mean_of) == epochs


def test_the_coefficient_of_variation_is_of_targets_that_every_seed_reached(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table([CURVES], [0.96, 0.99], [1])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [
        ["96.00%", "4", "2 of 2", "0.75", "0.5", "1", "47%"],
        ["99.00%", "4", "1 of 2", "2.00", "2", "2", "—"],
    ]


def test_a_single_seed_has_no_coefficient_of_variation(capsys: pytest.CaptureFixture[str]) -> None:
    table([Curves("lenet", 1, {"1": (0.99,)})], [0.98], [1])
    row = capsys.readouterr().out.splitlines()[-1]
    assert row == "| 98.00% | 1 | 1 of 1 | 1.00 | 1 | 1 | — |"


@pytest.mark.parametrize(
    ("changed", "parts"),
    [({}, 8), ({"workload": "vgg11"}, 4), ({"data": "digits"}, 4), ({"learning_rate": 0.01}, 4)],
)
def test_kept_curves_are_continued_with_their_own_settings_only(
    changed: dict[str, Any], parts: int, tmp_path: Path
) -> None:
    kept, own = tmp_path / "curves.json", RunOptions(Division.OPEN, "auto", "lenet", REFERENCE)
    write_json(kept, asdict(CURVES))
    train(own, kept, [1, 2], 4)
    with pytest.raises(SuiteError, match=r"has curves of other settings; name another file\.$"):
        train(replace(own, **changed), kept, [1, 2], parts)


def test_curves_of_different_settings_share_no_row() -> None:
    with pytest.raises(SuiteError, match="different settings"):
        table([CURVES, replace(CURVES, parts=8)], [0.98], [4])


class Learner(Implementation, Pipeline):
    """Five mini-batches an epoch; each step it learns one sample more."""

    learned = 0

    def training(self, epoch: int) -> Iterator[Batch]:
        return iter([Batch([], [])] * 5)

    def evaluation(self) -> Iterator[Batch]:
        return iter([Batch([], [])])

    def to_device(self, batch: Batch) -> Batch:
        return batch

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        self.learned += 1
        return StepResult(1.0, 0.0)

    def count_correct(self, device_batch: Any) -> int:
        return self.learned


def test_a_seed_is_evaluated_after_every_part_of_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an implementation in PyTorch's place."""
    learner, request = Learner(), make_request(tmp_path, Scenario())
    request = request._replace(
        data=request.data._replace(train_samples=10), global_batch_size=2, epochs=2
    )
    pytorch = SimpleNamespace(build=lambda request, world: Built(learner, learner, {}))
    monkeypatch.setitem(sys.modules, "reference_impls.pytorch.implementation", pytorch)
    worker = runpy.run_path(str(repository_root() / "benchmarks/workers/accuracy_curve.py"))
    assert worker["correct_predictions"](request, parts=2) == [3, 5, 8, 10]
