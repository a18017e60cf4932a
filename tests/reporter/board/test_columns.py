"""Cells of a leaderboard, in the units of their columns."""

import math
from typing import Any

from reporter.board.columns import FIGURE_COLUMNS, Cell, make_cell, name_of_figure, show_facet

COLUMNS = {column.figure: column for column in FIGURE_COLUMNS}


def cell(figure: str, value: float | None, **other: Any) -> Cell:
    told = {"value": value, "spread": None, "reason": "no meter"}
    return make_cell(COLUMNS[figure], {**told, **other})


def test_a_cell_is_in_its_column_s_unit_and_so_are_its_spread_and_its_ends() -> None:
    share = cell("best_accuracy", 0.9912, spread=0.0034)
    assert (share.text, share.spread, share.value) == ("99.12", "± 0.34", 99.12)
    assert (share.quantity, share.around) == ("99.12 %", "± 0.34")
    assert (share.raw, share.raw_spread) == ("99.12", "0.34")
    memory = cell("peak_memory_bytes", 3 * 2**30)
    assert (memory.text, memory.quantity, memory.around) == ("3072", "3.00 GiB", "")
    ends = {"interval_low": 540.0, "interval_high": 660.0}
    time = cell("score_s", 600.0, spread=9.0, **ends)
    assert (time.spread, time.interval) == ("540 to 660", (540.0, 660.0)), "rather than a spread"
    assert (time.quantity, time.around) == ("10.0 min", "9.0 to 11.0")
    assert time.raw_spread == "9"
    near = cell("score_s", 533.0, spread=9.0, interval_low=528.0, interval_high=538.0)
    assert (near.spread, near.interval) == ("528 to 538", (528.0, 538.0))
    assert (near.quantity, near.around) == ("8.88 min", "8.80 to 8.97")
    bare = cell("score_s", 600.0, interval_low=math.nan, interval_high=None)
    assert (bare.interval, bare.spread, bare.quantity) == (None, "", "10.0 min")


def test_an_unknown_value_is_a_dash_with_its_reason() -> None:
    for unknown in (cell("energy_j", None), cell("energy_j", math.nan)):
        assert (unknown.text, unknown.why, unknown.value) == ("—", "no meter", None)
        assert unknown.interval is None
    absent = make_cell(COLUMNS["energy_j"], None)
    assert (absent.text, absent.value) == ("—", None) and "version of the suite" in absent.why
    assert cell("energy_j", 0.0).value == 0.0


def test_the_machine_s_figures_of_a_cluster_say_of_which_node_they_are() -> None:
    assert COLUMNS["peak_memory_bytes"].about.endswith("; on several nodes, of the first")
    assert COLUMNS["foreign_cpu_share"].about.endswith("; on several nodes, the largest")


def test_a_property_and_a_figure_in_words() -> None:
    shown = [show_facet(value) for value in (None, math.nan, 0, 2.0, 0.05, 11181642, "a")]
    assert shown == ["unknown", "unknown", "0", "2", "0.05", "11181642", "a"]
    names = {"score_s": "expected time", "ipc": "instructions per cycle", "idle_w": "idle"}
    names |= {"baseload_power_w": "baseload power", "read_bytes_per_s": "read bytes per s"}
    assert {name: name_of_figure(name) for name in names} == names
