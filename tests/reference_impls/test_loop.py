"""The training loop, with an implementation that does as it is told and a clock that moves when it
is told."""

import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impls import contract, loop
from reference_impls.communication import ClockOffset, Machine, World, this_machine
from reference_impls.contract import (
    Batch,
    ContractError,
    Implementation,
    Pipeline,
    Request,
    StepResult,
)
from reference_impls.fake import implementation as fake
from reference_impls.state_file import Progress, StateFile, write_state
from suite.bundle.channels import no_channels
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from suite.metrics.counted_time import uncounted_intervals
from suite.metrics.summary import derive_epochs, target_figures, time_figures
from tests.builders import Scenario, make_request

FETCH_NS, COPY_NS, STEP_NS, COMMUNICATION_S = 3_000_000, 1_000_000, 20_000_000, 0.005


class Clock:
    """Nanoseconds that pass only when somebody works."""

    now_ns = 10**12

    def __call__(self) -> int:
        return self.now_ns


class Scripted(Implementation, Pipeline):
    """Ten samples in batches of four; the accuracies of the epochs and the losses of the steps are
    given."""

    evaluated = 10

    def __init__(
        self, clock: Clock, accuracies: list[float], losses: list[float] | None = None
    ) -> None:
        self.clock, self.accuracies, self.losses = clock, iter(accuracies), losses
        self.learning_rates: list[float] = []

    def training(self, epoch: int) -> Iterator[Batch]:
        for size in (4, 4, 2):
            self.clock.now_ns += FETCH_NS
            yield Batch([0] * size, [0] * size)

    def evaluation(self) -> Iterator[Batch]:
        yield Batch([0] * self.evaluated, [0] * self.evaluated)

    def to_device(self, batch: Batch) -> Batch:
        self.clock.now_ns += COPY_NS
        return batch

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        self.clock.now_ns += STEP_NS
        self.learning_rates.append(learning_rate)
        return StepResult(
            self.losses[len(self.learning_rates) - 1] if self.losses else 1.0, COMMUNICATION_S
        )

    def count_correct(self, device_batch: Any) -> int:
        return round(next(self.accuracies) * self.evaluated)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(loop, "monotonic_ns", made)
    monkeypatch.setattr(contract, "monotonic_ns", made)
    return made


class Submitted(Scripted):
    """A device that works by itself: submitting takes a microsecond, and reading waits for
    everything that was submitted."""

    SUBMIT_NS, is_deferred, waiting_ns = 1_000, False, 0

    def defer(self) -> None:
        self.is_deferred = True

    def to_device(self, batch: Batch) -> Batch:
        self.clock.now_ns += self.SUBMIT_NS
        self.waiting_ns += COPY_NS
        return batch

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        self.clock.now_ns += self.SUBMIT_NS
        self.waiting_ns += STEP_NS
        self.learning_rates.append(learning_rate)
        assert self.is_deferred and self.losses is not None
        return StepResult([self.losses[len(self.learning_rates) - 1]], 0.0)  # type: ignore[arg-type]

    def count_correct(self, device_batch: Any) -> int:
        return [super().count_correct(device_batch)]  # type: ignore[return-value]

    def read(self, values: list[Any]) -> list[float]:
        self.clock.now_ns, self.waiting_ns = self.clock.now_ns + self.waiting_ns, 0
        return [value for (value,) in values]


def request_for(path: Path, **changes: Any) -> Request:
    request = make_request(path, Scenario())
    data = request.data._replace(train_samples=10, eval_samples=10)
    return request._replace(data=data, global_batch_size=4, epochs=5, target_accuracy=0.9)._replace(
        **changes
    )


def train(
    path: Path,
    clock: Clock,
    accuracies: list[float],
    losses: list[float] | None = None,
    **changes: Any,
) -> Scripted:
    scripted = Scripted(clock, accuracies, losses)
    loop.run(
        request_for(path, **changes),
        World(),
        lambda request, world: loop.Built(scripted, scripted, {"parameters": 1}),
    )
    return scripted


