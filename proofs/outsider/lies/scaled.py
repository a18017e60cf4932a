"""Lies in which all times, or all times of some records, are scaled."""

from __future__ import annotations

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    PARTS,
    Lie,
    change_values,
    find,
    in_every_log,
    mono,
    of_epoch,
    periods_now,
    recount,
    register,
    resample,
    scale_power,
    warp,
    window,
)

LIES: list[Lie] = []
error, edited, _ = register(LIES)


def faster(t):
    return 0.8 * t


def in_run(t, by=0.8, length=28.44):
    """Only the time of the run is shortened; what was before it stays, what came after moves up."""
    return np.where(t < 0, t, np.where(t < length, t * by, t - length * (1 - by)))


def scaled_and_read_anew(b, when) -> None:
    before = periods_now(b)
    warp(b, when)
    resample(b, periods=before)


@edited(
    "Every time of the bundle was multiplied by 0.8, readings and idle time too",
    "a fifth less time and energy",
    "periods of the readings against the meters' periods",
)
def _(b):
    warp(b, faster)


@edited(
    "Every time was multiplied by 0.8, and the readings were interpolated back to their periods",
    "a fifth less time and energy",
    "counts of events against the processor's frequency; " + NOTHING + " else",
)
def _(b):
    scaled_and_read_anew(b, faster)


@edited(
    "Every time was multiplied by 0.8 in log and steps, the readings were kept",
    "a fifth less time and energy",
    "readings that show load after the run's end",
)
def _(b):
    warp(b, faster, readings=False, idle=False)


@edited(
    "Times in log and steps were shortened and the readings cut to the new end",
    "a fifth less time and energy",
    "counters' and power meter's course against epochs and evaluations",
)
def _(b):
    last = int(b.readings["t_ns"].max()) - window(b)[1]
    warp(b, faster, readings=False, idle=False)
    b.readings = b.readings[b.readings["t_ns"] <= window(b)[1] + last].reset_index(drop=True)
    recount(b)


@edited(
    "Monotonic times were scaled and the wall clock forgotten",
    "a fifth less time",
    "wall clock against monotonic clock",
)
def _(b):
    warp(b, faster, wall=False)


@error(
    "The wall clock was scaled and the monotonic one forgotten",
    "wall clock against monotonic clock",
)
def _(b):
    warp(b, faster, log=False, steps=False, readings=False, idle=False)


@edited(
    "Only the log was scaled",
    "a fifth less time to the target",
    "steps and readings against the log",
)
def _(b):
    warp(b, faster, steps=False, readings=False, idle=False)


@edited("Only the steps were scaled", "a fifth less time per epoch", "steps against the log")
def _(b):
    warp(b, faster, log=False, wall=False, readings=False, idle=False)


@edited(
    "Only the parts of the steps were scaled, not their starts",
    "a fifth less compute",
    "parts of a step against the start of the next one",
)
def _(b):
    b.steps[PARTS] *= 0.8


@edited(
    "Only the starts of the steps were moved together, not their parts",
    "a fifth less time per epoch",
    "parts of a step against the start of the next one",
)
def _(b):
    warp(b, faster, parts=False)


@edited(
    "The first epoch was kept and all later ones scaled",
    "a fifth less time per epoch",
    "periods of the readings; epochs that are faster than the first for no reason",
)
def _(b):
    scaled_and_read_anew(b, lambda t: np.where(t < 9.4, t, 9.4 + (t - 9.4) * 0.8))


@edited("Each epoch was made two hundredths faster than the one before", "a little less time")
def _(b):
    knots = np.array([-1e6, 0.0, 9.48, 18.96, 28.44, 1e6])
    speeds = np.array([1.0, 1.0, 0.98, 0.96, 1.0])
    heights = np.concatenate([[-1e6], -1e6 + np.cumsum(np.diff(knots) * speeds)])
    scaled_and_read_anew(b, lambda t: np.interp(t, knots, heights))


@edited(
    "Only evaluations were shortened, everything else moved up",
    "the time of the evaluations",
    "an evaluation's samples per second against a step's",
)
def _(b):
    begins = [(mono(e) - window(b)[0]) / 1e9 for e in find(b.events, "eval_start")]

    def when(t):
        return t - sum(np.clip(t - begin, 0, 0.1) * 0.95 for begin in begins)

    scaled_and_read_anew(b, when)


@edited(
    "Only the run was shortened; what was before and after it kept its length, readings were made"
    " anew",
    "a fifth less time and energy",
    "counts of events per second during the run against before and after it",
)
def _(b):
    scaled_and_read_anew(b, in_run)


