"""Ratios that are held against published values, and their files."""

import math
from typing import Any

import pytest

from reporter.data.frames import IDENTITY
from reporter.figures.model import (
    Dot,
    Estimate,
    Keys,
    LegendEntry,
    Line,
    Marks,
    PaperFigure,
    Plane,
    PlotRow,
    Polygon,
    Radar,
    Rows,
    Table,
)
from reporter.figures.scales import Scale
from reporter.papers import measures
from reporter.papers.comparing import ComparedValue, PaperAgreement
from reporter.papers.exports import table_of, to_latex, to_page
from reporter.papers.measures import FoundValue, MeasureSource, Unknown, ratio_of_means
from reporter.papers.short_labels import with_short_labels
from suite.catalog.papers import Measure


def test_a_ratio_is_the_geometric_mean_over_settings_of_ratios_of_geometric_means() -> None:
    """(4 / 1) and (9 / 3) where each mean is of two runs: the root of 12, by Welch's t."""
    pairs = [([2.0, 8.0], [0.5, 2.0]), ([9.0, 9.0], [1.0, 9.0])]
    found = ratio_of_means(pairs)
    assert (found.value, found.of) == (pytest.approx(12**0.5), "2 settings, 8 runs")
    variances = [math.log(4) ** 2 / 4, math.log(4) ** 2 / 4, 0.0, math.log(9) ** 2 / 4]
    freedom = math.floor(sum(variances) ** 2 / sum(each**2 for each in variances))
    assert freedom == 2, "whose t is 4.302653"
    half = 4.302653 * sum(variances) ** 0.5 / 2
    assert found.low == pytest.approx(12**0.5 / math.exp(half), rel=1e-5)
    assert found.high == pytest.approx(12**0.5 * math.exp(half), rel=1e-5)


def test_a_ratio_has_an_interval_only_where_every_side_has_two_runs() -> None:
    one = ratio_of_means([([2.0, 3.0], [1.0])])
    assert (one.value, one.low, one.high) == (pytest.approx(6**0.5), None, None)
    same = ratio_of_means([([6.0, 6.0], [3.0, 3.0])])
    assert (same.value, same.low, same.high) == (*map(pytest.approx, (2.0, 2.0, 2.0)),)
    alone = ratio_of_means([([2.0, 8.0], ())])
    assert (alone.value, alone.of) == (pytest.approx(4.0), "1 setting, 2 runs")
    two = ratio_of_means([([8.0], [2.0]), ([1.0], [1.0])])
    assert (two.value, two.low, two.of) == (pytest.approx(2.0), None, "2 settings, 4 runs")
    # logarithms 0 and 2 against 0 and 0: one degree of freedom, whose t is 12.7062
    one = ratio_of_means([([1.0, math.e**2], [1.0, 1.0])])
    ends = [math.exp(1 + sign * 12.7062) for sign in (-1, 1)]
    assert (one.value, one.low, one.high) == pytest.approx((math.e, *ends), rel=1e-3)


def extremes(
    monkeypatch: pytest.MonkeyPatch, measure: str, *entries: tuple[dict[str, str], list[float]]
) -> FoundValue | Unknown:
    """A measure of entries by the properties in which they differ, and the times of their runs."""
    alike = dict.fromkeys(IDENTITY, "alike")
    rows = {
        str(place): {**alike, **differing, "entry_id": str(place)}
        for place, (differing, _) in enumerate(entries)
    }
    times = {str(place): of_runs for place, (_, of_runs) in enumerate(entries) if of_runs}
    monkeypatch.setattr(measures, "entries_of", lambda _: rows)
    monkeypatch.setattr(measures, "of_entries", lambda *_: times)
    frames: Any = rows
    wanted = Measure("time_to_epoch_s", measure=measure)
    return measures.measure_value(wanted, MeasureSource(frames))


def test_extremes_are_of_entries_that_are_alike_in_all_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    card, disk = {"storage_medium": "SD card"}, {"storage_medium": "SSD"}
    chainer, tensorflow = {"framework": "chainer"}, {"framework": "tensorflow"}
    media = extremes(
        monkeypatch,
        "slowest-over-fastest",
        (card, [10.0]),
        (disk, [10.0]),
        ({**card, **chainer}, [20.0]),
        ({**disk, **chainer}, [20.0]),
    )
    assert isinstance(media, FoundValue) and media.value == pytest.approx(1.0)
    frameworks = extremes(
        monkeypatch,
        "largest-over-smallest",
        ({}, [5.0, 7.0]),
        (chainer, [1.0, 3.0]),
        (tensorflow, [2.0, 11.0]),
        ({"batch_size": "8", **chainer}, [0.1]),
    )
    assert isinstance(frameworks, FoundValue)
    assert frameworks.value == pytest.approx((22 / 3) ** 0.5)
    no_times = extremes(monkeypatch, "slowest-over-fastest", (card, []), (disk, []))
    assert isinstance(no_times, Unknown) and no_times.reason.endswith("only in storage_medium")


