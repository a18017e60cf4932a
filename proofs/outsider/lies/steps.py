"""Lies about single steps: their times, their parts, their number."""

from __future__ import annotations

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    PARTS,
    Lie,
    add_channel,
    as_machine,
    correct_counts,
    epoch_steps,
    find,
    fit_steps,
    in_every_log,
    mono,
    of_epoch,
    rebuild,
    register,
    shift,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES)


@edited(
    "Compute times were halved and the starts of the steps kept",
    "half the compute time",
    "parts of a step against the start of the next one: half of each epoch is left over",
)
def _(b):
    b.steps["compute_s"] /= 2


@edited(
    "Half of the compute time was called waiting for data",
    "a faster processor, a slower card",
    NOTHING + "; utilisation of the processor during the waiting",
)
def _(b):
    b.steps["fetch_stall_s"] += b.steps["compute_s"] / 2
    b.steps["compute_s"] /= 2


@edited(
    "All waiting for data was called compute",
    "no stalls",
    NOTHING + "; a fetch of 60,000 pictures without time",
)
def _(b):
    b.steps["compute_s"] += b.steps["fetch_stall_s"]
    b.steps["fetch_stall_s"] = 0.0


@edited(
    "Copies to the device take no time on a machine with its own graphics memory",
    "no copy time",
    "copy times of nothing against the accelerator",
)
def _(b):
    b.request["accelerator"] = "cuda"
    b.steps["compute_s"] += b.steps["copy_s"]
    b.steps["copy_s"] = 0.0


@edited(
    "Exposed communication was called compute",
    "no communication time",
    "communication of nothing against two ranks without overlap",
    needs="two_ranks",
)
def _(b):
    b.request["parallel"]["overlap"] = False
    b.steps["communication_s"] = 0.0


@error(
    "Waiting times are below zero where two clocks were subtracted", "parts of a step below nothing"
)
def _(b):
    b.steps.loc[b.steps["step"] % 7 == 0, "fetch_stall_s"] = -0.0004


@error("Steps were written in milliseconds", "parts of a step against the start of the next one")
def _(b):
    b.steps[PARTS] *= 1000


@error(
    "Starts of the steps are those of the wall clock",
    "start_ns in the step table against epoch_start",
)
def _(b):
    b.steps["start_ns"] += 1_800_000_000_000_000_000 - 1_000_000_000_000


@edited(
    "Steps overlap: each begins a quarter before the one before it ended",
    "a pipeline that was not measured",
    "start of a step against the end of the one before",
)
def _(b):
    b.steps["compute_s"] += 0.005


@edited(
    "Every step was given the mean of all",
    "no outliers",
    "steps that differ by nothing on a real machine",
    needs="real",
)
def _(b):
    for _, steps in b.steps.groupby("epoch"):
        begin = steps["start_ns"].iloc[0]
        end = steps["start_ns"].iloc[-1] + int(steps[PARTS].iloc[-1].sum() * 1e9)
        b.steps.loc[steps.index, "start_ns"] = np.linspace(begin, end, len(steps) + 1)[:-1].astype(
            "int64"
        )
        for part in PARTS:
            b.steps.loc[steps.index, part] = steps[part].mean()


@edited(
    "The slowest hundredth of the steps was cut to the median, and their time went into what is"
    " left over",
    "a better median and spread",
    "parts of these steps against the start of the next one",
    needs="real",
)
def _(b):
    slow = b.steps["compute_s"] > b.steps["compute_s"].quantile(0.99)
    b.steps.loc[slow, "compute_s"] = b.steps["compute_s"].median()


@edited(
    "The slowest steps were cut to the median, and everything after them moved up in all records",
    "some seconds less",
    "the readings' end, which did not move",
    needs="real",
)
def _(b):
    middle = b.steps["compute_s"].median()
    over = (b.steps["compute_s"] - middle).where(b.steps["compute_s"] > 1.15 * middle, 0.0)
    saved = np.round(over.to_numpy() * 1e9).astype("int64")
    moments = b.steps["start_ns"].to_numpy().copy()
    b.steps["compute_s"] -= over
    b.steps["start_ns"] -= np.concatenate([[0], np.cumsum(saved)[:-1]])

    def edit(events):
        for e in events:
            less = int(saved[moments < e["metadata"]["mono_ns"]].sum())
            e["metadata"]["mono_ns"] -= less
            e["time_ms"] -= less // 1_000_000

    in_every_log(b, edit)


@edited(
    "The slow first epoch got the step times of the second",
    "no cold start",
    "parts of two epochs, step by step, whose ratio is one number",
    needs="real",
)
def _(b):
    first, second = b.steps["epoch"] == 1, b.steps["epoch"] == 2
    for part in PARTS:
        b.steps.loc[first, part] = b.steps.loc[second, part].to_numpy()
    fit_steps(b)


@fabricated(
    "Steps of the second epoch were repeated for all later ones",
    "most of the run was never made",
    "parts of several epochs that are the same number for number",
    needs="real",
)
def _(b):
    second = b.steps[b.steps["epoch"] == 2]

    def length(epoch):
        return mono(of_epoch(b.events, "epoch_stop", epoch)) - mono(
            of_epoch(b.events, "epoch_start", epoch)
        )

    for epoch in (3, 4, 5, 6):
        which = b.steps["epoch"] == epoch
        shorter = 0.9999 * length(epoch) / length(2)
        b.steps.loc[which, PARTS] = second[PARTS].to_numpy() * shorter
        offsets = (
            ((second["start_ns"] - second["start_ns"].iloc[0]) * shorter).astype("int64").to_numpy()
        )
        b.steps.loc[which, "start_ns"] = b.steps.loc[which, "start_ns"].iloc[0] + offsets