class Stateful(Scripted):
    """Copying its state takes a second."""

    def training_state(self) -> dict[str, Any]:
        self.clock.now_ns += 10**9
        return {"parameter/a": array.array("d", [float(len(self.learning_rates))])}


class Normalising(Scripted):
    """A model with batch normalisation; counts how often its statistics are averaged."""

    averaged = 0

    def training_state(self) -> dict[str, Any]:
        return {
            "parameter/a": array.array("d", [float(len(self.learning_rates))]),
            "statistic/a.running_mean": array.array("d", [0.5]),
        }

    def average_statistics(self, mean: Any) -> None:
        self.averaged += 1


class Twins(World):
    """Rank 0 of two ranks that do the same."""

    size = 2

    @property
    def machines(self) -> list[Machine]:
        return [this_machine(), this_machine()]

    def allgather(self, value: Any) -> list[Any]:
        return [value, value]

    def gather(self, value: Any) -> list[Any]:
        return [value, value]

    def clock_offsets(self) -> list[ClockOffset]:
        return [ClockOffset(0, 0), ClockOffset(0, 0)]


@pytest.mark.parametrize(
    ("normalisation", "statistics", "span", "averaged"),
    [
        (contract.LOCAL, contract.UPDATED, 2, 2),
        (contract.LOCAL, contract.FROZEN, 2, 0),
        (contract.SYNCHRONISED, contract.UPDATED, 4, 0),
    ],
)
def test_statistics_are_averaged_unless_the_ranks_synchronise_or_freeze_them(
    normalisation: str, statistics: str, span: int, averaged: int, clock: Clock, tmp_path: Path
) -> None:
    """Averages would hide that ranks which should have equal statistics have others, and change
    frozen ones: the mean of three equal numbers may round."""
    scripted = Normalising(clock, [0.1, 0.4])
    parallel = contract.Parallel(2, 1, "mpi", 0, False, normalisation)
    trains = contract.Trains(["*"], statistics)
    loop.run(
        request_for(tmp_path, parallel=parallel, epochs=2, trains=trains),
        Twins(),
        lambda request, world: loop.Built(scripted, scripted, {"parameters": 1, "trained": {}}),
    )
    assert read_log(tmp_path / "log.txt").value("model_bn_span") == span
    assert scripted.averaged == averaged


def test_a_training_state_takes_no_counted_time(clock: Clock, tmp_path: Path) -> None:
    scripted = Stateful(clock, [0.1, 0.9])
    states = tmp_path / "states"
    states.mkdir()
    (tmp_path / "run").mkdir()
    request = request_for(tmp_path / "run")
    loop.run(
        request,
        World(),
        lambda request, world: loop.Built(scripted, scripted, {"parameters": 1}),
        loop.States(str(states)),
    )
    bundle = Bundle(tmp_path / "run")
    log = bundle.log()
    steps_s = 3 * (FETCH_NS + COPY_NS + STEP_NS) * 1e-9
    assert [interval.length_s for interval in uncounted_intervals(log)] == [1.0, 1.0]
    assert target_figures(log)["time_to_target_s"].value == pytest.approx(
        2 * (steps_s + COPY_NS * 1e-9)
    )
    assert [
        epoch.end_to_end_s for epoch in derive_epochs(log, bundle.steps(), no_channels(), ())
    ] == pytest.approx([steps_s, steps_s])
    keys = [event.key for event in log.events]
    first = keys.index("epoch_stop")
    assert keys[first : first + 5] == [
        "epoch_stop",
        "uncounted_start",
        "learning_rates",
        "state_digests",
        "uncounted_stop",
    ]
    assert StateFile(str(states / "epoch_2.npz")).progress == (2, 6)


class TwoLayers(Scripted):
    def training_state(self) -> dict[str, Any]:
        names = ("parameter/body", "parameter/head", "velocity/body", "velocity/head")
        return {name: memoryview(bytearray(100)) for name in names}