def test_the_drawn_numbers_are_listed_by_panel_with_their_error_bars() -> None:
    scale = Scale((0.0, 1.0))
    series = (LegendEntry("p0", "stall"), LegendEntry("p1", "compute"))
    stacked = PlotRow("two workers", (Estimate(1.5), Estimate(2.5, 2.0, 3.0)), heading="Orin")
    singles = PlotRow("one", (Estimate(9.0),), singles=(7.0, 8.0))
    plane = Plane(
        "nodes",
        "W",
        scale,
        scale,
        (
            Line(((1.0, Estimate(2.0, 1.0, 3.0)),), "l0", "named"),
            Line(((1.0, Estimate(5.0)),), "l1"),
        ),
        (Dot(Estimate(4.0), Estimate(6.0, None, 7.0), "c1 f1", "dot"),),
        (LegendEntry("c0", "other"), LegendEntry("c1", "GPU")),
    )
    radar = Radar(("speed", "power"), (Polygon("NumPy", 0, (0.5, 1.0), ("", "")),), ())
    panels = (
        Rows("s", scale, (stacked,), series),
        Rows("J", scale, (singles,)),
        plane,
        radar,
        Keys((("a", "board"),)),
    )
    assert table_of(PaperFigure(panels, (), "", ""))[1:] == (
        ("s", "Orin · two workers", "stall", "", "1.5", "", ""),
        ("s", "Orin · two workers", "compute", "", "2.5", "2", "3"),
        ("J", "one", "", "", "7", "", ""),
        ("J", "one", "", "", "8", "", ""),
        ("W", "named", "", "1", "2", "1", "3"),
        ("W", "dot", "GPU", "4", "6", "", "7"),
        ("", "NumPy", "speed", "", "0.5", "", ""),
        ("", "NumPy", "power", "", "1", "", ""),
        ("", "a", "board", "", "", "", ""),
    )


def test_the_error_bar_of_a_stacked_bar_is_listed_with_its_total() -> None:
    series = (LegendEntry("p0", "stall"), LegendEntry("p1", "rest"))
    row = PlotRow("two workers", (Estimate(1.5), Estimate(2.0, 3.0, 4.0)))
    panel = Rows("s", Scale((0.0, 4.0)), (row,), series, Marks.STACKED)
    assert table_of(PaperFigure((panel,), (), "", ""))[1:] == (
        ("s", "two workers", "stall", "", "1.5", "", ""),
        ("s", "two workers", "rest", "", "2", "", ""),
        ("s", "two workers", "total", "", "3.5", "3", "4"),
    )


def test_every_text_of_a_page_and_of_latex_is_escaped() -> None:
    """Each place has a text of its own, so that one that is not escaped is told."""
    figure = PaperFigure((Table(("<b>&1", "<b>&2"), (("<b>&3", "<b>&4"),)),), (), "", "")
    texts = ["<b>&5", "<b>&6", "<b>&7", "<b>&8", "<b>&9", "<b>&10"]
    quantity, published, ours, place, quote, why = texts
    one = ComparedValue(quantity, published, ours, PaperAgreement.DIFFERS, place, quote, why)
    page = to_page("<b>&11", "<b>&12", b"", figure, "<b>&13", [one])
    assert "<b>" not in page
    assert all(f"&lt;b&gt;&amp;{number}<" in page for number in range(1, 14))
    unknown = ComparedValue("x_1", "#2", None, PaperAgreement.NOT_COMPARABLE, "", "", "~3")
    latex = to_latex("t", figure, "", [unknown])
    assert r"x\_1 & \#2 & \textasciitilde{}3 & not comparable \\" in latex


def test_a_long_label_becomes_its_first_part_and_a_number_which_a_note_explains() -> None:
    fits, long = "x" * 34, "PyTorch · " + "y" * 30
    rows = tuple(PlotRow(label, ()) for label in (long, fits, "z" * 35, long))
    found = with_short_labels(PaperFigure((Rows("", Scale((0.0,)), rows),), (), "", "", ("n",)))
    (panel,) = found.panels
    assert isinstance(panel, Rows)
    assert [row.label for row in panel.rows] == [
        "PyTorch [1]",
        fits,
        f"{'z' * 25}… [2]",
        "PyTorch [1]",
    ]
    assert found.notes == ("n", f"[1] {long}.", f"[2] {'z' * 35}.")
