"""Axes, estimates and what groups entries, by values worked out by hand."""

import math
from types import SimpleNamespace
from typing import Any, cast

import pandas
import pytest

from reporter.data.frames import Frames
from reporter.figures.entries import mean_of, means_of_runs
from reporter.figures.model import Estimate
from reporter.figures.scales import (
    Scale,
    doubling_scale,
    fitting_closely,
    fitting_scale,
    linear_scale,
    linear_scale_without_zero,
    logarithmic_scale,
    scale_in_units,
    tick_text,
)


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (linear_scale([3.0, 11.0]), (0, 2, 4, 6, 8, 10, 12)),
        (linear_scale([-5.0, 20.0]), (-5, 0, 5, 10, 15, 20)),
        (linear_scale([0.0, 0.0]), (0, 1)),
        (linear_scale([60.0]), (0, 10, 20, 30, 40, 50, 60)),
        (linear_scale([-4.0, 8.0]), (-4, -2, 0, 2, 4, 6, 8)),
        (linear_scale_without_zero([5.0, 5.0]), (0, 1, 2, 3, 4, 5)),
        (linear_scale_without_zero([98.1, 98.9]), (98, 98.2, 98.4, 98.6, 98.8, 99)),
        (linear_scale_without_zero([-4.0, -4.0]), (-4, -3, -2, -1, 0)),
        (logarithmic_scale([3.0, 40.0]), (2, 5, 10, 20, 50)),
        (logarithmic_scale([1.0, 1000.0]), (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
        (logarithmic_scale([2.0, 20_001.0]), (1, 10, 100, 1000, 10_000, 100_000)),
        (logarithmic_scale([10.0, 10.0]), (10, 100)),
        (doubling_scale([3.0, 17.0]), (2, 4, 8, 16, 32)),
        (doubling_scale([1.0, 2048.0]), tuple(4**index for index in range(7))),
        (doubling_scale([8.0, 8.0]), (8, 16)),
        (doubling_scale([3.0, 16.0]), (2, 4, 8, 16)),
        (doubling_scale([1.0, 4096.0]), tuple(4**index for index in range(7))),
    ],
)
def test_ticks_are_round_and_span_the_values(scale: Scale, ticks: tuple[float, ...]) -> None:
    assert scale.ticks == pytest.approx(ticks)


def test_an_axis_is_logarithmic_from_a_factor_of_ten_on_and_never_with_zero() -> None:
    values = ([1.0, 10.0], [1.0, 9.99], [0.0, 100.0], [-1.0, 100.0])
    assert [fitting_scale(each).logarithmic for each in values] == [True, False, False, False]
    assert fitting_scale([5.0, 9.0]).ticks[0] == 0.0 and fitting_closely([5.0, 9.0]).ticks[0] == 5.0


def test_a_place_on_an_axis_is_a_share_of_its_length() -> None:
    linear, logarithmic = Scale((2.0, 4.0, 6.0)), Scale((1.0, 10.0, 100.0), True)
    assert [linear.share(value) for value in (2.0, 3.0, 6.0, 8.0)] == [0.0, 0.25, 1.0, 1.5]
    assert [logarithmic.share(value) for value in (1.0, 10.0, 1000.0)] == pytest.approx(
        [0.0, 0.5, 1.5]
    )
    assert logarithmic.share(0.0) == pytest.approx(math.log(1e-9) / math.log(100))


@pytest.mark.parametrize(
    ("values", "size", "unit", "logarithmic"),
    [
        ([30.0, 100.0], 1, "s", False),
        ([30.0, 200.0], 60, "min", False),
        ([20.0, 20_000.0], 60, "min", True),
        ([0.0, 9000.0], 3600, "h", False),
        ([0.0], 1, "s", False),
    ],
)
def test_an_axis_has_the_unit_that_suits_its_highest_value_or_the_middle_of_decades(
    values: list[float], size: float, unit: str, logarithmic: bool
) -> None:
    found = scale_in_units(values, "s")
    assert (found.unit_size, found.unit, found.logarithmic) == (size, unit, logarithmic)
    assert found.ticks[0] <= min(values)
    assert found.ticks[-1] >= max(values)


def test_labels_are_in_the_unit_of_the_axis() -> None:
    assert scale_in_units([200.0], "s").labels == (
        (0.0, "0"),
        *((60.0 * minutes, f"{minutes:g}") for minutes in (1, 2, 3, 4)),
    )
    texts = {9999.0: "9999", 10_000.0: "10\u202f000", 1e9: "1e+09", -20_000.0: "-20\u202f000"}
    texts |= {1_234_567.0: "1\u202f234\u202f567"}
    assert {value: tick_text(value) for value in texts} == texts


def test_an_estimate_has_its_ends() -> None:
    assert Estimate.around(5.0, 2.0) == Estimate(5.0, 3.0, 7.0)
    assert Estimate.around(5.0, None) == Estimate(5.0)
    assert Estimate.between_quartiles([9, 1, 5, 3, 7]) == Estimate(5, 3, 7)
    assert Estimate.of_all([9.0, 1.0, 2.0]) == Estimate(2.0, 1.0, 9.0)
    assert Estimate(5.0, 3.0, 7.0).times(10) == Estimate(50.0, 30.0, 70.0)
    assert Estimate(5.0, None, 7.0).times(60) == Estimate(300.0, None, 420.0)
    assert Estimate(5.0, 6.0, None).ends == (5.0, 6.0) and Estimate(5.0).ends == (5.0, 5.0)
    assert mean_of([1.0, 2.0, 6.0]) == Estimate(3.0, *(3 + sign * 7**0.5 for sign in (-1, 1)))
    assert mean_of([4.0]) == Estimate(4.0)


def test_means_of_epochs_are_by_run_and_lacking_a_value_leaves_the_entry_out() -> None:
    rows: list[dict[str, Any]] = [
        {"run_id": run, "epoch": float(epoch), "copy_s": copy_s, "compute_s": 10.0 * epoch}
        for run, copies in (
            ("a", (9, 1, 3)),
            ("b", (8, 5, 7)),
            ("c", (1, 2, None)),
            ("d", (2, 5, 6)),
        )
        for epoch, copy_s in enumerate(copies, 1)
    ]
    frames = cast(
        Frames,
        SimpleNamespace(
            epochs=pandas.DataFrame(reversed(rows)),
            runs=pandas.DataFrame({"run_id": [*"abcd"], "resumed": 0, "epochs": 3}),
            entry_of={"a": "x", "b": "x", "c": "y", "d": "y"},
        ),
    )
    both = ("copy_s", "compute_s")
    assert means_of_runs(frames, both) == {"x": [27.0, 31.0]}
    assert means_of_runs(frames, both, is_first=True) == {"x": [19.0, 18.0], "y": [11.0, 12.0]}
