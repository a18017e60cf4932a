"""Lies about power and energy."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from proofs.outsider.second_list.forged_copy import ForgedCopy, reseal
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "power and energy"
SAMPLE = "power"


def power_rules_without_meters(power: dict[str, Any]) -> dict[str, Any]:
    """power.json as it is where no power meter was read."""
    return {name: [] if isinstance(value, list) else value for name, value in power.items()}


def _power(copy: ForgedCopy) -> tuple[np.ndarray, np.ndarray]:
    return copy.of("meter-csv").to_numpy(), copy.readings["value"].to_numpy().copy()


def _scale(copy: ForgedCopy, run: float, idle: float) -> None:
    copy.readings.loc[copy.of("meter-csv"), "value"] *= run
    assert copy.baseload is not None
    copy.baseload.loc[copy.baseload["source"] == "meter-csv", "value"] *= idle


@lie(SUBJECT, EDITED, "a tenth of the energy", NOTHING, sample=SAMPLE)
def a_tenth_less(copy: ForgedCopy) -> None:
    """All power readings, those of the idle machine too, a tenth less."""
    _scale(copy, 0.9, 0.9)


@lie(
    SUBJECT,
    EDITED,
    "a third of the energy",
    "the idle machine: hardly less than the one under load",
    sample=SAMPLE,
)
def a_third_less_under_load(copy: ForgedCopy) -> None:
    """Power under load a third less, the idle machine as it was."""
    _scale(copy, 0.67, 1.0)


@lie(SUBJECT, EDITED, "half of the energy", "the idle machine: it draws more", sample=SAMPLE)
def half_under_load(copy: ForgedCopy) -> None:
    """Power under load halved, the idle machine as it was."""
    _scale(copy, 0.5, 1.0)


@lie(SUBJECT, EDITED, "peaks", "one value in every tenth reading", sample=SAMPLE)
def peaks_clipped(copy: ForgedCopy) -> None:
    """Readings above the median are the median."""
    mask, values = _power(copy)
    copy.readings.loc[mask, "value"] = np.minimum(values[mask], np.median(values[mask]))


@lie(SUBJECT, EDITED, "0.8 W: the meter's own share", NOTHING, sample=SAMPLE)
def the_meters_share_subtracted(copy: ForgedCopy) -> None:
    """0.8 W off every reading, those of the idle machine too."""
    copy.readings.loc[copy.of("meter-csv"), "value"] -= 0.8
    assert copy.baseload is not None
    copy.baseload.loc[copy.baseload["source"] == "meter-csv", "value"] -= 0.8


@lie(
    SUBJECT,
    EDITED,
    "the training's share seems small",
    "the meter's first reading of the run, before the training computes",
    sample=SAMPLE,
)
def a_large_baseload(copy: ForgedCopy) -> None:
    """The idle machine's power is raised to nine tenths of that of the training."""
    mask, values = _power(copy)
    assert copy.baseload is not None
    idle = copy.baseload["source"] == "meter-csv"
    copy.baseload.loc[idle, "value"] *= (
        0.9 * values[mask].mean() / copy.baseload.loc[idle, "value"].mean()
    )


@lie(
    SUBJECT,
    EDITED,
    "the training's share seems small",
    "readings of the run occur in the baseload",
    sample=SAMPLE,
)
def baseload_from_the_run(copy: ForgedCopy) -> None:
    """The idle machine's readings are the run's first ones."""
    mask, values = _power(copy)
    assert copy.baseload is not None
    idle = (copy.baseload["source"] == "meter-csv").to_numpy()
    copy.baseload.loc[idle, "value"] = values[mask][5 : 5 + idle.sum()]


@lie(SUBJECT, EDITED, "no noise", "neighbours' mean: the noise has a memory", sample=SAMPLE)
def readings_smoothed(copy: ForgedCopy) -> None:
    """The mean of eleven neighbours, less two hundredths."""
    mask, values = _power(copy)
    copy.readings.loc[mask, "value"] = 0.98 * np.convolve(
        np.pad(values[mask], 5, mode="edge"), np.ones(11) / 11, mode="valid"
    )


@lie(
    SUBJECT,
    EDITED,
    "a better tier",
    "an analyser does not read in whole watts",
    sample="wall-meter",
)
def plug_called_analyser(copy: ForgedCopy) -> None:
    """A socket's meter of one watt's resolution is called an analyser of the board: channel and
    rules."""
    for table in (copy.readings, copy.baseload):
        if table is not None:
            table.loc[table["source"] == "meter-csv", "channel"] = "board.analyser"


@lie(SUBJECT, EDITED, "an energy that covers less", NOTHING, sample=SAMPLE)
def board_called_chip(copy: ForgedCopy) -> None:
    """The channel covers the chip."""
    for table in (copy.readings, copy.baseload):
        if table is not None:
            table.loc[table["source"] == "meter-csv", "channel"] = "chip.analyser"