@pytest.mark.parametrize(("trains", "velocity"), [(None, 200), (["head"], 100), (["*"], 200)])
def test_what_is_frozen_has_no_velocity_in_memory(
    trains: list[str] | None, velocity: int, clock: Clock, tmp_path: Path
) -> None:
    scripted = TwoLayers(clock, [0.1])
    part = None if trains is None else contract.Trains(trains, contract.FROZEN)
    loop.run(
        request_for(tmp_path, epochs=1, trains=part),
        World(),
        lambda request, world: loop.Built(scripted, scripted, {"parameters": 1, "trained": {}}),
    )
    parts = read_log(tmp_path / "log.txt").value("memory_parts")
    assert (parts["parameter"], parts["velocity"]) == (200, velocity)


def test_training_from_a_state_repeats_the_epochs_after_it(digits: Path, tmp_path: Path) -> None:
    """With the fake framework on the digits, and a learning rate that falls."""
    places = [tmp_path / name for name in ("whole", "rest", "states")]
    for place in places:
        place.mkdir()
    data = contract.DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    whole, rest = (
        make_request(place, Scenario())._replace(data=data, global_batch_size=64, epochs=3)
        for place in places[:2]
    )
    loop.run(whole, World(), fake.build, loop.States(str(places[2])))
    loop.run(rest, World(), fake.build, loop.States(None, str(places[2] / "epoch_1.npz")))
    logs, steps = (
        [read_log(place / "log.txt") for place in places[:2]],
        [Bundle(place).steps_frame() for place in places[:2]],
    )
    later = steps[0][steps[0]["epoch"] > 1]
    assert list(steps[1]["step"]) == list(later["step"])
    assert list(steps[1]["loss"]) == list(later["loss"])
    assert [event.value for event in logs[1].all("state_digests")] == [
        event.value for event in logs[0].all("state_digests")
    ][1:]
    evaluations = [
        [(event.epoch, event.metadata["correct"]) for event in log.all("eval_accuracy")]
        for log in logs
    ]
    assert evaluations[0] == evaluations[1]


@pytest.mark.parametrize(
    ("state", "progress", "words"),
    [
        (
            {"parameter/weights": [0.0] * 5, "velocity/weights": [0.0] * 5},
            (1, 3),
            "of another model",
        ),
        ({"parameter/weights": [0.0] * 500}, (1, 3), "of another model"),
        (
            {"parameter/weights": [0.0] * 500, "velocity/weights": [0.0] * 500},
            (1, 2),
            "after 2 steps",
        ),
        (
            {"parameter/weights": [0.0] * 500, "velocity/weights": [0.0] * 500},
            (0, 0),
            "after 0 steps",
        ),
    ],
)
def test_a_state_of_another_training_is_refused(
    state: dict[str, list[float]], progress: tuple[int, int], words: str, tmp_path: Path
) -> None:
    write_state(
        str(tmp_path / "state.npz"),
        {name: array.array("d", values) for name, values in state.items()},
        Progress(*progress),
    )
    with pytest.raises(ContractError, match=words):
        loop.run(
            request_for(tmp_path),
            World(),
            fake.build,
            loop.States(None, str(tmp_path / "state.npz")),
        )


def test_an_implementation_without_restore_says_so(clock: Clock, tmp_path: Path) -> None:
    scripted = Stateful(clock, [])
    write_state(str(tmp_path / "state.npz"), scripted.training_state(), Progress(1, 3))
    with pytest.raises(ContractError, match="has no method restore"):
        built = loop.Built(scripted, scripted, {"parameters": 1})
        loop.run(
            request_for(tmp_path),
            World(),
            lambda request, world: built,
            loop.States(None, str(tmp_path / "state.npz")),
        )


def test_it_stops_at_the_target(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5, 0.9])
    log = read_log(tmp_path / "log.txt")
    assert log.finished_epochs() == (1, 2)
    assert log.first("run_stop").metadata["status"] == "success"  # type: ignore[union-attr]


