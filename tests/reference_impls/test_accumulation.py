"""Gradient accumulation: K mini-batches of B samples train as one of K times B, on one rank and on
two, and the schedule counts updates."""

from pathlib import Path
from typing import Any

import pytest

from reference_impls import loop
from reference_impls.communication import World
from reference_impls.contract import ContractError, DataSet, Parallel, Request, log_name
from reference_impls.fake import implementation as fake
from reference_impls.schedules import linear
from reference_impls.state_file import StateFile
from reference_impls.updates import Place, learning_rate, learning_rates, places
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from tests.builders import Scenario, make_request
from tests.conftest import train

TRAINED = 1438
"""Samples of the digits: 44 mini-batches of 32 and one of 30; 14 of 96 and one of 94."""
RTOL = 5e-6
"""Of losses in float32 in two epochs: 1.9e-7 at most was measured, in three frameworks on one rank
and on two."""


def request_for(folder: Path, samples: int = 10, **changes: Any) -> Request:
    request = make_request(folder, Scenario())
    data = request.data._replace(train_samples=samples)
    return request._replace(data=data, global_batch_size=3, epochs=2)._replace(**changes)


def test_the_last_update_of_an_epoch_has_the_mini_batches_that_are_left(tmp_path: Path) -> None:
    request = request_for(tmp_path, accumulation=3)
    assert list(places(request, None)) == [
        Place(9, False),
        Place(9, False),
        Place(9, True),
        Place(1, True),
    ]
    assert list(places(request._replace(accumulation=1), None)) == [Place(3, True)] * 3 + [
        Place(1, True)
    ]
    assert list(places(request._replace(accumulation=7), None)) == [Place(10, False)] * 3 + [
        Place(10, True)
    ]


def test_a_step_limit_ends_an_update(tmp_path: Path) -> None:
    assert list(places(request_for(tmp_path, accumulation=3), 2)) == [
        Place(6, False),
        Place(6, True),
    ]


def test_the_schedule_counts_updates(tmp_path: Path) -> None:
    request = request_for(tmp_path, accumulation=3)
    base = request.optimizer.base_learning_rate
    rates = [learning_rate(request, step) for step in range(8)]
    assert rates == pytest.approx([base * (1 - update / 4) for update in (0, 0, 0, 1, 2, 2, 2, 3)])
    assert learning_rates(request, 4, 4) == pytest.approx(
        [rates[4], rates[7], (rates[4] + rates[7]) / 2]
    )


def test_without_accumulation_the_schedule_counts_mini_batches(tmp_path: Path) -> None:
    request = request_for(tmp_path)
    assert [learning_rate(request, step) for step in range(8)] == [
        linear(request.optimizer.base_learning_rate, step, 8) for step in range(8)
    ]


def test_an_implementation_that_cannot_accumulate_says_so(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(fake.SoftmaxRegression, "accumulate")
    request = request_for(tmp_path, TRAINED, accumulation=2)._replace(data=digits_at(digits))
    with pytest.raises(ContractError, match="leave --accumulate out"):
        loop.run(request, World(), fake.build)


def digits_at(folder: Path) -> DataSet:
    return DataSet("digits", str(folder), "idx", 10, TRAINED, 359, False, False)


def test_the_fake_framework_trains_by_three_mini_batches_as_by_one(
    digits: Path, tmp_path: Path
) -> None:
    """In float64: the state after two epochs, whose last update has fewer mini-batches and
    samples."""
    states = []
    for name, changes in (
        ("whole", {"global_batch_size": 120}),
        ("parts", {"global_batch_size": 40, "accumulation": 3}),
    ):
        for folder in (tmp_path / name, tmp_path / f"{name}-states"):
            folder.mkdir()
        request = request_for(tmp_path / name, TRAINED)._replace(data=digits_at(digits), **changes)
        loop.run(request, World(), fake.build, loop.States(str(tmp_path / f"{name}-states")))
        states.append(StateFile(str(tmp_path / f"{name}-states" / "epoch_2.npz")).of_rank(0))
    for kind in ("parameter/weights", "velocity/weights"):
        assert states[1][kind].tolist() == pytest.approx(
            states[0][kind].tolist(), rel=1e-9, abs=1e-12
        )
    assert read_log(tmp_path / "parts" / "log.txt").value("gradient_accumulation_steps") == 3
    assert read_log(tmp_path / "whole" / "log.txt").value("gradient_accumulation_steps") is None
    assert len(Bundle(tmp_path / "parts").steps()) == 2 * 36


@pytest.mark.proof
@pytest.mark.parametrize(("ranks", "collective"), [(1, "none"), (2, "mpi"), (2, "native")])
def test_three_mini_batches_train_lenet_as_one(
    framework: str, ranks: int, collective: str, digits: Path, tmp_path: Path
) -> None:
    """In float32, through loop and log: the mean loss of every update, and how often gradients were
    exchanged."""
    parallel = (
        Parallel(ranks, 1, collective, 2**16, True)
        if ranks > 1
        else Parallel(1, 1, "none", 0, False)
    )
    shared = {"epochs": 2, "target_accuracy": None, "parallel": parallel}
    whole = train(framework, tmp_path / "whole", digits_at(digits), global_batch_size=96, **shared)
    parts = train(
        framework,
        tmp_path / "parts",
        digits_at(digits),
        global_batch_size=32,
        accumulation=3,
        **shared,
    )
    expected, found = (
        losses_of_updates(tmp_path / "whole", 1),
        losses_of_updates(tmp_path / "parts", 3),
    )
    assert len(found) == 30 and found == pytest.approx(expected, rel=RTOL)
    assert [event.value for event in whole.log.all("learning_rates")] == [
        event.value for event in parts.log.all("learning_rates")
    ]
    logs = [read_log(tmp_path / "parts" / log_name(rank)) for rank in range(ranks)]
    assert [log.value("gradient_accumulation_steps") for log in logs] == [3] * ranks
    exchanges = {
        bucket["exchanges"]
        for log in logs
        for event in log.all("bucket_times")
        for bucket in event.value
    }
    assert exchanges == ({15} if collective == "mpi" else set())


def losses_of_updates(folder: Path, accumulation: int) -> list[float]:
    """The mean loss over all samples of each update of a run, over ranks and mini-batches."""
    steps = Bundle(folder).steps_frame()
    place = (steps["step"] - 1) % steps.groupby("epoch")["step"].nunique().max()
    updates_ = [steps["epoch"], place // accumulation]
    return list(
        (steps["loss"] * steps["samples"]).groupby(updates_).sum()
        / steps["samples"].groupby(updates_).sum()
    )