@edited(
    "All times of a real run were multiplied by 0.9, processor time too, readings interpolated back"
    " to their periods",
    "a tenth less time",
    NOTHING + "; the gaps that the meters' records state",
    needs="real",
)
def _(b):
    scaled_and_read_anew(b, lambda t: 0.9 * t)
    change_values(b, "cpu", "process_tree", lambda v: np.round(v * 0.9, 2))
    change_values(b, "counters", "task_clock", lambda v: np.round(v * 0.9))


@edited(
    "All times of a real run were multiplied by 0.5 and the processor's time was forgotten",
    "half the time",
    "processor time against wall time times one thread",
    needs="real",
)
def _(b):
    scaled_and_read_anew(b, lambda t: 0.5 * t)


@edited(
    "All times of a real run were multiplied by 0.9 and the meters' periods left as they came out",
    "a tenth less time",
    "periods of the readings against achieved_period_s in run.json",
    needs="real",
)
def _(b):
    warp(b, lambda t: 0.9 * t)


@edited(
    "All times and the meters' stated periods were multiplied by 0.9",
    "a tenth less time",
    "odd periods against what every meter has by default",
    needs="real",
)
def _(b):
    warp(b, lambda t: 0.9 * t)
    for meter in b.run["meters"]:
        for key in ("period_s", "achieved_period_s", "longest_gap_s"):
            meter[key] = meter[key] and meter[key] * 0.9


@edited("A slow phase of a real run was sped up in all records", "a second less", needs="real")
def _(b):
    scaled_and_read_anew(b, lambda t: np.where(t < 0, t, np.where(t < 10, t * 0.92, t - 0.8)))


@edited(
    "Times were scaled and the power raised to keep the energy",
    "a fifth less time, energy unchanged",
    "power before and after the run against power during it",
)
def _(b):
    scaled_and_read_anew(b, faster)
    scale_power(b, lambda w: w / 0.8)


@edited(
    "Times were stretched and the power lowered: a slower mode with half the energy",
    "less energy",
    "power close to that of the idle machine; counts of events per second",
)
def _(b):
    warp(b, lambda t: 1.2 * t)
    scale_power(b, lambda w: w * 0.52)


@edited(
    "Preparation and run were exchanged in length: the run shortened by what the preparation grew",
    "a part of the training is called preparation",
    "counters' and power meter's readings during a long preparation",
)
def _(b):
    def edit(events):
        for e in events[: events.index(next(x for x in events if x["key"] == "init_start")) + 1]:
            e["metadata"]["mono_ns"] -= 5_000_000_000
            e["time_ms"] -= 5000

    warp(b, lambda t: np.where(t < 0, t, t * 0.83))
    in_every_log(b, edit)


@edited(
    "Two ranks: only rank 0's log and steps were scaled",
    "a fifth less time",
    "rank 0's times against rank 1's",
    needs="two_ranks",
)
def _(b):
    start = window(b)[0]
    for e in b.events:
        e["metadata"]["mono_ns"] = int(start + 0.8 * (mono(e) - start))
        e["time_ms"] = 1_800_000_000_000 + int(0.8 * (e["time_ms"] - 1_800_000_000_000))
    which = b.steps["rank"] == 0
    b.steps.loc[which, "start_ns"] = (
        start + 0.8 * (b.steps.loc[which, "start_ns"] - start)
    ).astype("int64")
    b.steps.loc[which, PARTS] *= 0.8


@edited(
    "Two ranks: everything was scaled on both nodes, their clock offsets were not",
    "a fifth less time",
    "drift of the clocks against the length of the run",
    needs="two_ranks",
)
def _(b):
    warp(b, faster)


@edited(
    "The monotonic times lost 1.9 seconds, just what the wall clock may differ without a word",
    "two seconds less",
    "wall clock against monotonic clock, by less than is allowed; readings end later than they"
    " should",
)
def _(b):
    late = of_epoch(b.events, "epoch_stop", 2)
    after = [e["key"] == "epoch_stop" and e is late for e in b.events].index(True)
    for e in b.events[after:]:
        e["metadata"]["mono_ns"] -= 1_900_000_000
    move = b.steps["epoch"] == 3
    b.steps.loc[move, "start_ns"] -= 1_900_000_000
    second = b.steps["epoch"] == 2
    begin = b.steps.loc[second, "start_ns"].iloc[0]
    b.steps.loc[second, "start_ns"] = (
        begin + (b.steps.loc[second, "start_ns"] - begin) * (7.48 / 9.38)
    ).astype("int64")
    b.steps.loc[second, PARTS] *= 7.48 / 9.38


@error(
    "The parts of the steps were timed by a counter whose frequency was taken wrong",
    "parts of a step against the start of the next one",
)
def _(b):
    b.steps[PARTS] *= 19.2 / 24


@error(
    "Ticks of a 1024th of a second were taken for milliseconds in the log",
    "log against steps, readings and wall clock",
)
def _(b):
    warp(b, lambda t: t * 1.024, wall=False, steps=False, readings=False, idle=False)
