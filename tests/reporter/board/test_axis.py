"""Places on a chart's logarithmic axis, and distances on a radar's."""

from itertools import pairwise

import pytest

from reporter.board.axis import Axis, AxisDot, axis_of
from reporter.board.columns import SCORE_COLUMNS, Cell
from reporter.figures.radar import RadarAxis, share_of_axis


def cell(value: float, *ends: float) -> Cell:
    low, high = map(str, ends) if ends else ("", "")
    return Cell(SCORE_COLUMNS[0], "", raw=str(value), raw_interval=(low, high))


def test_a_place_is_a_share_of_the_axis_and_ends_with_it() -> None:
    axis = Axis(1.0, 100.0, "s")
    places = {1.0: "0", 10.0: "50", 20.0: "65.1", 31.6228: "75", 100.0: "100"}
    places |= {1e4: "100", 0.5: "0", 0.0: "0"}
    assert {value: axis.percent(value) for value in places} == places
    dot = axis.dot(cell(10.0, 1.0, 1000.0))
    assert dot == axis.dot(cell(10.0, 1.0, 100.0)) == AxisDot("50", "0", "100")
    hollow = [axis.dot(each) for each in (cell(10.0), cell(10.0, 1.0, float("inf")))]
    assert hollow == [AxisDot("50", None, None)] * 2
    assert axis.dot(cell(0.0)) is None and axis.dot(Cell(SCORE_COLUMNS[0], "—")) is None


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        ([cell(20.0, 2.0, 25.0), cell(40.0), None, cell(30.0, 28.0, 500.0)], 20 / 3, 120),
        ([None, cell(0.0), cell(20.0, 1.0, 25.0), cell(40.0, 30.0, 500.0)], 20 / 3, 120),
        ([cell(100.0, 90.0, 110.0), cell(1000.0, 500.0, float("inf")), None], 90, 1000),
        ([cell(100.0, 1.0, 1e6)], 100 / 3, 300),
    ],
)
def test_an_axis_spans_its_values_and_intervals_up_to_three_times_beyond(
    cells: list[Cell | None], low: float, high: float
) -> None:
    found, margin = axis_of(cells, "s"), (high / low) ** 0.03
    assert (found.low, found.high) == pytest.approx((low / margin, high * margin))


def test_the_axis_of_one_value_or_of_none() -> None:
    alone = axis_of([cell(7.0)], "s")
    assert (alone.low, alone.high) == pytest.approx((7 / 1.02, 7 * 1.02))
    near = axis_of([cell(20.0, 18.0, 24.0)], "s")
    assert (near.low, near.high) == pytest.approx((18 / 1.02, 24 * 1.02))
    assert axis_of([cell(0.0), None], "J") == Axis(1.0, 10.0, "J")


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (Axis(50.0, 8000.0, "s"), ["1 min", "5 min", "20 min", "1 h"]),
        (Axis(150.0, 9000.0, "J"), ["200 J", "500 J", "1 kJ", "2 kJ", "5 kJ"]),
        (Axis(30.0, 7200.0, "s"), ["30 s", "2 min", "5 min", "20 min", "1 h"]),
        (Axis(0.5, 50.0, "s"), ["0.5 s", "2 s", "5 s", "20 s", "50 s"]),
        (Axis(900.0, 20_000.0, "J"), ["1 kJ", "2 kJ", "5 kJ", "10 kJ", "20 kJ"]),
        (Axis(86_400.0, 691_200.0, "s"), ["1 d", "2 d", "4 d", "8 d"]),
        (Axis(623.0, 826.0, "s"), ["11 min", "12 min", "13 min"]),
        (Axis(2100.0, 4900.0, "J"), ["3 kJ", "4 kJ"]),
        (Axis(1020.0, 4980.0, "J"), ["2 kJ", "3 kJ", "4 kJ"]),
        (Axis(510.0, 990.0, "MiB"), ["600 MiB", "700 MiB", "800 MiB", "900 MiB"]),
        (Axis(7 / 1.02, 7 * 1.02, "s"), ["6.9 s", "7 s", "7.1 s"]),
    ],
)
def test_ticks_are_round_in_their_unit_and_their_labels_do_not_touch(
    axis: Axis, labels: list[str]
) -> None:
    assert [label for _, label in axis.ticks] == labels
    places = [float(place) for place, _ in axis.ticks]
    assert min(b - a for a, b in pairwise(places)) >= 16


@pytest.mark.parametrize(
    ("better", "shares"), [(1, [0.2, 0.4, 1.0]), (-1, [1.0, 0.5, 0.2])], ids=["more", "less"]
)
def test_the_best_is_at_the_rim_of_a_radar(better: int, shares: list[float]) -> None:
    axis = RadarAxis("x", "x", better)
    values = [2.0, 4.0, 10.0]
    assert [share_of_axis(axis, values, value) for value in values] == pytest.approx(shares)
    assert share_of_axis(axis, [0.0, -1.0, 3.0], -1.0 if better > 0 else 3.0) == 0.0
