"""Which of the totals that were read count: those that yield an energy, and what lies apart is
added."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from suite.bundle.channels import Channels
from suite.bundle.reader import Bundle
from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import Coverage, MachinePart, Tier, load_power_rules
from suite.metrics.energy import Energy, energy_of
from suite.metrics.energy_figures import (
    energy_figures,
    energy_rows,
    epoch_energy,
    measurement_level,
    window_energy,
)
from suite.metrics.power_totals import (
    MeasuredTotal,
    combined_coverage,
    energies_contradict,
    measure_totals,
    power_rules,
    power_totals,
    write_power_rules,
)
from suite.metrics.uncertainty import Uncertainty
from tests.builders import make_bundle

SECONDS = 100
RUN = (0, SECONDS * 10**9)
RULES = load_power_rules()
RAILS = ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0")


def power(source: str, channel: str, watts: float, silent: range = range(0)) -> pandas.DataFrame:
    """Readings of power once a second at random moments, but for the seconds of ``silent``."""
    moments_s = np.arange(-2, SECONDS + 3) + np.random.default_rng(4).random(SECONDS + 5)
    moments_s = moments_s[~np.isin(np.floor(moments_s), list(silent))]
    return pandas.DataFrame(
        {
            "t_ns": (moments_s * 1e9).astype(np.int64),
            "source": source,
            "channel": channel,
            "value": watts * (1 + 1e-9 * np.arange(len(moments_s))),  # no sensor is constant
            "unit": "W",
        }
    )


def counter(source: str, channel: str, watts: float) -> pandas.DataFrame:
    """Readings of an energy counter once a second."""
    readings = power(source, channel, watts)
    return readings.assign(value=1000 + watts * readings["t_ns"] * 1e-9, unit="J")


def machine(*parts: pandas.DataFrame) -> Channels:
    """The readings of all meters."""
    return channels_of_frame(pandas.concat(parts))


PC = (
    counter("rapl", "package-0", 30.0),
    counter("rapl", "dram-0", 4.0),
    power("nvml", "gpu0.power", 250.0),
)


def test_a_cpu_and_a_gpu_that_lie_apart_are_added_and_the_sum_says_what_it_covers() -> None:
    channels = machine(*PC)
    chosen = power_totals(channels, RULES, RUN)
    assert [total.rule.name for total in chosen] == ["RAPL packages and memory", "GPU power"]
    figure = energy_figures(channels, chosen, RUN, ())["energy_j"]
    assert figure.value == pytest.approx(284.0 * SECONDS, rel=1e-6)
    assert figure.sensor is not None
    assert (figure.sensor.covers, figure.sensor.instruments) == (Coverage.CHIPS, ("rapl", "nvml"))
    assert figure.uncertainty is not None
    assert figure.uncertainty.gain == pytest.approx(
        np.hypot(0.05 * 34, 0.05 * 250) * SECONDS, rel=1e-6
    )
    assert figure.low is not None
    assert figure.low < 28400 < (figure.high or 0)


def test_a_gpu_without_a_counter_for_the_cpu_counts_alone() -> None:
    chosen = power_totals(machine(PC[2]), RULES, RUN)
    assert ([total.source for total in chosen], combined_coverage(chosen)) == (
        ["nvml"],
        Coverage.CHIP,
    )


def test_a_platform_counter_that_does_not_contain_the_gpu_does_not_count() -> None:
    channels = machine(*PC, counter("rapl", "psys", 60.0))
    assert [total.source for total in power_totals(channels, RULES, RUN)] == ["rapl", "nvml"]
    reasons = {row["rule"]: row["reason"] for row in energy_rows(channels, RULES, RUN)}
    assert (
        "less than the 2.84e+04 J of RAPL packages and memory and GPU power"
        in reasons["RAPL platform"]
    )


@pytest.mark.parametrize("source", ["ina3221", "tegrastats", "jtop"])
def test_an_input_rail_that_reads_less_than_the_rails_behind_it_does_not_count(source: str) -> None:
    """A fully loaded Nano on a carrier board, as its maker published it: the labels of the input
    and of the GPU are exchanged."""
    rails = {"POM_5V_GPU": 8.633, "POM_5V_IN": 2.956, "POM_5V_CPU": 3.148}
    channels = machine(*(power(source, name, watts) for name, watts in rails.items()))
    (measured,) = measure_totals(channels, RULES, RUN)
    assert (measured.total.rule.name, measured.energy.energy_j) == ("POM_5V_IN", None)
    assert (
        measured.energy.reason
        == "it read 295.6 J, less than the 1178 J of POM_5V_GPU and POM_5V_CPU, which it should"
        " include"
    )
    totals = power_totals(channels, RULES, RUN)
    figure = energy_figures(channels, totals, RUN, ())["energy_j"]
    assert (figure.value, figure.reason) == (None, measured.energy.reason)
    assert epoch_energy(channels, totals, RUN[0], RUN[0] + 10**10) is None
    old = [replace(rule, must_agree=False) for rule in RULES]
    kept = energy_figures(channels, power_totals(channels, old, RUN), RUN, ())["energy_j"]
    assert kept.value == pytest.approx(295.6, rel=1e-3), "as it was recorded before round v0.3"


def test_an_input_rail_within_the_accuracy_of_the_rails_behind_it_counts() -> None:
    rails = {"VDD_IN": 4.0, "VDD_CPU_GPU_CV": 3.0, "VDD_SOC": 1.2}
    (measured,) = measure_totals(
        machine(*(power("ina3221", name, watts) for name, watts in rails.items())), RULES, RUN
    )
    assert measured.energy.energy_j == pytest.approx(400.0, rel=1e-6)


def test_a_plug_that_covers_all_counts_alone_and_the_rest_is_a_cross_check() -> None:
    channels = machine(*PC, power("shelly", "power", 330.0))
    assert [total.source for total in power_totals(channels, RULES, RUN)] == ["shelly"]
    rows = energy_rows(channels, RULES, RUN)
    assert [(row["rule"], row["counts"]) for row in rows][:2] == [
        ("shelly", True),
        ("RAPL packages and memory", False),
    ]
    # no other covers what the plug does
    assert all(row["difference_ratio"] is None for row in rows)


def test_a_total_that_yields_no_energy_leaves_it_to_the_next_best() -> None:
    rails = (
        power("ina3221", "VDD_IN", 9.0, silent=range(2, 98)),
        power("tegrastats", "VDD_IN", 10.0),
        power("jtop", "VDD_IN", 10.5),
    )
    channels = machine(*rails)
    assert [total.source for total in power_totals(channels, RULES, RUN)] == ["tegrastats"]
    silent, counted, other = energy_rows(channels, RULES, RUN)
    assert (silent["energy_j"], counted["counts"]) == (None, True)
    assert "less than 90%" in silent["reason"]
    assert other["difference_ratio"] == pytest.approx(0.05)


def test_where_no_total_yields_an_energy_the_firsts_reason_is_told() -> None:
    channels = machine(power("ina3221", "VDD_IN", 9.0, silent=range(2, 98)))
    figure = energy_figures(channels, power_totals(channels, RULES, RUN), RUN, ())["energy_j"]
    assert figure.value is None
    assert "its readings cover" in str(figure.reason)


def test_a_sensor_that_shows_0_all_the_time_gives_no_energy() -> None:
    (measured,) = measure_totals(machine(power("ina3221", "VDD_IN", 0.0)), RULES, RUN)
    assert (measured.energy.energy_j, measured.energy.reason) == (None, "it read 0 all the time")


def test_a_gap_widens_the_interval_by_what_the_power_may_have_been_meanwhile() -> None:
    rng = np.random.default_rng(1)
    whole = power("ina3221", "VDD_IN", 0.0)
    whole["value"] = rng.choice([5.0, 15.0], len(whole))
    gap = whole[(whole["t_ns"] < 40 * 10**9) | (whole["t_ns"] > 47 * 10**9)]
    energies = [
        window_energy(machine(readings), power_totals(machine(readings), RULES, RUN), *RUN)
        for readings in (whole, gap)
    ]
    parts = [
        energy.uncertainty.gaps
        for energy in energies
        if energy is not None and energy.uncertainty is not None
    ]
    assert parts[0] == 0.0
    assert 30.0 < parts[1] < 90.0  # about seven seconds at 5 to 15 W


@pytest.mark.parametrize("silent", RAILS)
def test_a_gap_of_any_rail_widens_the_interval_of_the_sum(silent: str) -> None:
    rng, read = np.random.default_rng(1), []
    for rail in RAILS:
        readings = power("ina3221", rail, 0.0, range(40, 47) if rail == silent else range(0))
        read.append(readings.assign(value=rng.choice([5.0, 15.0], len(readings))))
    channels = machine(*read)
    (total,) = power_totals(channels, RULES, RUN)
    energy = energy_of(channels, total, *RUN)
    assert (total.rule.name, energy.gaps) == ("AGX Orin rails", 1)
    assert energy.uncertainty is not None
    assert 30.0 < energy.uncertainty.gaps < 90.0  # about eight seconds at 5 to 15 W


def test_a_counter_has_no_sampling_error_and_does_not_alias() -> None:
    _, measured = measure_totals(
        machine(counter("rapl", "package-0", 30.0), counter("rapl", "dram-0", 4.0)), RULES, RUN
    )[::-1]
    assert measured.energy.uncertainty is not None
    assert (measured.energy.uncertainty.sampling, measured.energy.uncertainty.possibly_aliased) == (
        0.0,
        False,
    )


@pytest.mark.parametrize(
    ("source", "channel", "has_idle", "level"),
    [
        ("shelly", "power", True, "Level 2"),
        ("shelly", "power", False, "Level 1"),
        (
            "um25c",
            "power",
            True,
            "below Level 1: board, measured downstream of the power conversion",
        ),
        (
            "ina3221",
            "VDD_IN",
            True,
            "below Level 1: module, measured downstream of the power conversion",
        ),
        ("rpi5-pmic", "VDD_CORE.power", True, "below Level 1: an estimate"),
    ],
)
def test_the_level_of_the_methodology_that_a_measurement_meets(
    source: str, channel: str, has_idle: bool, level: str
) -> None:
    chosen = power_totals(machine(power(source, channel, 5.0)), RULES, RUN)
    assert measurement_level(chosen, 1.0, has_idle=has_idle) == level


@pytest.mark.parametrize("seed", range(20))
def test_one_reading_in_every_second_is_one_reading_per_second(seed: int) -> None:
    """A plug reads once in every second, at any moment in it."""
    moments_s = np.arange(10, 40) + np.random.default_rng(seed).random(30)
    rows = [(round(each * 1e9), "shelly", "power", 5.0, "W") for each in moments_s]
    channels = channels_of_frame(
        pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    )
    run = (10 * 10**9, 40 * 10**9)
    totals = power_totals(channels, RULES, run)
    assert energy_figures(channels, totals, run, ())["energy_j"].level == "Level 1"


def test_every_rule_of_the_rulebook_states_its_accuracy_its_age_and_the_coverage_it_demands() -> (
    None
):
    assert all(
        rule.gain_error > 0 and rule.min_coverage == 0.9 and len(rule.delay_s) == len(rule.sources)
        for rule in RULES
    )
    assert all(rule.step == () or len(rule.step) == len(rule.channels) for rule in RULES)
    accuracy = {tier: {rule.gain_error for rule in RULES if rule.tier is tier} for tier in Tier}
    assert (
        max(accuracy[Tier.ANALYSER])
        < max(accuracy[Tier.WALL_METER])
        <= max(accuracy[Tier.ON_BOARD])
        < max(accuracy[Tier.ESTIMATE])
    )


def contradictions(*parts: pandas.DataFrame) -> dict[str, str | None]:
    measured = measure_totals(machine(*parts), RULES, RUN)
    assert all(one.energy.energy_j for one in measured)
    return {one.total.source: one.total.contradicted_by for one in measured}


def test_instruments_of_the_same_that_contradict_each_other_say_so() -> None:
    """720 J and 509 J, both of the board."""
    wrong = power("um25c", "power", 7.2), power("tegrastats", "VIN", 5.09)
    assert contradictions(*wrong) == {"um25c": "tegrastats", "tegrastats": "um25c"}
    (counted, other) = energy_rows(machine(*wrong), RULES, RUN)
    assert counted["contradicted_by"] == other["source"]
    right = power("um25c", "power", 7.2), power("tegrastats", "VIN", 6.9)
    assert set(contradictions(*right).values()) == {None}
    assert "contradicted_by" not in energy_rows(machine(*right), RULES, RUN)[0]
    of_parts = power("shelly", "power", 5.0), power("um25c", "power", 7.2)
    assert set(contradictions(*of_parts).values()) == {None}


def test_bundles_from_before_round_v03_are_judged_by_the_rules_that_they_carry(
    tmp_path: Path,
) -> None:
    """A sensor that sticks at 5 W for half of the run, and one that contradicts it: neither was
    judged in rounds v0.1 (no rules in the bundle) and v0.2 (rules without the two)."""
    stuck = power("um25c", "power", 5.0)
    drawn = np.random.default_rng(1).normal(5.0, 0.3, len(stuck))
    stuck["value"] = np.where(stuck["t_ns"] < 50 * 10**9, drawn, 5.0)
    channels = machine(stuck, power("tegrastats", "VIN", 3.0))
    first, now = make_bundle(tmp_path / "v0.1"), make_bundle(tmp_path / "now")
    (first / "power.json").unlink()
    run = json.loads((first / "run.json").read_text(encoding="utf-8"))
    (first / "run.json").write_text(json.dumps({**run, "schema": 1}), encoding="utf-8")
    second = make_bundle(tmp_path / "v0.2")
    write_power_rules(now, ["um25c", "tegrastats"])
    carried = json.loads((now / "power.json").read_text(encoding="utf-8"))
    for rule in carried["rules"]:
        del rule["still_factor"], rule["must_agree"]
    (second / "power.json").write_text(json.dumps(carried), encoding="utf-8")
    for path in (first, second):
        energies_j = [
            one.energy.energy_j for one in measure_totals(channels, power_rules(Bundle(path)), RUN)
        ]
        assert energies_j == pytest.approx([5.0 * SECONDS, 3.0 * SECONDS], rel=0.02)
    measured = measure_totals(channels, power_rules(Bundle(now)), RUN)
    assert "stuck or erring sensor" in str(measured[0].energy.reason)


def test_a_plug_that_shows_whole_watts_does_not_contradict_a_finer_one() -> None:
    """5.45 W, shown as 5 W and as 5.4 W: the steps are part of what both state."""
    coarse = power("tasmota", "power", 5.0)
    assert set(contradictions(coarse, power("shelly", "power", 5.4)).values()) == {None}
    assert None not in contradictions(coarse, power("shelly", "power", 6.4)).values()


def test_an_estimate_does_not_contradict_a_meter() -> None:
    """A disk at the USB port of a Raspberry Pi 5 is behind the meter, not behind the PMIC."""
    channels = machine(power("um25c", "power", 9.0), power("rpi5-pmic", "VDD_CORE.power", 4.0))
    meter, estimate = measure_totals(channels, RULES, RUN)
    assert meter.energy.energy_j == pytest.approx(900.0)
    assert estimate.energy.energy_j is None and "um25c" in str(estimate.energy.reason)


def test_a_sum_has_the_coverage_of_its_least_covered_part() -> None:
    channels = machine(*PC[:2], power("nvml", "gpu0.power", 250.0, range(40, 44)))
    chosen = power_totals(channels, RULES, RUN)
    parts = [energy_of(channels, total, *RUN).coverage for total in chosen]
    whole = window_energy(channels, chosen, *RUN)
    assert whole is not None and whole.coverage == min(parts) < max(parts)


BOARD, CHIP = Coverage.BOARD, Coverage.CHIP


@pytest.mark.parametrize(
    ("changes", "contradicts"),
    [
        ({"energy_j": 107.0}, True),
        ({"energy_j": 106.0}, False),  # 3 and 3.5 J are stated
        ({"source": "one"}, False),
        ({"coverage": CHIP}, False),
        ({"part": MachinePart.CPU}, False),
        ({"tier": Tier.ESTIMATE}, False),
        ({"own_tier": Tier.ESTIMATE}, True),
    ],
)
def test_two_of_the_same_contradict_where_they_differ_by_more_than_both_state(
    changes: dict[str, Any], contradicts: bool
) -> None:
    def total(source: str, energy_j: float | None, gain: float, **of: Any) -> MeasuredTotal:
        made: Any = SimpleNamespace(source=source, rule=SimpleNamespace(**of))
        error = Uncertainty(None, 0.0, gain, 0.0, 0.0, False)
        return MeasuredTotal(made, Energy(energy_j, None, 1.0, 0, 1.0, 1.0, 9, 0, error))

    of = {"coverage": BOARD, "part": MachinePart.MACHINE, "tier": Tier.WALL_METER}
    given = {"source": "other", "energy_j": 107.0, "gain": 3.5, **of, **changes}
    own_tier = given.pop("own_tier", Tier.WALL_METER)
    one = total("one", 100.0, 3.0, **{**of, "tier": own_tier})
    assert energies_contradict(one, total(**given)) is contradicts