@edited(
    "A known board computes a hundred times as fast as it can",
    "the fastest board of all",
    "arithmetic per second against the device's peak",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    rebuild(b, parts=(0.000001, 0.000001, 0.000006, 0.0, 0.000001), eval_s=0.001)


@edited(
    "A known board computes just as fast as its peak for small numbers allows",
    "the fastest board of all",
    NOTHING + "; what such a network reaches of a peak",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    rebuild(b, parts=(0.00005, 0.00002, 0.0009, 0.0, 0.00003), eval_s=0.01, noise=0.03)


@error("Steps are numbered from one in every epoch", "step numbers that start over")
def _(b):
    b.steps["step"] = (b.steps["step"] - 1) % epoch_steps(b) + 1


@error(
    "The last, smaller mini-batch of every epoch was dropped",
    "samples of an epoch against train_samples",
)
def _(b):
    b.steps = b.steps[b.steps["samples"] == 32].reset_index(drop=True)
    b.steps["step"] = np.arange(1, len(b.steps) + 1)
    in_every_log(
        b, lambda events: [e["metadata"].update(steps=468) for e in find(events, "epoch_stop")]
    )


@edited(
    "The slowest steps were taken out and the rest renumbered",
    "less time in the parts",
    "number of steps and samples against train_samples and the log",
    needs="real",
)
def _(b):
    b.steps = b.steps[b.steps["compute_s"] < b.steps["compute_s"].quantile(0.98)].reset_index(
        drop=True
    )
    b.steps["step"] = np.arange(1, len(b.steps) + 1)


@error("A step is in the table twice, as after an interrupted write", "two rows of one step")
def _(b):
    b.steps = b.steps.loc[[*range(400), 399, *range(400, len(b.steps))]].reset_index(drop=True)


@error(
    "Steps of the third epoch are called steps of the second",
    "epoch in the step table against the log and train_samples",
)
def _(b):
    b.steps.loc[b.steps["epoch"] == 3, "epoch"] = 2


@error(
    "The table has a rank that the request does not",
    "rank in the step table against ranks in run.json",
)
def _(b):
    b.steps.loc[b.steps["step"] > 1000, "rank"] = 1


@fabricated(
    "Steps lie an hour after the log",
    "steps of another run",
    "start_ns in the step table against epoch_start",
)
def _(b):
    b.steps["start_ns"] += 3600 * 10**9


@edited(
    "The first step of each epoch starts before the epoch is logged",
    "the first fetch leaves the epoch",
    "first start_ns against epoch_start",
)
def _(b):
    for e in find(b.events, "epoch_start"):
        e["metadata"]["mono_ns"] += 15_000_000


@edited(
    "Epochs are logged as ending before their last step",
    "an epoch ends earlier",
    "epoch_stop against the end of the last step",
)
def _(b):
    for e in find(b.events, "epoch_stop"):
        e["metadata"]["mono_ns"] -= 600_000_000


@edited(
    "Fetching was moved between the epochs, where no step counts it",
    "epochs without stalls",
    "time between an epoch's evaluation and the next one, and run time against the sum of its"
    " epochs",
)
def _(b):
    rebuild(b, parts=(0.0, 0.001, 0.016, 0.0, 0.001))
    later = 0
    for e in b.events:
        if e["key"] == "epoch_start" and e["metadata"]["epoch_num"] > 1:
            later += 940_000_000
        e["metadata"]["mono_ns"] += later
        e["time_ms"] += later // 1_000_000
    b.steps["start_ns"] += (b.steps["epoch"] - 1) * 940_000_000


@error(
    "A missing time was filled with nothing: compute of zero in some steps",
    "compute of nothing in steps that have a loss",
)
def _(b):
    b.steps.loc[b.steps["step"] % 50 == 0, "compute_s"] = 0.0


@error("Times that could not be read are not numbers", "parts of a step that are not numbers")
def _(b):
    b.steps.loc[b.steps["step"] == 77, "copy_s"] = np.nan


@edited(
    "Samples of the steps were exchanged: some mini-batches of 48, some of 16",
    "large batches where they are fast",
    "samples of a step against the global batch size",
)
def _(b):
    full = b.steps["samples"] == 32
    b.steps.loc[full & (b.steps["step"] % 2 == 0), "samples"] = 48
    b.steps.loc[full & (b.steps["step"] % 2 == 1), "samples"] = 16


@edited(
    "Step times were drawn anew around the true mean, without the machine's slow phases",
    "a smaller spread",
    NOTHING + "; times of neighbouring steps that are not alike",
    needs="real",
)
def _(b):
    rng = np.random.default_rng(8)
    for _, steps in b.steps.groupby("epoch"):
        b.steps.loc[steps.index, "compute_s"] = rng.permutation(steps["compute_s"].to_numpy())
    fit_steps(b)


@edited(
    "A slow last third, as of a board that grows hot, was replaced by the speed of the first",
    "no throttling",
    "frequencies that fall against step times that do not",
)
def _(b):
    rebuild(b, noise=0.02, seed=3)
    add_channel(b, "throttling", "cpu_frequency", "Hz", lambda s: np.where(s < 18, 2.4e9, 1.0e9))


@fabricated(
    "The evaluation's time was taken as fast as if it computed gradients and forgot the pictures",
    "evaluation time is saved",
    "evaluation of 10,000 samples within a step's time",
)
def _(b):
    rebuild(b, eval_s=0.012, correct=correct_counts(b))
    shift(b, 1.0)
