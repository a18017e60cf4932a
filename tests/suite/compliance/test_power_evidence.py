"""Honest power readings of coarse, drifting and interrupted meters, which the rules of power
evidence must not refuse."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from suite.bundle.arrays import Values
from suite.bundle.data_record import DATA
from suite.bundle.layout import POWER
from suite.compliance.checker import check_bundle
from tests.builders import RICH, make_bundle
from tests.checks_alone import context_of, found
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import in_turn
from tests.faults.edits.file_edits import change_file
from tests.faults.edits.reading_edits import (
    add_channel,
    change_baseload,
    set_around_run,
    set_meter,
)

RULES = {"power-uninterpolated", "power-around-run", "meter-schedule"}
DRAWN = np.random.default_rng(5)


def _read(
    bundle: EditableBundle, source: str, channel: str, values: Callable[[int], Values]
) -> None:
    rows = bundle.at(source, channel)
    bundle.readings.loc[rows, "value"] = values(int(rows.sum()))


def _fired(bundle: EditableBundle) -> set[str]:
    bundle.save(recomputed=True)
    return {finding.check for finding in check_bundle(bundle.path).findings} & RULES


@pytest.mark.parametrize(
    "values",
    [
        lambda count: 6.0 + 0.4 * DRAWN.integers(0, 2, count),
        lambda count: 6.0 + 0.4 * DRAWN.integers(0, 3, count),
        lambda count: np.round(
            4.0 + 2.0 * np.arange(count) / count + DRAWN.normal(0, 0.02, count), 1
        ),
        lambda count: np.round(6.0 + np.cumsum(DRAWN.normal(0, 0.003, count)), 3),
        lambda count: np.repeat(np.round(6.0 + DRAWN.normal(0, 0.1, count // 2 + 1), 3), 2)[:count],
    ],
    ids=[
        "two values",
        "three values",
        "a warm-up in tenths of a watt",
        "a slow drift",
        "every value read twice",
    ],
)
def test_coarse_and_slow_sensors_comply(values: Callable[[int], Values], tmp_path: Path) -> None:
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    _read(bundle, "um25c", "power", values)
    assert not _fired(bundle)


def test_a_meter_that_loses_its_first_and_last_readings_complies(tmp_path: Path) -> None:
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    start_ns, stop_ns = (
        bundle.event(key)["metadata"]["mono_ns"] for key in ("run_start", "run_stop")
    )
    inside = (bundle.readings["t_ns"] > start_ns) & (bundle.readings["t_ns"] < stop_ns)
    bundle.readings = bundle.readings[(bundle.readings["source"] != "um25c") | inside].reset_index(
        drop=True
    )
    assert "power-around-run" not in _fired(bundle)


def test_a_board_that_draws_half_of_its_idle_power_around_the_run_complies(tmp_path: Path) -> None:
    """Its display was on while the idle machine was measured."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    in_turn(
        change_baseload(lambda rows: rows.assign(value=rows["value"] + 2.5)),
        set_around_run("um25c", "power", 3.1),
    )(bundle)
    assert not _fired(bundle)


def test_a_recorder_that_was_starved_for_half_the_run_complies(tmp_path: Path) -> None:
    """It skips the turns that it missed: there are fewer readings than periods, never more."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    late = (bundle.readings["t_ns"] // 10**9) % 3 == 0
    bundle.readings.loc[late & (bundle.readings["source"] == "cpu"), "t_ns"] += 400_000_000
    assert "meter-schedule" not in _fired(bundle)


def test_two_meters_that_contradict_each_other_are_shown_with_their_energies_of_the_same(
    tmp_path: Path,
) -> None:
    """9 W of the board beside 6 W; not the 5 W of the module, which the meter reads, too."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    in_turn(
        add_channel("tegrastats", "VIN", "W", lambda time_s: 9.0 + time_s**2 % 1),
        add_channel("tegrastats", "VDD_IN", "W", lambda time_s: 5.0 + time_s**2 % 1),
        set_meter("tegrastats", longest_gap_s=1.0),
    )(bundle)
    bundle.save(recomputed=True)
    found = check_bundle(bundle.path).findings
    (shown,) = (each.observed for each in found if each.check == "meters-agree")
    board_j, other_j = (float(part.split()[0]) for part in shown.split(" and "))
    assert board_j / other_j == pytest.approx(9.5 / 6.3, rel=0.1)


def test_a_citation_in_former_words_leaves_a_power_total_the_rulebooks(tmp_path: Path) -> None:
    """Bundles carry the citations of their day; rules/power.toml words some of them otherwise."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    cite = {"reference": "the data sheet, in other words"}
    change_file(POWER, lambda content: content["rules"][0].update(cite))(bundle)
    bundle.save(recomputed=True)
    assert "power-rules-known" not in {each.check for each in check_bundle(bundle.path).findings}


@pytest.mark.parametrize(("read_earlier_s", "is_found"), [(0, True), (1000, False)])
def test_the_idle_machine_is_measured_right_before_the_data_are_read_however_long_that_takes(
    read_earlier_s: int, is_found: bool, tmp_path: Path
) -> None:
    """Photographs on a slow card take more than five minutes, as other nodes' baseloads may."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    in_turn(
        change_baseload(lambda rows: rows.assign(t_ns=rows["t_ns"] - 1000 * 10**9)),
        change_file(
            DATA, lambda values: values.update(taken_ns=values["taken_ns"] - read_earlier_s * 10**9)
        ),
    )(bundle)
    bundle.save()
    assert bool(found("baseload-window", context_of(bundle.path))) is is_found