def test_one_sample_too_few_is_not_the_target(clock: Clock, tmp_path: Path) -> None:
    scripted = Scripted(clock, [0.8999, 0.9])
    scripted.evaluated = 10_000
    request = request_for(tmp_path)
    request = request._replace(data=request.data._replace(eval_samples=scripted.evaluated))
    loop.run(
        request, World(), lambda request, world: loop.Built(scripted, scripted, {"parameters": 1})
    )
    assert read_log(tmp_path / "log.txt").finished_epochs() == (1, 2)


def test_it_is_aborted_when_the_target_is_never_reached(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5] * 5)
    assert read_log(tmp_path / "log.txt").first("run_stop").metadata["status"] == "aborted"  # type: ignore[union-attr]


def test_without_a_target_it_runs_every_epoch(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [1.0] * 5, target_accuracy=None)
    assert read_log(tmp_path / "log.txt").finished_epochs() == (1, 2, 3, 4, 5)


def test_it_evaluates_at_the_interval_and_at_the_end(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.5] * 3, eval_every_epochs=2)
    assert [event.epoch for event in read_log(tmp_path / "log.txt").all("eval_accuracy")] == [
        2,
        4,
        5,
    ]


@pytest.mark.parametrize("steps", [1, 3, 4])
def test_a_step_limit_is_kept_to_the_step(steps: int, clock: Clock, tmp_path: Path) -> None:
    assert len(train(tmp_path, clock, [0.5] * 5, steps=steps).learning_rates) == steps


@pytest.mark.parametrize(("steps", "evaluated"), [(1, []), (3, [1]), (4, [1]), (6, [1, 2])])
def test_an_epoch_that_the_step_limit_cuts_short_is_not_evaluated(
    steps: int, evaluated: list[int], clock: Clock, tmp_path: Path
) -> None:
    train(tmp_path, clock, [0.5] * 5, steps=steps)
    assert [
        event.epoch for event in read_log(tmp_path / "log.txt").all("eval_accuracy")
    ] == evaluated


def test_the_learning_rate_falls_linearly_to_zero_over_all_epochs(
    clock: Clock, tmp_path: Path
) -> None:
    scripted = train(tmp_path, clock, [0.5] * 5)
    base = request_for(tmp_path).optimizer.base_learning_rate
    assert scripted.learning_rates == pytest.approx([base * (1 - step / 15) for step in range(15)])


def test_the_parts_of_an_epoch_add_up_to_its_length(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.9])
    bundle = Bundle(tmp_path)
    (epoch,) = derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), ())
    assert epoch.fetch_stall_s == pytest.approx(3 * FETCH_NS * 1e-9)
    assert epoch.copy_s == pytest.approx(3 * COPY_NS * 1e-9)
    assert epoch.communication_s == pytest.approx(3 * COMMUNICATION_S)
    assert epoch.compute_s == pytest.approx(3 * (STEP_NS * 1e-9 - COMMUNICATION_S))
    assert epoch.overhead_s == pytest.approx(0, abs=1e-9)
    assert (epoch.steps, epoch.samples) == (3, 10)


def test_the_start_of_workers_is_no_fetch_stall(clock: Clock, tmp_path: Path) -> None:
    train(tmp_path, clock, [0.9])
    bundle = Bundle(tmp_path)
    (epoch,) = derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), (), workers=2)
    assert epoch.worker_start_s == pytest.approx(FETCH_NS * 1e-9)
    assert epoch.fetch_stall_s == pytest.approx(2 * FETCH_NS * 1e-9)
    assert epoch.overhead_s == pytest.approx(0, abs=1e-9)


