"""Cells of a leaderboard, and the axis on which a chart draws them."""

import math
from typing import Any

import pytest

from reporter.board.axis import Axis, AxisDot, axis_of
from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell, name_of_figure, show_facet

COLUMNS = {column.figure: column for column in FIGURE_COLUMNS}


def cell(figure: str, value: float | None, **other: Any) -> Cell:
    told = {"value": value, "spread": None, "reason": "no meter"}
    return make_cell(COLUMNS[figure], {**told, **other})


def test_a_cell_is_in_its_column_s_unit_and_so_are_its_spread_and_its_ends() -> None:
    share = cell("best_accuracy", 0.9912, spread=0.0034)
    assert (share.text, share.spread, share.value) == ("99.12", "± 0.34", 99.12)
    assert (share.quantity, share.around, share.raw_spread) == ("99.12 %", "± 0.34", "0.34")
    memory = cell("peak_memory_bytes", 3 * 2**30)
    assert (memory.text, memory.quantity, memory.around) == ("3072", "3.00 GiB", "")
    ends = {"interval_low": 540.0, "interval_high": 660.0}
    time = cell("score_s", 600.0, spread=9.0, **ends)
    assert (time.spread, time.interval) == ("540 to 660", (540.0, 660.0)), "rather than a spread"
    assert (time.quantity, time.around) == ("10.0 min", "9.0 to 11.0")
    assert time.raw_spread == "9"
    bare = cell("score_s", 600.0, interval_low=math.nan, interval_high=None)
    assert (bare.interval, bare.spread, bare.quantity) == (None, "", "10.0 min")


def test_an_unknown_value_is_a_dash_with_its_reason() -> None:
    for unknown in (cell("energy_j", None), cell("energy_j", math.nan)):
        assert (unknown.text, unknown.why, unknown.value) == ("—", "no meter", None)
    absent = make_cell(COLUMNS["energy_j"], None)
    assert (absent.text, absent.value) == ("—", None) and "version of the suite" in absent.why
    assert cell("energy_j", 0.0).value == 0.0


def test_a_property_and_a_figure_in_words() -> None:
    shown = [show_facet(value) for value in (None, math.nan, 0, 2.0, 0.05, "a")]
    assert shown == ["unknown", "unknown", "0", "2", "0.05", "a"]
    names = {"score_s": "expected time", "ipc": "instructions per cycle", "idle_w": "idle"}
    names |= {"baseload_power_w": "baseload power", "read_bytes_per_s": "read bytes per s"}
    assert {name: name_of_figure(name) for name in names} == names


def test_a_place_on_the_axis_is_of_the_logarithm_and_within_its_ends() -> None:
    axis = Axis(1.0, 100.0, "s")
    assert [axis.at(value) for value in (0.0, 0.5, 1, 10, 31.6228, 100, 1e9)] == [
        *("0", "0", "0", "50", "75", "100", "100")
    ]
    dots = [
        axis.dot(cell("score_s", value, interval_low=low, interval_high=high))
        for value, low, high in ((10, 1, 100), (10, None, None), (10, 1, math.inf), (0, 0, 1))
    ]
    assert dots == [AxisDot("50", "0", "100"), *[AxisDot("50", None, None)] * 2, None]


def test_an_interval_lengthens_the_axis_by_a_factor_of_three_at_most() -> None:
    cells = [
        None,
        cell("score_s", None),
        cell("score_s", 0.0),
        cell("score_s", 20.0, interval_low=1.0, interval_high=25.0),
        cell("score_s", 40.0, interval_low=30.0, interval_high=500.0),
    ]
    axis = axis_of(cells, "s")
    low, high = 20 / 3, 40 * 3
    margin = (high / low) ** 0.03
    assert (axis.low, axis.high) == pytest.approx((low / margin, high * margin))
    near = axis_of([cell("score_s", 20.0, interval_low=18.0, interval_high=24.0)], "s")
    assert (near.low, near.high) == pytest.approx((18 / 1.02, 24 * 1.02))
    assert axis_of(cells[:3], "s") == Axis(1.0, 10.0, "s")


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (Axis(30.0, 7200.0, "s"), "30 s, 2 min, 5 min, 20 min, 1 h"),
        (Axis(0.5, 50.0, "s"), "0.5 s, 2 s, 5 s, 20 s, 50 s"),
        (Axis(900.0, 20_000.0, "J"), "1 kJ, 2 kJ, 5 kJ, 10 kJ, 20 kJ"),
        (Axis(86_400.0, 691_200.0, "s"), "1 d, 2 d, 4 d, 8 d"),
    ],
)
def test_ticks_are_round_and_their_labels_do_not_touch(axis: Axis, labels: str) -> None:
    assert ", ".join(label for _, label in axis.ticks) == labels
