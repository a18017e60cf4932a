"""Lies about power and energy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    add_channel,
    as_machine,
    drop_rows,
    each_table,
    known_power_rules,
    meter,
    other_meter,
    power_rule,
    read_json,
    rebuild,
    recount,
    register,
    rows,
    scale_power,
    window,
    write_json,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)
RAILS = {"VDD_GPU_SOC": 0.5, "VDD_CPU_CV": 0.2, "VIN_SYS_5V0": 0.3}


def orin(b) -> None:
    as_machine(b, "orin")
    other_meter(b, "ina3221", RAILS)
    scale_power(b, lambda w: w * 4, idle=True)


def idle_table(b) -> pd.DataFrame:
    return pd.read_parquet(b.path / "baseload.parquet")


@edited(
    "One of the board's three rails was left out of the rule that adds them up",
    "half the energy",
    "channels of the rule in power.json against the rulebook's and the readings'",
)
def _(b):
    orin(b)
    power_rule(b, "AGX Orin rails", channels=["VDD_CPU_CV", "VIN_SYS_5V0"])


@edited(
    "One of the board's three rails was left out of the readings and of the rule",
    "half the energy",
    "channels of the rule in power.json against the rulebook's",
)
def _(b):
    orin(b)
    drop_rows(b, rows(b, "ina3221", "VDD_GPU_SOC"))
    power_rule(b, "AGX Orin rails", channels=["VDD_CPU_CV", "VIN_SYS_5V0"])


@edited(
    "The rail of the processor and the accelerator shows what it draws idle, the others are true",
    "half the energy",
    "one rail that does not change under load against the step table",
)
def _(b):
    orin(b)
    b.readings.loc[rows(b, "ina3221", "VDD_GPU_SOC"), "value"] = 3.0 * 4 * 0.5


@error("Milliwatts were written as watts", "power against what the board's supply can give")
def _(b):
    scale_power(b, lambda w: w * 1000, idle=True)


@error("Watts were written as kilowatts", "power of a few milliwatts against any board")
def _(b):
    scale_power(b, lambda w: w / 1000, idle=True)


@error(
    "The unit says milliwatts and the numbers are watts",
    "unit of the channel against the rule's unit in power.json",
)
def _(b):
    which = rows(b, "um25c")
    b.readings.loc[which, "unit"] = "mW"


@error("The unit changes in the middle of the run", "two units of one channel")
def _(b):
    which = rows(b, "um25c") & (b.readings["t_ns"] > window(b)[0] + 10**10)
    b.readings.loc[which, "unit"] = "mW"
    b.readings.loc[which, "value"] *= 1000


@edited(
    "Two watts were taken off every reading of the run, as if the meter had an offset",
    "a third less energy",
    "power during the run close to that of the idle machine",
)
def _(b):
    scale_power(b, lambda w: w - 2.0)


@edited(
    "Readings of the run were multiplied by 0.45, those of the idle machine kept",
    "half the energy",
    "power during the run below that of the idle machine",
)
def _(b):
    scale_power(b, lambda w: w * 0.45)


@edited("Readings of the run and of the idle machine were multiplied by 0.7", "a third less energy")
def _(b):
    scale_power(b, lambda w: w * 0.7, idle=True)


@edited("Only what is above the idle power was halved", "a quarter less energy")
def _(b):
    scale_power(b, lambda w: 3.0 + (w - 3.0) / 2)


@edited(
    "Readings of the idle machine were raised so that little is left for the training",
    "a larger share of baseload",
    "idle power against the power right before and after the run",
)
def _(b):
    scale_power(b, lambda w: w + 2.8, run=False, idle=True)


@error(
    "Readings of the idle machine are those of the loaded one",
    "power of the idle machine as high as under load",
)
def _(b):
    scale_power(b, lambda w: w * 2, run=False, idle=True)


@edited(
    "The readings of the idle machine were pasted into the run",
    "half the energy",
    "the same readings one after another in both tables; power during the run as idle",
)
def _(b):
    which = rows(b, "um25c")
    b.readings.loc[which, "value"] = np.resize(
        idle_table(b)["value"].to_numpy() * 1.01, which.sum()
    )


@edited(
    "Power readings were moved by ten seconds, so that the idle time lies under the run",
    "most of the energy",
    "first and last power reading against those of the other meters",
)
def _(b):
    which = rows(b, "um25c")
    idle = idle_table(b).copy()
    idle["t_ns"] += 14_000_000_000
    b.readings.loc[which, "t_ns"] += 10_000_000_000
    b.readings = (
        pd.concat([b.readings, idle]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    recount(b)


@edited(
    "Every high reading was dropped, and the count of readings lowered",
    "a lower mean power",
    "distances between the readings against the meter's period",
)
def _(b):
    which = rows(b, "um25c")
    b.readings.loc[which, "value"] = 6 + np.sin(np.arange(which.sum()))
    drop_rows(b, which & (b.readings["value"] > 6.2))


@edited(
    "Every high reading was dropped, and the count of readings kept",
    "a lower mean power",
    "readings of the meter against the count in run.json",
)
def _(b):
    which = rows(b, "um25c")
    drop_rows(b, which & (np.arange(len(b.readings)) % 3 == 0), counted=False)


@edited(
    "The meter is said to have been silent during the second epoch, the costly one",
    "the interpolation runs below the peak",
    "a hole in the power readings against failures in run.json",
)
def _(b):
    start = window(b)[0]
    which = rows(b, "um25c") & b.readings["t_ns"].between(
        start + 9_480_000_000, start + 18_900_000_000
    )
    drop_rows(b, which)


@edited(
    "The meter was plugged in for the last two seconds only",
    "energy of the run from a part of it",
    "coverage of the run by power readings",
)
def _(b):
    drop_rows(b, rows(b, "um25c") & (b.readings["t_ns"] < window(b)[1] - 2_000_000_000))


@edited(
    "Holes in the readings were filled by interpolation",
    "a meter that lost half of its readings looks whole",
    "readings on straight lines, none of them rounded as the meter rounds",
)
def _(b):
    which = rows(b, "um25c")
    value = np.round(6 + np.random.default_rng(1).normal(0, 0.3, which.sum()), 2)
    every = np.arange(0, which.sum(), 5)
    b.readings.loc[which, "value"] = np.interp(np.arange(which.sum()), every, value[every])


@edited(
    "The coverage was raised from the board to the whole machine at the wall",
    "a better class of measurement",
    "coverage in power.json against the rulebook's rule of this meter",
)
def _(b):
    power_rule(b, coverage="wall")


@edited(
    "The tier was raised to that of a power analyser",
    "a better class of measurement",
    "tier in power.json against the rulebook's rule of this meter",
)
def _(b):
    power_rule(b, tier="analyser")


@edited(
    "The USB meter's readings were given the name of an analyser's table",
    "a better class of measurement",
    NOTHING + "; odd digits and period of the readings",
)
def _(b):
    other_meter(b, "meter-csv", {"wall.analyser": 1.0})


@edited(
    "The estimate of the board's power chip is shown as a measurement",
    "a better class of measurement",
    "tier in power.json against the rulebook's rule of this meter",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    other_meter(b, "rpi5-pmic", {"VDD_CORE.power": 0.6, "3V3_SYS.power": 0.4})
    power_rule(b, "PMIC rails", tier="on-board sensor")


@edited(
    "Only the largest rail of the board's power chip is added up",
    "less energy",
    "channels of the rule in power.json against the readings",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    other_meter(b, "rpi5-pmic", {"VDD_CORE.power": 0.6, "3V3_SYS.power": 0.4})
    power_rule(b, "PMIC rails", channels=["VDD_CORE.power"])


@edited(
    "The plausible range was widened for readings that lie outside of it",
    "impossible power passes",
    "plausible range in power.json against the rulebook's",
)
def _(b):
    power_rule(b, plausible_w=[-1000.0, 100000.0])
    scale_power(b, lambda w: w * 50, idle=True)


@fabricated(
    "Power is below a tenth of a watt, idle and under load",
    "the least energy of all",
    "power against what any board draws",
)
def _(b):
    scale_power(b, lambda w: w * 0.01, idle=True)


@error("Some readings are negative, as of a board that feeds the net", "readings below nothing")
def _(b):
    scale_power(b, lambda w: np.where(np.arange(len(w)) % 9 == 0, -w, w))


@edited(
    "A second rule was put before the true one, for a channel that reads less",
    "less energy",
    "rules in power.json against the rulebook's; two totals of one machine",
)
def _(b):
    add_channel(b, "nvml", "gpu0.power", "W", lambda s: 1.5 + 0.1 * np.sin(s), period=0.5)
    power = read_json(b, "power.json")
    first = {
        **power["rules"][0],
        "name": "GPU power",
        "sources": ["nvml"],
        "channels": ["gpu*.power"],
        "coverage": "board",
        "tier": "wall meter",
    }
    power["rules"].insert(0, first)
    write_json(b, "power.json", power)


@edited(
    "The rule of the power file was emptied, and the energy disappears",
    "a costly run is shown without its energy",
    "power.json without a rule against power readings",
)
def _(b):
    write_json(b, "power.json", {**read_json(b, "power.json"), "rules": []})


@edited(
    "The wall meter's readings were taken out, so that the smaller sensor's remain",
    "less energy",
    "count of readings in run.json against the table, if it is kept; idle readings of a meter that"
    " the run does not have",
)
def _(b):
    add_channel(b, "rapl", "package-0", "W", lambda s: 2.0 + 0.05 * np.cos(s), period=0.5)
    drop_rows(b, rows(b, "um25c"))
    known_power_rules(b)


@edited(
    "Two readings of the same meter at the same moment lower the mean",
    "a lower mean power",
    "two readings of a channel at one time",
)
def _(b):
    extra = b.readings[rows(b, "um25c")].assign(value=1.0)
    b.readings = (
        pd.concat([b.readings, extra]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    recount(b)


@edited(
    "Readings were put in between the true ones, each a little lower",
    "a lower mean power",
    "distances between the readings against the meter's period",
)
def _(b):
    extra = b.readings[rows(b, "um25c")].copy()
    extra["t_ns"] += 100_000_000
    extra["value"] -= 2.5
    b.readings = (
        pd.concat([b.readings, extra]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    recount(b)


@edited(
    "Idle readings are those of a day before",
    "a larger share of baseload",
    "times of the idle readings against the run's start",
)
def _(b):
    def edit(table, _):
        table["t_ns"] -= 500_000_000_000
        return table

    each_table(b, edit, readings=False)


@error("Idle readings were taken during the run", "times of the idle readings against run_start")
def _(b):
    def edit(table, _):
        table["t_ns"] += 20_000_000_000
        return table

    each_table(b, edit, readings=False)


@error(
    "Idle readings come from another meter than the run's",
    "source of the idle readings against power.json and the run's readings",
)
def _(b):
    each_table(b, lambda table, _: table.assign(source="shelly"), readings=False)


@edited(
    "The idle machine was measured for a tenth of a second",
    "a chosen moment is the baseload",
    "length of the idle readings against ten seconds",
)
def _(b):
    each_table(b, lambda table, _: table.iloc[-2:], readings=False)


@fabricated(
    "A constant power was written for the whole of a real run that had no meter",
    "no meter needed",
    "power that does not change between preparation, epochs and end",
    needs="real",
)
def _(b):
    add_channel(b, "um25c", "power", "W", lambda s: 4.2, period=0.5)
    rule = {
        "name": "usb meter",
        "sources": ["um25c"],
        "channels": ["power"],
        "coverage": "board",
        "tier": "wall meter",
        "unit": "W",
        "plausible_w": [0.0, 150.0],
    }
    write_json(
        b,
        "power.json",
        {"schema": 2, "rules": [{**rule, "reference": "RDTech UM24C/25C/34C serial protocol"}]},
    )


@fabricated(
    "Power was made up for a real run without meter, high in epochs and low in evaluations",
    "no meter needed",
    "meter's costs and gaps in run.json against its readings",
    needs="real",
)
def _(b):
    rng = np.random.default_rng(2)
    b.readings = b.readings.copy()
    add_channel(
        b,
        "um25c",
        "power",
        "W",
        lambda s: np.round(
            7.1 + 0.4 * np.sin(s / 3) - 1.1 * (s % 4.8 > 4.5) + rng.normal(0, 0.08, len(s)), 3
        ),
        period=0.5,
    )
    rule = {
        "name": "usb meter",
        "sources": ["um25c"],
        "channels": ["power"],
        "coverage": "board",
        "tier": "wall meter",
        "unit": "W",
        "plausible_w": [0.0, 150.0],
    }
    write_json(
        b,
        "power.json",
        {"schema": 2, "rules": [{**rule, "reference": "RDTech UM24C/25C/34C serial protocol"}]},
    )


@edited(
    "The USB meter sat behind a battery that was charged before the run",
    "most of the energy",
    "power that does not change from idle to load",
)
def _(b):
    scale_power(b, lambda w: w * 0.51)


@error(
    "The meter is said to be absent while its readings are there",
    "available in run.json against readings",
)
def _(b):
    meter(b, "um25c").update(available=False, reason="no USB meter was found")


@edited(
    "Another board's readings were put in: a little board's power under a large machine's load",
    "a tenth of the energy",
    "power of two watts against a server's processor",
)
def _(b):
    scale_power(b, lambda w: w / 3, idle=True)
    rebuild(b, noise=0.02)


@edited(
    "The reading before the run's start was lowered to draw the interpolated end down",
    "a joule less",
)
def _(b):
    start, stop = window(b)
    last = rows(b, "um25c") & (b.readings["t_ns"] > stop)
    first = rows(b, "um25c") & (b.readings["t_ns"] <= start)
    b.readings.loc[first | last, "value"] = 0.5