def test_an_epoch_that_was_cut_short_is_no_epoch(clock: Clock, tmp_path: Path) -> None:
    """Its time is neither that of epoch 1 nor part of the mean."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    train(tmp_path / "one", clock, [0.5] * 5, steps=2)
    train(tmp_path / "two", clock, [0.5] * 5, steps=8)
    for name, first_s, later in (("one", None, 0), ("two", True, 1)):
        bundle = Bundle(tmp_path / name)
        figures = time_figures(
            derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), ()), bundle.log()
        )
        assert (figures["first_epoch_s"].value is not None) is bool(first_s)
        assert figures["time_to_epoch_s"].count == later
        if first_s is None:
            assert (
                figures["first_epoch_s"].reason
                == "epoch 1 was cut short: it trained 8 of 10 samples"
            )


def test_a_run_without_an_accelerator_has_no_utilisation_of_one(
    clock: Clock, tmp_path: Path
) -> None:
    train(tmp_path, clock, [0.5, 0.5, 0.9])
    bundle = Bundle(tmp_path)
    figures = time_figures(
        derive_epochs(bundle.log(), bundle.steps(), bundle.channels(), ()), bundle.log()
    )
    assert figures["compute_share"].value is not None and 0 < figures["compute_share"].value < 1
    assert figures["accelerator_utilisation"].value is None
    assert "no accelerator" in str(figures["accelerator_utilisation"].reason)


@pytest.mark.parametrize("loss", [float("nan"), float("inf")])
def test_a_diverging_run_says_where_and_keeps_its_steps(
    loss: float, clock: Clock, tmp_path: Path
) -> None:
    with pytest.raises(ContractError, match="at step 2"):
        train(tmp_path, clock, [0.5] * 5, losses=[1.0, loss, 1.0])
    assert len((tmp_path / "steps.csv").read_text().splitlines()) == 1 + 3


def test_in_asynchronous_timing_an_epoch_ends_when_the_device_has_finished(
    tmp_path: Path, clock: Clock
) -> None:
    scripted = Submitted(clock, [0.5, 0.9], [3.0, 2.5, 2.0, 1.5, 1.0, 0.5])
    request = request_for(tmp_path, timing=contract.ASYNCHRONOUS)
    loop.run(
        request, World(), lambda request, world: loop.Built(scripted, scripted, {"parameters": 1})
    )
    steps, log = Bundle(tmp_path).steps(), read_log(tmp_path / "log.txt")
    assert steps.loss.tolist() == [3.0, 2.5, 2.0, 1.5, 1.0, 0.5]
    assert steps.fetch_stall_s.tolist() == pytest.approx([FETCH_NS * 1e-9] * 6)
    assert not steps.is_split and np.isnan(steps.parts_s[1:]).all()
    first, _ = derive_epochs(log, steps, no_channels(), ())
    assert first.end_to_end_s == pytest.approx(
        (3 * (FETCH_NS + 2 * Submitted.SUBMIT_NS) + 3 * (COPY_NS + STEP_NS)) * 1e-9
    )
    assert (first.copy_s, first.compute_s, first.communication_s, first.overhead_s) == (
        None,
        None,
        None,
        None,
    )
    assert [event.value for event in log.all("eval_accuracy")] == [0.5, 0.9]


def test_a_figure_of_a_part_says_that_asynchronous_timing_takes_none(
    tmp_path: Path, clock: Clock
) -> None:
    scripted = Submitted(clock, [0.5, 0.6, 0.95], [1.0] * 9)
    request = request_for(tmp_path, timing=contract.ASYNCHRONOUS)
    loop.run(
        request, World(), lambda request, world: loop.Built(scripted, scripted, {"parameters": 1})
    )
    log = read_log(tmp_path / "log.txt")
    figures = time_figures(derive_epochs(log, Bundle(tmp_path).steps(), no_channels(), ()), log)
    assert figures["time_to_epoch_s"].value is not None and figures[
        "fetch_stall_s"
    ].value == pytest.approx(3 * FETCH_NS * 1e-9)
    for name in ("copy_s", "compute_s", "communication_s", "overhead_s", "compute_share"):
        assert figures[name].value is None and "asynchronous timing" in str(figures[name].reason)


def test_an_implementation_that_waits_in_every_step_says_so(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(ContractError, match="use `--timing synchronised`"):
        train(tmp_path, clock, [0.95], timing=contract.ASYNCHRONOUS)
