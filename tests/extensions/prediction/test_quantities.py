"""Intervals, limits and shares of predictions, worked out by hand."""

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from suite.errors import FileError
from suite.extensions.prediction.record.answers import OTHER, know, time_shares
from suite.extensions.prediction.record.conformal import JackknifePlus
from suite.extensions.prediction.record.front import measured_intervals
from suite.extensions.prediction.record.limits import best, probability_within, question, upper
from suite.extensions.prediction.record.matrix_rows import _amount
from suite.extensions.prediction.record.modes import Modes
from suite.extensions.prediction.record.output import write_predictions
from suite.extensions.prediction.record.samples import Samples, intervals
from suite.extensions.prediction.record.table import Profile, read_table


def test_the_limits_of_nineteen_samples_are_the_first_and_the_last() -> None:
    samples = np.log(np.random.default_rng(0).permutation(np.arange(1.0, 20.0)))[:, None]
    for confidence, low, high in ((0.9, 1, 19), (0.8, 2, 18), (0.99, 1, 19)):
        found = intervals(samples, confidence)
        ends = (found.low[0], found.value[0], found.high[0])
        assert ends == pytest.approx((low, 10, high))


def test_jackknife_plus_pairs_the_signs_of_both_errors() -> None:
    models = [lambda rows, each=each: (rows[:, 0] + each, rows[:, 0] + 2 * each) for each in (1, 5)]
    fitted = JackknifePlus(tuple(models), np.array([0.1, 0.2]), np.array([0.3, 0.4]))
    found = fitted.predict(np.array([[100.0]]))
    pairs = np.column_stack([found.log_time[:, 0], found.log_power[:, 0]])
    expected = [
        (value + error * time, 2 * value - 100 + 2 * step * power)
        for value, error, step in ((101, 0.1, 0.15), (105, 0.2, 0.2))
        for time in (1, -1)
        for power in (1, -1)
    ]
    assert np.array(sorted(pairs.tolist())) == pytest.approx(np.array(sorted(expected)))


PROFILE = Profile(
    ("cores", "cpu_mhz", "gpu_mhz"),
    np.array([[1, 800, 300], [2, 900, 400], [4, 1000, 600]], dtype=float),
    np.array([20.0, 12.0, 9.0]),
    np.array([5.0, 6.0, 8.0]),
    np.array([0.01, 0.02, 0.5]),
    np.array([0.03, 0.04, 0.05]),
)
MODES = Modes(PROFILE.names, PROFILE.rows)


def test_measured_intervals_hold_together_for_two_quantities_of_every_mode() -> None:
    time, power, energy = measured_intervals(PROFILE, 0.9)
    half = NormalDist().inv_cdf(1 - 0.1 / 2 / 6)
    assert time.low == pytest.approx([20 * (1 - 0.01 * half), 12 * (1 - 0.02 * half), 0])
    assert power.high == pytest.approx([5 + 0.15 * half, 6 + 0.24 * half, 8 + 0.4 * half])
    assert energy.value == pytest.approx([100, 72, 72])
    assert energy.high == pytest.approx(time.high * power.high)


def test_the_best_mode_is_within_its_limit_with_the_certainty_asked_for() -> None:
    times = np.log([[10.0, 8.0], [10.0, 18.0]])
    samples = Samples(times, np.log([[5.0, 9.0]] * 2))
    bound = (math.log(8) + math.log(18)) / 2 + 1.880794 * math.log(18 / 8) / 2
    assert upper(times, 0.97) == pytest.approx([math.log(10), bound])
    for limit, found in ((10.0, 0), (9.99, None), (math.exp(bound) * 1.001, 0)):
        assert best(samples, question(None, limit, None)) == found
    asked = question(9, 12, None)
    assert [probability_within(samples, asked, mode) for mode in (0, 1)] == [1.0, 0.5]


class Law:
    """Time follows the cores' number by 0.5, their clock by 0.3 and the GPU's by 0.1."""

    def predict(self, rows: np.ndarray) -> Samples:
        log_time = 9 - np.log(rows) @ [0.5, 0.3, 0.1]
        return Samples(log_time[None], np.log(rows[None, :, 0]))


def test_of_two_resources_of_the_cpu_the_larger_share_counts() -> None:
    shares = time_shares(know(MODES, [0], Law()), 2)
    assert shares == pytest.approx({"CPU": 0.5, "GPU": 0.1, OTHER: 0.4})


def test_every_mode_is_written_with_its_intervals_and_the_front(tmp_path: Path) -> None:
    samples = Samples(np.log([[2.0, 4.0, 3.0]]), np.log([[8.0, 2.0, 9.0]]))
    write_predictions(MODES, samples, [1], tmp_path / "modes.csv")
    heading, *rows = (tmp_path / "modes.csv").read_text().splitlines()
    assert heading == (
        "cores,cpu_mhz,gpu_mhz,profiled,front,time_s,time_low_s,time_high_s,power_w,power_low_w,"
        "power_high_w,energy_j,energy_low_j,energy_high_j"
    )
    assert rows == [
        "1,800,300,no,yes,2,2,2,8,8,8,16,16,16",
        "2,900,400,yes,yes,4,4,4,2,2,2,8,8,8",
        "4,1000,600,no,no,3,3,3,9,9,9,27,27,27",
    ]


def test_repetitions_share_their_stated_and_assumed_errors(tmp_path: Path) -> None:
    path = tmp_path / "modes.csv"
    path.write_text("cores,time_s,energy_j,time_se_s,energy_se_j\n1,20,100,0.2,5\n1,20,100,,\n")
    found = read_table(path).profile
    assert found.time_error == pytest.approx([math.sqrt((0.01**2 + 0.02**2) / 2 / 2)])
    assert found.power_error == pytest.approx([math.sqrt((0.05**2 + 0.02**2) / 2 / 2)])


def test_cores_of_a_sweep_may_be_a_list(tmp_path: Path) -> None:
    given = (("cores", "0-3,6"), ("cores", "2,3"), ("cpu_quota", "1.5"))
    assert [_amount(name, value, tmp_path) for name, value in given] == [5, 2, 1.5]
    for name, value in (("cores", "a-b"), ("threads", "0-3")):
        with pytest.raises(FileError, match="is not a number"):
            _amount(name, value, tmp_path)
