"""Figures of a run from its epochs, its steps and its log, by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.bundle.channels import no_channels
from suite.bundle.log import Log, LogEvent
from suite.bundle.resumption import Resumption
from suite.bundle.steps import StepRecords
from suite.metrics.counted_time import UncountedInterval
from suite.metrics.figure import mean_figure
from suite.metrics.rank_figures import rank_figures, rank_rows
from suite.metrics.summary import (
    EpochFigures,
    derive_epochs,
    gross_figures,
    initialisation,
    target_figures,
    time_figures,
)

SECOND = 10**9


def log_of(*events: tuple[str, Any, float | None, int | None]) -> Log:
    """A log of (key, value, second, epoch)."""
    return Log(
        Path("log.txt"),
        tuple(
            LogEvent(
                line,
                0.0 if second is None else 5000 + 1000 * second,
                "",
                key,
                value,
                {
                    "mono_ns": None if second is None else round(second * SECOND),
                    "epoch_num": epoch,
                    "reason": "state",
                },
            )
            for line, (key, value, second, epoch) in enumerate(events, 1)
        ),
        (),
    )


def steps_of(*rows: tuple[int, int, int, int, float, float, float, float, float, float]) -> Any:
    """Records of (epoch, step, rank, samples, start in s, fetch, copy, compute, exchange, loss)."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    columns[4] = np.round(columns[4] * SECOND).astype(np.int64)
    return StepRecords(*columns)


def epoch_of(
    number: int, end_to_end_s: float, compute_s: float | None, samples: int, whole: bool = True
) -> EpochFigures:
    return EpochFigures(
        number, 4, samples, whole, end_to_end_s, 0.0, 0.5, 0.1, compute_s, 0.0, 0.0,
        *(None,) * 6,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "first", "first_s", "counted"),
    [(0, 1, 20.0, (2, 3, 4)), (2, 3, None, (4,)), (1, 2, None, (3, 4))],
    ids=["a whole run", "resumed after 2 epochs", "resumed after 1 epoch"],
)
def test_the_mean_epoch_is_of_those_with_warm_caches(
    before: int, first: int, first_s: float | None, counted: tuple[int, ...]
) -> None:
    """The first epoch of a process and one that was cut short are in no mean."""
    end_to_end_s = {1: 20.0, 2: 10.0, 3: 12.0, 4: 17.0}
    epochs = [
        epoch_of(number, spent_s, number * 1.0, number * 60)
        for number, spent_s in end_to_end_s.items()
        if number >= first
    ]
    found = time_figures(
        [*epochs, epoch_of(5, 1.0, 1.0, 9, whole=False)],
        log_of(("accelerator", "cuda", 1, None)),
        before,
    )
    count = len(counted)
    assert found["first_epoch_s"].value == first_s
    assert ("the run was resumed" in str(found["first_epoch_s"].reason)) is (before > 0)
    expected = {
        "time_to_epoch_s": sum(end_to_end_s[one] for one in counted) / count,
        "compute_s": sum(counted) / count,
        "samples_per_s": sum(60 * one / end_to_end_s[one] for one in counted) / count,
        "compute_share": sum(one / end_to_end_s[one] for one in counted) / count,
    }
    assert {name: found[name].value for name in expected} == pytest.approx(expected)
    assert found["accelerator_utilisation"].value == found["compute_share"].value
    assert {found[name].count for name in expected} == {count}


def test_a_spread_is_the_sample_standard_deviation_and_nan_is_no_mean() -> None:
    found = mean_figure([1.0, 2.0, 6.0], "s", "steps", "none", 0.5)
    assert (found.value, found.spread, found.count, found.period_s) == (3, 7**0.5, 3, 0.5)
    assert mean_figure([3.0], "s", "steps", "none").spread is None
    assert mean_figure([1.0, float("nan"), 6.0], "s", "steps", "none").value is None


EVALUATED = (
    ("target_accuracy", 0.9, None, None),
    ("run_start", None, 100, None),
    ("uncounted_start", None, 110, 1),
    ("uncounted_stop", None, 114, 1),
    ("eval_accuracy", 0.8999, 120, 1),
    ("eval_accuracy", 0.9, 130, 2),
    ("eval_accuracy", 0.95, 140, 3),
    ("eval_accuracy", 0.85, 150, 4),
)


def test_the_target_is_reached_by_the_first_accuracy_that_is_no_less() -> None:
    log = log_of(*EVALUATED)
    found = target_figures(log)
    assert {name: figure.value for name, figure in found.items()} == {
        "best_accuracy": 0.95,
        "time_to_target_s": pytest.approx(130 - 100 - 4),
        "epochs_to_target": 2,
    }
    before = Resumption("run-1", 1, {}, 1, 1, "killed", 0, 35_000, 0, None, 7.0)
    assert target_figures(log, before)["time_to_target_s"].value == pytest.approx(
        26 + (105 - 35) - 7
    )


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        ("target_accuracy", "the run had no target"),
        ("eval_accuracy", "the target was not reached"),
        ("run_start", "does not say after which time"),
    ],
)
def test_why_there_is_no_time_to_the_target(left_out: str, reason: str) -> None:
    found = target_figures(log_of(*(event for event in EVALUATED if event[0] != left_out)))
    for name in ("time_to_target_s", "epochs_to_target"):
        assert found[name].value is None and reason in str(found[name].reason)


