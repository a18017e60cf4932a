"""The training loop, with an implementation that does as it is told and a clock that moves when it is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reference_impls import contract, loop
from reference_impls.communication import World
from reference_impls.contract import Batch, ContractError, Implementation, Pipeline, Request, StepResult
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from suite.metrics.summary import derive_epochs
from tests.builders import Scenario, make_request

FETCH_NS, COPY_NS, STEP_NS, COMMUNICATION_S = 3_000_000, 1_000_000, 20_000_000, 0.005


class Clock:
    """Nanoseconds that pass only when somebody works."""

    now_ns = 10**12

    def __call__(self) -> int:
        return self.now_ns


class Scripted(Implementation, Pipeline):
    """Ten samples in batches of four; the accuracies of the epochs and the losses of the steps are given."""

    def __init__(self, clock: Clock, accuracies: list[float], losses: list[float] | None = None) -> None:
        self.clock, self.accuracies, self.losses = clock, iter(accuracies), losses
        self.learning_rates: list[float] = []

    def training(self, epoch: int) -> Iterator[Batch]:
        for size in (4, 4, 2):
            self.clock.now_ns += FETCH_NS
            yield Batch([0] * size, [0] * size)

    def evaluation(self) -> Iterator[Batch]:
        yield Batch([0] * 10, [0] * 10)

    def to_device(self, batch: Batch) -> Batch:
        self.clock.now_ns += COPY_NS
        return batch

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        self.clock.now_ns += STEP_NS
        self.learning_rates.append(learning_rate)
        return StepResult(self.losses[len(self.learning_rates) - 1] if self.losses else 1.0, COMMUNICATION_S)

    def count_correct(self, device_batch: Any) -> int:
        return round(next(self.accuracies) * 10)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(loop, "monotonic_ns", made)
    monkeypatch.setattr(contract, "monotonic_ns", made)
    return made


def request_for(path: Path, **changes: Any) -> Request:
    request = make_request(path, Scenario())
    data = request.data._replace(train_samples=10, eval_samples=10)
    return request._replace(data=data, global_batch_size=4, epochs=5, target_accuracy=0.9)._replace(**changes)


def train(path: Path, clock: Clock, accuracies: list[float], losses: list[float] | None = None, **changes: Any) -> Scripted:
    scripted = Scripted(clock, accuracies, losses)
    loop.run(request_for(path, **changes), World(), lambda request, world: loop.Built(scripted, scripted, {"parameters": 1}))
    return scripted


def test_it_stops_at_the_target(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5, 0.9])
    log = read_log(tmp_path / "log.txt")
    assert log.finished_epochs() == (1, 2)
    assert log.first("run_stop").metadata["status"] == "success"  # type: ignore[union-attr]


def test_it_is_aborted_when_the_target_is_never_reached(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5] * 5)
    assert read_log(tmp_path / "log.txt").first("run_stop").metadata["status"] == "aborted"  # type: ignore[union-attr]


def test_without_a_target_it_runs_every_epoch(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [1.0] * 5, target_accuracy=None)
    assert read_log(tmp_path / "log.txt").finished_epochs() == (1, 2, 3, 4, 5)


def test_it_evaluates_at_the_interval_and_at_the_end(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5] * 3, eval_every_epochs=2)
    assert [event.epoch for event in read_log(tmp_path / "log.txt").all("eval_accuracy")] == [2, 4, 5]


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_a_step_limit_is_kept_to_the_step(steps: int, clock: Clock, tmp_path: Path) -> None:
    assert len(train(tmp_path, clock, [0.5] * 5, steps=steps).learning_rates) == steps


@pytest.mark.parametrize(("steps", "evaluated"), [(1, []), (3, [1]), (4, [1]), (6, [1, 2])])
def test_an_epoch_that_the_step_limit_cuts_short_is_not_evaluated(steps: int, evaluated: list[int], clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5] * 5, steps=steps)
    assert [event.epoch for event in read_log(tmp_path / "log.txt").all("eval_accuracy")] == evaluated


def test_the_learning_rate_falls_linearly_to_zero_over_all_epochs(clock: Clock, tmp_path: Path) -> None:
    scripted = train(tmp_path, clock, [0.5] * 5)
    base = request_for(tmp_path).optimizer.base_learning_rate
    assert scripted.learning_rates == pytest.approx([base * (1 - step / 15) for step in range(15)])


def test_the_parts_of_an_epoch_add_up_to_its_length(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.9])
    bundle = Bundle(tmp_path)
    (epoch,) = derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), None)
    assert epoch.fetch_stall_s == pytest.approx(3 * FETCH_NS * 1e-9)
    assert epoch.copy_s == pytest.approx(3 * COPY_NS * 1e-9)
    assert epoch.communication_s == pytest.approx(3 * COMMUNICATION_S)
    assert epoch.compute_s == pytest.approx(3 * (STEP_NS * 1e-9 - COMMUNICATION_S))
    assert epoch.overhead_s == pytest.approx(0, abs=1e-9)
    assert (epoch.steps, epoch.samples) == (3, 10)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_diverging_run_says_where_and_keeps_its_steps(loss: float, clock: Clock, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="at step 2"):
        train(tmp_path, clock, [0.5] * 5, losses=[1.0, loss, 1.0])
    assert len((tmp_path / "steps.csv").read_text().splitlines()) == 1 + 3