@lie(SUBJECT, EDITED, "a large energy is not shown", NOTHING, sample=SAMPLE)
def meter_left_out(copy: ForgedCopy) -> None:
    """The meter was not there: no readings, no baseload, no rules."""
    copy.readings = copy.readings[~copy.of("meter-csv")].reset_index(drop=True)
    copy.baseload = None
    (copy.path / "baseload.parquet").unlink()
    meter, absent = copy.meter("meter-csv"), copy.meter("tegra")
    meter.update(
        available=False,
        reason="/etc/edge-training-suite/meters.toml names no table of another meter",
        cost_s=absent["cost_s"],
    )
    copy.restate_meters()
    meter.update(achieved_period_s=None, longest_gap_s=None)
    copy.json["power"] = power_rules_without_meters(copy.json["power"])


@lie(SUBJECT, EDITED, "the warm end of the run", "a gap of a fifth of the run", sample=SAMPLE)
def high_readings_left_out(copy: ForgedCopy) -> None:
    """The highest fifth of the readings is left out, records made to fit."""
    mask, values = _power(copy)
    copy.readings = copy.readings[~(mask & (values > np.quantile(values[mask], 0.8)))].reset_index(
        drop=True
    )
    copy.restate_meters()


@lie(SUBJECT, ERROR, "a thousandth of the energy", "0.006 W", sample=SAMPLE)
def scaled_twice(copy: ForgedCopy) -> None:
    """Milliwatts were scaled twice."""
    _scale(copy, 0.001, 0.001)


@lie(
    SUBJECT, ERROR, "41 % of the energy", NOTHING + " without a profile of the board", sample=SAMPLE
)
def five_volts_for_twelve(copy: ForgedCopy) -> None:
    """Current times 5 V at a supply of 12 V, in run and baseload."""
    _scale(copy, 5 / 12, 5 / 12)


@lie(
    SUBJECT,
    ERROR,
    "nothing; the meter's clock is half a minute slow",
    "power rises half a minute before the CPU time does",
    sample=SAMPLE,
)
def another_moment(copy: ForgedCopy) -> None:
    """The meter's readings are of four seconds later."""
    copy.readings.loc[copy.of("meter-csv"), "t_ns"] += 4_000_000_000
    copy.readings = copy.readings.sort_values("t_ns", kind="stable").reset_index(drop=True)


@lie(
    SUBJECT,
    FABRICATED,
    "any energy",
    "power that does not follow the load: it is as high before the training",
    sample=SAMPLE,
)
def a_constant_and_noise(copy: ForgedCopy) -> None:
    """4 W and noise from the first reading on, independent of the load; the idle machine at 3.6
    W."""
    generator = np.random.default_rng(8)
    mask, _ = _power(copy)
    copy.readings.loc[mask, "value"] = generator.normal(4.0, 0.03, int(mask.sum())).round(4)
    assert copy.baseload is not None
    idle = copy.baseload["source"] == "meter-csv"
    copy.baseload.loc[idle, "value"] = generator.normal(3.6, 0.03, int(idle.sum())).round(4)


@lie(
    SUBJECT,
    EDITED,
    "the energy of a cooler run",
    "the same values in another run, if that is submitted",
    sample=SAMPLE,
)
def power_of_another_run(copy: ForgedCopy) -> None:
    """The readings of another run's meter, from its beginning, at this run's times."""
    other = ForgedCopy(Path(copy.path).parent / "other")
    values = other.readings.loc[other.of("meter-csv"), "value"].to_numpy()
    mask, _ = _power(copy)
    copy.readings.loc[mask, "value"] = 0.93 * np.resize(values, int(mask.sum()))


@lie(
    SUBJECT,
    ERROR,
    "a better energy on the page",
    "the figures do not follow from the readings",
    sample=SAMPLE,
    reseal=False,
)
def a_figure_typed(path: Path) -> None:
    """The energy in summary.json is typed."""
    summary = json.loads((path / "summary.json").read_text("utf-8"))
    summary["figures"]["energy_j"]["value"] *= 0.9
    (path / "summary.json").write_text(json.dumps(summary), "utf-8")
    reseal(path, figures=False)


@lie(
    SUBJECT,
    FABRICATED,
    "any energy",
    "two levels with one value each, and a noise that occurs twice",
    sample=SAMPLE,
)
def two_levels(copy: ForgedCopy) -> None:
    """3.1 W before the training, 4.9 W from run_start on, with a noise of thousandths."""
    mask, values = _power(copy)
    times = copy.readings["t_ns"].to_numpy()
    noise = np.random.default_rng(9).integers(-3, 4, len(values)) / 1000
    copy.readings.loc[mask, "value"] = (np.where(times > copy.window()[0], 4.9, 3.1) + noise)[mask]
