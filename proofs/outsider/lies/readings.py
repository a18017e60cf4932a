"""Lies in counters, processor time, memory, temperature, frequency, disk and network readings."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    add_channel,
    change_values,
    drop_rows,
    log_value,
    meter,
    read_json,
    recount,
    register,
    rows,
    seal_manifest,
    window,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


def counter(b, event: str, edit) -> None:
    change_values(b, "counters", f"{event}.count", edit)


@edited(
    "Cycles were multiplied by fifty",
    "a busy processor",
    "cycles per second against cores and any frequency",
)
def _(b):
    counter(b, "cycles", lambda v: v * 50)


@edited(
    "Cycles were divided by a thousand",
    "an efficient program",
    "cycles per instruction against any processor; processor time",
)
def _(b):
    counter(b, "cycles", lambda v: v // 1000)


@edited(
    "Instructions were halved",
    "an efficient program",
    "instructions per sample against the model's arithmetic",
)
def _(b):
    counter(b, "instructions", lambda v: v // 2)


@edited(
    "Instructions are fewer than the multiplications of the model",
    "a program that hardly computes",
    "instructions against the arithmetic of 180,000 samples",
)
def _(b):
    counter(b, "instructions", lambda v: v // 200)


@error("A counter falls in the middle of the run", "readings of one counter that fall")
def _(b):
    counter(b, "instructions", lambda v: np.where(np.arange(len(v)) > 150, v - v[100], v))


@error(
    "A counter ran over its thirty-two bits and starts from nothing again",
    "readings of one counter that fall",
)
def _(b):
    counter(b, "cycles", lambda v: v % 2**32)


@fabricated(
    "Counters stand still while the training goes on",
    "counters of an idle machine",
    "counters against the step table",
)
def _(b):
    for event in ("cycles", "instructions", "branches"):
        counter(b, event, lambda v: np.full(len(v), v[5]))


@fabricated(
    "Counters rise evenly before, during and after the run",
    "counters from a formula",
    "counts per second in the run against those before and after it",
)
def _(b):
    for event in ("cycles", "instructions", "branches", "l1d_access"):
        counter(b, event, lambda v: np.round(np.linspace(v[0], v[-1] * 0.9, len(v))))


@error("Cache misses are more than accesses", "l1d_refill against l1d_access")
def _(b):
    counter(b, "l1d_refill", lambda v: v * 40)


@error("Mispredicted branches are more than branches", "branch_mispredicts against branches")
def _(b):
    counter(b, "branch_mispredicts", lambda v: v * 100)


@error("Branches are more than instructions", "branches against instructions")
def _(b):
    counter(b, "branches", lambda v: v * 20)


@error(
    "The columns of cycles and instructions were exchanged",
    NOTHING + "; an unlikely ratio of the two",
)
def _(b):
    names = {"cycles.count": "instructions.count", "instructions.count": "cycles.count"}
    b.readings["channel"] = b.readings["channel"].replace(names)


@error("Page faults are counted in halves", "counts that are not whole numbers")
def _(b):
    counter(b, "page_faults", lambda v: v + 0.5)


@error("Cores are used to 140 %", "utilisation against what a core can do")
def _(b):
    change_values(b, "cpu", "utilisation", lambda v: v * 2.8)


@edited(
    "Cores are said to be idle while they train",
    "an efficient program",
    "utilisation against counters and steps",
)
def _(b):
    change_values(b, "cpu", "utilisation", lambda v: v * 0.02)


@edited(
    "The cores' utilisation and the total tell of two different machines",
    "an efficient program",
    "total utilisation against the cores' mean",
)
def _(b):
    change_values(b, "cpu", "utilisation.total", lambda v: v * 0.1)


@error("A third core is read on a machine of two", "cores of the readings against system.json")
def _(b):
    more = b.readings[rows(b, "cpu", "utilisation.core0")].assign(channel="utilisation.core2")
    b.readings = (
        pd.concat([b.readings, more]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    recount(b)


@error(
    "The processor's time is more than two cores can give",
    "processor time against wall time and cores",
    needs="real",
)
def _(b):
    change_values(b, "cpu", "process_tree", lambda v: v * 3)


@edited(
    "The processor's time was taken down to a fifth, the counters' task time kept",
    "an efficient program",
    "process_tree against task_clock",
    needs="real",
)
def _(b):
    change_values(b, "cpu", "process_tree", lambda v: np.round(v * 0.2, 2))


@edited(
    "The processor's time and the counters' task time were taken down to a fifth",
    "an efficient program",
    "processor time against utilisation of both cores and compute time of the steps",
    needs="real",
)
def _(b):
    change_values(b, "cpu", "process_tree", lambda v: np.round(v * 0.2, 2))
    counter(b, "task_clock", lambda v: np.round(v * 0.2))


@edited(
    "The second core's load by another program was wiped away",
    "a quiet machine",
    "utilisation of the cores against their total",
    needs="real",
)
def _(b):
    change_values(b, "cpu", "utilisation.core1", lambda v: v * 0.03)


@error(
    "The program uses more memory than the machine has",
    "process_tree_rss against memory_size_bytes",
)
def _(b):
    change_values(b, "memory", "process_tree_rss", lambda v: v * 200)


@edited(
    "The program uses one megabyte",
    "a small footprint",
    "process_tree_rss against any framework, the model and its data",
)
def _(b):
    change_values(b, "memory", "process_tree_rss", lambda v: v / 200)


@edited(
    "Peak memory is below the memory in use",
    "a small footprint",
    "largest_process_peak_rss against process_tree_rss",
    needs="real",
)
def _(b):
    change_values(b, "memory", "largest_process_peak_rss", lambda v: np.round(v * 0.3))


@edited(
    "Peak memory in the log was lowered",
    "a small footprint",
    "peak_rss_of_ranks in the log against the readings",
    needs="real",
)
def _(b):
    log_value(b, "peak_rss_of_ranks", [120_000_000])


@error(
    "Free and used memory are more than the machine has",
    "available plus used against memory_size_bytes",
    needs="real",
)
def _(b):
    change_values(b, "memory", "available", lambda v: v * 1.5)


@error(
    "Memory is told in kilobytes",
    "memory of a few hundred kilobytes against any framework; other readings of memory",
    needs="real",
)
def _(b):
    change_values(b, "memory", "", lambda v: v / 1024)


@edited(
    "Swapping was wiped away although more was used than the memory holds",
    "a run without swapping",
    "memory in use against memory size and swap",
)
def _(b):
    b.system["memory_size_bytes"] = 150_000_000
    add_channel(b, "memory", "swap_used", "B", lambda s: 0.0)


@error("A temperature of minus 300 degrees", "temperature against the coldest there is")
def _(b):
    add_channel(b, "temperature", "cpu-thermal", "°C", lambda s: -300.0, period=2.0)


@error("A temperature in thousandths of a degree", "temperature against what silicon bears")
def _(b):
    add_channel(b, "temperature", "cpu-thermal", "°C", lambda s: 51234.0 + 10 * s, period=2.0)


@fabricated(
    "The board stays at room temperature under full load for the whole run",
    "no throttling",
    "temperature that does not change against power and load",
)
def _(b):
    add_channel(b, "temperature", "cpu-thermal", "°C", lambda s: 21.0, period=2.0)


@error("The processor runs at nine gigahertz", "frequency against any processor")
def _(b):
    add_channel(b, "cpu", "frequency.core0", "Hz", lambda s: 9e9)


@edited(
    "The frequency is half of what the cycles tell",
    "a slow clock, and yet fast",
    "cycles per second against frequency times cores",
)
def _(b):
    add_channel(b, "cpu", "frequency.core0", "Hz", lambda s: 4e8)
    add_channel(b, "cpu", "frequency.core1", "Hz", lambda s: 4e8)


@edited(
    "Throttling was wiped from the readings",
    "no badge",
    "frequency that falls against a meter that saw no throttling",
)
def _(b):
    add_channel(b, "cpu", "frequency.core0", "Hz", lambda s: np.where(s > 12, 6e8, 2.4e9))
    add_channel(b, "throttling", "throttled", "events", lambda s: 0.0)


@error("The disk's bytes fall in the middle of the run", "readings of the disk that fall")
def _(b):
    change_values(b, "disk", "read_bytes", lambda v: v[::-1].copy())


@edited(
    "The disk read a hundred gigabytes within the run",
    "a storage medium that looks fast",
    "bytes per second against any storage medium",
)
def _(b):
    change_values(b, "disk", "read_bytes", lambda v: v * 500_000)


@edited(
    "The disk read nothing in the first epoch, with the cache emptied before",
    "no reading at all",
    "bytes of the disk against cache_cleared and the data's size",
    needs="real",
)
def _(b):
    for channel in ("read_bytes", "read_operations", "busy"):
        change_values(b, "disk", channel, lambda v: np.full(len(v), v[-1]))


@error(
    "The disk was busy for longer than the run lasted",
    "busy seconds of the disk against wall time",
    needs="real",
)
def _(b):
    change_values(b, "disk", "busy", lambda v: v[0] + (v - v[0]) * 100 + np.arange(len(v)) * 4)


@edited(
    "More bytes than the link can carry in the time",
    "a link that looks fast",
    "bytes per second of the network against the link's speed",
    needs="two_ranks",
)
def _(b):
    change_values(b, "network", "eth0.sent", lambda v: v * 500)


@fabricated(
    "Two ranks exchanged gradients without a byte on the network",
    "communication was never made",
    "bytes sent against gradients of 1,407 steps",
    needs="two_ranks",
)
def _(b):
    change_values(b, "network", "eth0.sent", lambda v: v * 0)


@error("The page cache holds 170 % of the data", "ratio above one", needs="real")
def _(b):
    change_values(b, "page-cache", "resident", lambda v: v * 1.7)


@edited(
    "The wall clock's drift readings were set to nothing although the clock was stepped",
    "a quiet clock",
    "drift readings against the log's two clocks",
    needs="real",
)
def _(b):
    change_values(b, "wall-clock", "drift", lambda v: v * 0)
    for e in b.events[-8:]:
        e["time_ms"] += 60_000


@edited(
    "The counters' file tells of twice the instructions that the readings do",
    "a processor that looks busy",
    "counters.json against the readings",
    sealed=False,
)
def _(b):
    content = read_json(b, "counters.json")
    content["phases"]["run"]["events"]["instructions"]["count"] *= 2
    (b.path / "counters.json").write_text(json.dumps(content))
    seal_manifest(b.path)


@error(
    "A meter that failed a hundred times has every reading",
    "failures in run.json against a table without holes",
)
def _(b):
    meter(b, "cpu").update(failures=100, last_error="timed out")


@error(
    "The counters were read on after the machine was switched off: an hour of readings behind"
    " the run",
    "readings' times against the log",
)
def _(b):
    late = b.readings[rows(b, "memory")].copy()
    late["t_ns"] += 3_600_000_000_000
    b.readings = pd.concat([b.readings, late]).reset_index(drop=True)
    recount(b)


@error("Readings are not in the order of their times", "order of a channel's readings")
def _(b):
    which = b.readings.index[rows(b, "memory")]
    times = b.readings.loc[which, "t_ns"].to_numpy().copy()
    times[[10, 30]] = times[[30, 10]]
    b.readings.loc[which, "t_ns"] = times


@error("Some readings are not numbers", "readings against their own kind")
def _(b):
    change_values(b, "memory", "", lambda v: np.where(np.arange(len(v)) == 20, np.nan, v))


@error("Some readings are without end", "readings against their own kind")
def _(b):
    change_values(b, "um25c", "", lambda v: np.where(np.arange(len(v)) == 20, np.inf, v))


@edited(
    "The readings of the memory in the third epoch are those of the second",
    "a growing program looks steady",
    needs="real",
)
def _(b):
    which = b.readings.index[rows(b, "memory", "process_tree_rss")]
    values = b.readings.loc[which, "value"].to_numpy().copy()
    values[16:22] = values[10:16]
    b.readings.loc[which, "value"] = values


@edited(
    "All readings of the second half of the run are missing, and the counts were lowered",
    "a hot, slow half that nobody sees",
    "last readings against run_stop",
)
def _(b):
    start, stop = window(b)
    drop_rows(b, b.readings["t_ns"] > (start + stop) // 2)


@fabricated(
    "Readings of all meters fall on the very same moments, as a program writes them",
    "readings without a meter",
    "meters that never differ by a microsecond on a real machine",
    needs="real",
)
def _(b):
    b.readings["t_ns"] = (b.readings["t_ns"] // 500_000_000) * 500_000_000
    b.readings = b.readings.drop_duplicates(["t_ns", "source", "channel"]).reset_index(drop=True)
    recount(b)


@error(
    "The unit of the processor's time is another in the second half",
    "two units of one channel",
    needs="real",
)
def _(b):
    which = rows(b, "cpu", "process_tree") & (b.readings["t_ns"] > b.readings["t_ns"].median())
    b.readings.loc[which, "unit"] = "ms"
