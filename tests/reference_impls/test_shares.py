"""Shares by speed: which samples each rank takes, how speeds are measured, and that ranks with
unequal shares train as one rank. Ranks are threads here; the last test starts MPI's."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from reference_impls import loop, shares
from reference_impls.communication import ClockOffset, Machine, World, this_machine
from reference_impls.contract import (
    SPEED,
    Batch,
    ContractError,
    Implementation,
    Parallel,
    Pipeline,
    Request,
    StepResult,
    log_name,
)
from reference_impls.fake import implementation as fake
from reference_impls.shares import Share, samples_of_ranks, share_by_speed
from reference_impls.state_file import StateFile
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from tests.builders import Scenario, make_request
from tests.conftest import train
from tests.reference_impls.test_accumulation import RTOL, digits_at, losses_of_updates, request_for
from tests.reference_impls.unequal_ranks import SECONDS

BY_SPEED = Parallel(2, 1, "mpi", 2**16, True, shares=SPEED)


class Threads(World):
    """One of several ranks that are threads."""

    def __init__(self, rank: int, barrier: threading.Barrier, offered: list[Any]) -> None:
        self.rank, self.size = rank, len(offered)
        self._barrier, self._offered = barrier, offered

    @property
    def machines(self) -> list[Machine]:
        return [this_machine()] * self.size

    def allgather(self, value: Any) -> list[Any]:
        self._offered[self.rank] = value
        self._barrier.wait(120)
        found = list(self._offered)
        self._barrier.wait(120)
        return found

    def gather(self, value: Any) -> list[Any]:
        return self.allgather(value) if self.rank == 0 else self.allgather(value)[:0]

    def bcast(self, value: Any) -> Any:
        return self.allgather(value)[0]

    def sum(self, values: Any) -> None:
        values[:] = type(values)("d", map(sum, zip(*self.allgather(values[:]), strict=True)))

    def clock_offsets(self) -> list[ClockOffset]:
        return [ClockOffset(0, 0)] * self.size


def on_ranks(count: int, work: Any) -> list[Any]:
    """What every rank returns."""
    barrier, offered = threading.Barrier(count), [None] * count
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda rank: work(Threads(rank, barrier, offered)), range(count)))


@pytest.mark.parametrize(
    ("seconds", "samples", "counts"),
    [
        ((1, 1, 1, 1), 10, [3, 3, 2, 2]),
        ((13, 3), 16, [3, 13]),
        ((1, 3), 16, [12, 4]),
        ((1, 3), 7, [6, 1]),
        ((1, 1, 1000), 32, [16, 15, 1]),
        ((1, 1000, 1000), 3, [1, 1, 1]),
        ((0.1, 0.2, 0.3), 11, [6, 3, 2]),
        ((1.0, 2.0), 3 * 10**15, [2 * 10**15, 10**15]),
    ],
)
def test_every_rank_takes_one_sample_and_the_last_one_is_ready_as_early_as_possible(
    seconds: tuple[float, ...], samples: int, counts: list[int]
) -> None:
    assert samples_of_ranks(seconds, samples) == counts


def test_no_other_shares_would_be_ready_earlier() -> None:
    """Every way to give 12 samples to three ranks."""
    for seconds in ((1.0, 1.7, 4.1), (2.0, 2.1, 2.2), (9.0, 1.0, 1.5)):
        found = samples_of_ranks(seconds, 12)
        assert sum(found) == 12
        every = [(one, two, 12 - one - two) for one in range(1, 11) for two in range(1, 12 - one)]
        assert last_s(found, seconds) == min(last_s(counts, seconds) for counts in every)


def last_s(counts: Sequence[int], seconds: Sequence[float]) -> float:
    return max(count * each for count, each in zip(counts, seconds, strict=True))


def test_ranks_take_samples_that_follow_one_another_and_together_all_of_them() -> None:
    assert [list(range(16)[Share(rank, 2, (13, 3)).of(16)]) for rank in range(2)] == [
        [0, 1, 2],
        list(range(3, 16)),
    ]
    assert [range(7)[Share(rank, 3).of(7)] for rank in range(3)] == [
        range(rank, 7, 3) for rank in range(3)
    ]


class Timed(Implementation, Pipeline):
    """A step takes what the clock says, a wait for others included."""

    def __init__(self, ticks: list[int]) -> None:
        self.ticks, self.now_ns, self.done = iter(ticks), 0, list[str]()

    def training(self, epoch: int) -> Any:
        yield Batch([0] * 4, [0] * 4)

    def evaluation(self) -> Any:
        raise NotImplementedError

    def to_device(self, batch: Any) -> Any:
        return batch

    def step(self, device_batch: Any, learning_rate: float, share: float) -> StepResult:
        self.now_ns += next(self.ticks) * 10**9 + 7 * 10**9
        assert learning_rate == 0.0
        return StepResult(1.0, 7.0)

    def count_correct(self, device_batch: Any) -> int:
        raise NotImplementedError

    def training_state(self) -> dict[str, Any]:
        return {"parameter/a": "before"}

    def restore(self, state: Any) -> None:
        self.done.append(state["parameter/a"])

    def share(self, seconds: tuple[float, ...]) -> None:
        self.done.append(str(seconds))


def test_speeds_are_those_of_steps_without_waits_after_one_that_may_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = Timed([600, 8, 9, 8, 90, 8])
    monkeypatch.setattr(shares, "monotonic_ns", lambda: timed.now_ns)
    request = make_request(tmp_path, Scenario(ranks=2))
    request = request._replace(global_batch_size=8)
    found = share_by_speed(request, World(), timed, timed)
    assert found["seconds_per_sample"] == pytest.approx((2.0,)) and found["samples"] == [8]
    assert found["cost_s"] == pytest.approx(600 + 123 + 6 * 7)
    restored, shared = timed.done
    assert restored == "before" and shared == str(found["seconds_per_sample"])


def test_ranks_that_normalise_their_own_samples_have_equal_shares(tmp_path: Path) -> None:
    class Normalising(Timed):
        def training_state(self) -> dict[str, Any]:
            return {"statistic/a.running_mean": [0.5]}

    timed = Normalising([])
    with pytest.raises(ContractError, match="add --normalisation synchronised"):
        share_by_speed(make_request(tmp_path, Scenario(ranks=2)), World(), timed, timed)


@pytest.mark.parametrize("accumulation", [1, 3])
def test_the_fake_framework_trains_on_unequal_ranks_as_on_one(
    accumulation: int, digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In float64, through loop and log: speeds are measured, and then told otherwise."""
    measure = shares._step_s

    def told(world: World, *of: Any) -> float:
        assert measure(world, *of) > 0
        return SECONDS[world.rank]

    monkeypatch.setattr(shares, "_step_s", told)
    monkeypatch.setattr(shares, "MIN_S", 0.0)
    settings = {"global_batch_size": 240 // accumulation, "accumulation": accumulation, "epochs": 1}
    whole, parts = (
        request_for(folder, 1438, **settings)._replace(data=digits_at(digits))
        for folder in (tmp_path / "whole", tmp_path / "parts")
    )
    parts = parts._replace(parallel=BY_SPEED)
    trained(whole, World())
    on_ranks(2, lambda world: trained(parts, world))
    one, two = (
        StateFile(f"{request.output_directory}-states/epoch_1.npz").of_rank(0)
        for request in (whole, parts)
    )
    for name in ("parameter/weights", "velocity/weights"):
        assert two[name].tolist() == pytest.approx(one[name].tolist(), rel=1e-9, abs=1e-12)
    logs = [read_log(tmp_path / "parts" / log_name(rank)) for rank in range(2)]
    batch = whole.global_batch_size
    assert {str(log.value("shares_of_ranks")["samples"]) for log in logs} == {
        str([batch * 3 // 16, batch * 13 // 16])
    }
    assert logs[1].value("eval_accuracy") == read_log(tmp_path / "whole" / "log.txt").value(
        "eval_accuracy"
    )
    steps = Bundle(tmp_path / "parts").steps_frame()
    assert list(steps.groupby("rank")["samples"].first()) == [batch * 3 // 16, batch * 13 // 16]
    assert steps["samples"].sum() == 1438


def trained(request: Request, world: World) -> None:
    folder = Path(request.output_directory)
    for each in (folder, folder.with_name(f"{folder.name}-states")):
        each.mkdir(exist_ok=True)
    loop.run(request, world, fake.build, loop.States(f"{folder}-states"))


@pytest.mark.proof
def test_ranks_with_three_and_thirteen_of_sixteen_samples_train_as_one(
    framework: str, digits: Path, tmp_path: Path
) -> None:
    """In float32, over MPI: the mean loss of every mini-batch."""
    short: dict[str, Any] = {"epochs": 1, "target_accuracy": None}
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(framework, whole, digits_at(digits), **short)
    train(
        framework,
        parts,
        digits_at(digits),
        module="tests.reference_impls.unequal_ranks",
        parallel=BY_SPEED,
        **short,
    )
    expected, found = losses_of_updates(whole, 1), losses_of_updates(parts, 1)
    assert len(found) == 90 and found == pytest.approx(expected, rel=RTOL)
    assert list(Bundle(parts).steps_frame().groupby("rank")["samples"].first()) == [3, 13]
