"""Figures of a measurement: latency from the intended arrival, its parts, the sawtooth, the
generator's lateness, and the interference."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.extensions.concurrent.record import intervals
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.calculated import (
    inference_figures,
    interference,
    latencies_s,
    share_of_windows,
    training_figures,
)
from suite.extensions.concurrent.record.overlap import overlaps
from suite.extensions.concurrent.record.queueing import Load, predict
from suite.extensions.concurrent.record.records import Recording
from suite.metrics.linear_fit import FittedValue
from tests.extensions.concurrent.conftest import Simulated

UNIFORM = Arrivals(ArrivalKind.UNIFORM, 100, 40)


def with_steps(found: Recording, step_s: float, samples: int = 8) -> Recording:
    """The recording with a training whose every step takes ``step_s``."""
    ends = np.arange(1, int(found.setting.duration_s / step_s)) * step_s * 1e9
    steps = np.stack([ends - step_s * 1e9, ends, np.full(len(ends), samples)], axis=1).astype(
        np.int64
    )
    return replace(found, steps=steps)


def test_latency_is_queueing_and_execution(simulated: Simulated) -> None:
    found = inference_figures(simulated(UNIFORM, 16, 0.1))
    assert found.latency_s and found.queueing_s and found.execution_s
    # the last batch is smaller, and takes as long
    assert found.execution_s.value == pytest.approx(0.1, rel=1e-3)
    assert found.latency_s.value == pytest.approx(found.queueing_s.value + found.execution_s.value)
    assert found.max_s == pytest.approx(0.25)
    assert found.p50_s and found.p99_s and found.p50_s.value <= found.p99_s.value <= found.max_s


def test_the_sawtooth_falls_by_the_arrival_gap(simulated: Simulated) -> None:
    assert inference_figures(simulated(UNIFORM, 16, 0.1)).arrival_gap_s == pytest.approx(
        0.01, rel=0.05
    )
    assert inference_figures(simulated(UNIFORM, 1, 0.001)).arrival_gap_s is None


def test_a_generator_that_notices_images_together_flattens_the_sawtooth(
    simulated: Simulated,
) -> None:
    """The slope is measured by the times at which images were there: with all images of a batch
    noticed at once it is no arrival gap."""
    found = simulated(UNIFORM, 16, 0.1)
    together = replace(
        found, noticed_ns=np.repeat(found.noticed_ns.reshape(-1, 16).max(axis=1), 16)
    )
    assert inference_figures(together).arrival_gap_s == pytest.approx(0.0, abs=1e-12)


def test_a_slow_generator_is_reported_and_its_latencies_stay_right(simulated: Simulated) -> None:
    """No coordinated omission: an image that was sent late has waited since its intended
    arrival."""
    on_time, late = (simulated(UNIFORM, 1, 0.002, late_s=late_s) for late_s in (0.0, 0.004))
    assert inference_figures(late).lateness_s == pytest.approx((0.004, 0.004, 0.004))
    assert inference_figures(on_time).lateness_s == (0.0, 0.0, 0.0)
    assert latencies_s(late) == pytest.approx(latencies_s(on_time) + 0.004)


def test_images_that_were_not_finished_are_counted_and_leave_no_mean(simulated: Simulated) -> None:
    found = inference_figures(simulated(UNIFORM, 1, 0.02, leave_s=72))
    assert (found.images, found.unfinished) == (4000, 400)
    assert found.latency_s is None and found.max_s is None and found.p99_s is None
    assert found.p50_s is not None, "most of the images were finished: their median is known"
    assert "400 of 4000 images were not finished" in found.notes[0]


def test_a_measurement_in_which_no_image_arrives_has_no_latencies(simulated: Simulated) -> None:
    found = simulated(UNIFORM, 1, 0.02)
    nothing = replace(
        found,
        intended_ns=found.intended_ns[:0],
        noticed_ns=found.noticed_ns[:0],
        batches=found.batches[:0],
    )
    figures = inference_figures(nothing)
    assert (figures.images, figures.latency_s, figures.max_s) == (0, None, None)


@pytest.mark.proof
def test_the_interval_of_a_mean_covers_it_in_19_of_20_measurements(simulated: Simulated) -> None:
    """M/D/1 at a load of 0.6, where consecutive latencies are correlated: mean latency s + 0.6 s /
    0.8."""
    covered = 0
    for seed in range(60):
        found = inference_figures(
            simulated(Arrivals(ArrivalKind.POISSON, 100, 60, seed), 1, 0.006)
        ).latency_s
        assert found is not None
        covered += found.low <= 0.006 + 0.6 * 0.006 / 0.8 <= found.high
    assert covered >= 53


def test_training_is_counted_from_step_to_step_within_the_measurement(simulated: Simulated) -> None:
    found = training_figures(with_steps(simulated(UNIFORM, 16, 0.1), 0.05))
    assert found.samples_per_s and found.steps_per_s
    assert (found.samples_per_s.value, found.steps_per_s.value) == (
        pytest.approx(160),
        pytest.approx(20),
    )
    before = with_steps(simulated(UNIFORM, 16, 0.1), 0.05)
    shifted = replace(before, steps=before.steps - np.array([20_000_000_000, 20_000_000_000, 0]))
    assert training_figures(shifted).steps == pytest.approx(
        training_figures(before).steps / 2, abs=1
    )


def test_both_sides_are_compared_with_their_baselines(simulated: Simulated) -> None:
    alone = simulated(UNIFORM, 16, 0.05)
    trained_alone = with_steps(alone, 0.05)
    lost = interference(with_steps(simulated(UNIFORM, 16, 0.1), 0.08), trained_alone, alone)
    assert lost.training and lost.execution
    assert lost.training.value == pytest.approx(5 / 8, rel=1e-3)
    assert lost.execution.value == pytest.approx(2, rel=1e-3)
    assert lost.training.low <= lost.training.value <= lost.training.high


def test_without_enough_steps_the_interference_is_unknown(simulated: Simulated) -> None:
    alone = simulated(UNIFORM, 16, 0.05)
    assert interference(alone, alone, alone).training is None


def test_windows_within_a_limit_are_counted_whole() -> None:
    values = np.concatenate(
        [
            np.full(1000, 0.1),
            np.full(985, 0.1),
            np.full(15, 0.5),
            np.full(990, 0.1),
            np.full(10, 0.5),
            np.full(400, 9.0),
        ]
    )
    assert share_of_windows(values, 0.3) == pytest.approx(2 / 3)
    assert share_of_windows(values[:999], 0.3) is None


def test_blocks_hold_every_value_once_and_whole_batches() -> None:
    for count, unit in ((1000, 16), (7, 1), (100, 64), (5000, 1)):
        ranges = intervals.blocks(count, unit)
        assert ranges[0][0] == 0 and ranges[-1][1] == count
        assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(ranges))
        assert all(begin % unit == 0 for begin, _ in ranges)


def test_intervals_of_blocks_by_hand() -> None:
    found = intervals.mean(np.array([1.0, 2, 3, 4, 10]))
    half = 2.776445 * math.sqrt(50 / 4) / math.sqrt(5)  # Student's quantile for four degrees
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((4, 4 - half, 4 + half), rel=1e-5)
    assert intervals.mean(np.ones(4)) is None
    rate = intervals.rate(np.array([99.0, 2, 2, 4, 4, 8]), np.array([0.0, 1, 2, 3, 4, 5]))
    assert rate is not None and rate.value == 4, "what ended first began before"
    levels = intervals._weighted_quantiles(np.arange(1, 5), np.ones(4), (0.5, 0.51, 0.99))
    assert levels.tolist() == [2, 3, 4]
    ratio = intervals.ratio(FittedValue(10, 8, 12), FittedValue(4, 3, 5))
    assert ratio is not None and ratio.value == 2.5
    assert ratio.high - 2.5 == pytest.approx(2.5 * math.hypot(0.2, 0.25))
    assert intervals.ratio(FittedValue(1, 1, 1), FittedValue(0, 0, 0)) is None


def test_steps_count_that_end_in_the_window_and_overlap_a_batch_that_they_run_beside() -> None:
    batches = {"start_ns": np.array([10, 30]), "end_ns": np.array([20, 40])}
    steps = np.array([(0, 10), (5, 15), (20, 30), (39, 50), (15, 35), (40, 45)])
    found: Any = SimpleNamespace(column=batches.__getitem__, steps=steps)
    assert list(overlaps(found)) == [(2, 0), (4, 1), (5, 0)]
    ends = np.array([(-9, end, 8) for end in (-1, 0, 5, 10, 11)])
    inside: Any = SimpleNamespace(setting=SimpleNamespace(window_ns=10), steps=ends)
    assert training_figures(inside).steps == 3


def test_bursts_of_a_trace_wait_longer() -> None:
    """Krämer and Langenbach-Belz: above a variation of 1 the exponent is another one."""
    found = predict(Load(0.5, 1, 1.0, 1.0, 2.0))
    assert found is not None and found.waiting_s == pytest.approx(1.5 * math.exp(-1 / 12))