def test_times_of_the_run_as_a_whole() -> None:
    log = log_of(("init_start", None, 3, None), ("run_start", None, 10.5, None))
    assert initialisation(log).value == pytest.approx(7.5)
    intervals = [
        UncountedInterval("state", 1, start * SECOND, stop * SECOND, 1)
        for start, stop in ((5, 12), (20, 21), (38, 50))
    ]
    found = gross_figures((10 * SECOND, 40 * SECOND), intervals)
    assert found["gross_time_s"].value == pytest.approx(30)
    assert (found["uncounted_s"].value, found["uncounted_s"].count) == (pytest.approx(2 + 1 + 2), 3)


ROWS = (
    # rank 0 is busy for 2, 6 and 2 s, rank 1 for 1, 6 and 2 s, rank 2 for 5, 1 and 5 s
    (1, 1, 0, 30, 10.0, 0.5, 0.5, 1.0, 0.25, 4.0),
    (1, 1, 1, 10, 10.0, 0.25, 0.25, 0.5, 0.25, 8.0),
    (1, 1, 2, 20, 10.0, 1.0, 1.0, 3.0, 0.125, 1.0),
    (1, 2, 0, 30, 15.0, 2.0, 1.0, 3.0, 0.5, 2.0),
    (1, 2, 1, 10, 15.0, 2.0, 1.0, 3.0, 1.0, 3.0),
    (1, 2, 2, 10, 15.0, 0.5, 0.25, 0.25, 4.0, 1.0),
    (2, 3, 0, 30, 30.0, 0.5, 0.5, 1.0, 0.0, 1.0),
    (2, 3, 1, 10, 30.0, 0.5, 0.5, 1.0, 0.0, 1.0),
    (2, 3, 2, 10, 30.0, 1.0, 1.0, 3.0, 0.0, 1.0),
)


def test_an_epoch_has_the_times_of_rank_0_and_the_samples_and_losses_of_all() -> None:
    """A step's loss is weighted by the ranks' samples; an epoch's is the mean of its steps."""
    log = log_of(
        ("train_samples", 110, None, None),
        ("epoch_stop", None, 25.0, 1),
        ("eval_accuracy", 0.75, 26.0, 1),
        ("epoch_stop", None, 33.0, 2),
    )
    first, second = derive_epochs(log, steps_of(*ROWS), no_channels(), (), workers=2)
    losses = ((30 * 4 + 10 * 8 + 20 * 1) / 60, (30 * 2 + 10 * 3 + 10 * 1) / 50)
    assert (first.epoch, first.steps, first.samples, first.is_whole) == (1, 2, 110, True)
    assert first.mean_loss == pytest.approx(sum(losses) / 2)
    assert (first.end_to_end_s, first.worker_start_s) == pytest.approx((15.0, 0.5))
    assert (first.fetch_stall_s, first.copy_s, first.compute_s) == (2.0, 1.5, 4.0)
    assert (first.communication_s, first.overhead_s) == pytest.approx((0.75, 15 - 8.75))
    assert (first.eval_accuracy, second.eval_accuracy) == (0.75, None)
    assert second.end_to_end_s == pytest.approx(3.0)
    assert (second.samples, second.is_whole) == (30 + 10 + 10, False)


def test_of_three_ranks_the_slowest_is_found_over_all_steps() -> None:
    """Of equally slow ranks the first counts."""
    log = log_of(
        ("nodes_of_ranks", ["a", "b", 7], None, None), ("peak_rss_of_ranks", [5, 6, 7], None, None)
    )
    rows = rank_rows(log, steps_of(*ROWS))
    assert [row["busy_s"] for row in rows] == [10.0, 9.0, 11.0]
    assert [row["busy_ratio"] for row in rows] == pytest.approx([1.0, 0.9, 1.1])
    assert [row["slowest_share"] for row in rows] == pytest.approx([1 / 3, 0, 2 / 3])
    assert [row["communication_s"] for row in rows] == [0.75, 1.25, 4.125]
    assert [(row["samples"], row["node"], row["peak_rss_bytes"]) for row in rows] == [
        (90, "a", 5),
        (30, "b", 6),
        (40, None, 7),
    ]
    figures = rank_figures(log, steps_of(*ROWS), [0.1, 0.3], "too few")
    assert figures["straggler_ratio"].value == pytest.approx(1.1)
    assert figures["communication_share"].value == pytest.approx(0.2)
