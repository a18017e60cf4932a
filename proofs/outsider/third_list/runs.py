"""Edits of one run of the reference submission."""

import json

import numpy as np
import pandas as pd

from proofs.outsider.edits import EDITED, ERROR, FABRICATED
from proofs.outsider.third_list.copy_edits import (
    end_after,
    remove_time,
    scale,
    set_accuracy,
    take_out,
)
from proofs.outsider.third_list.edits import (
    NS,
    Edit,
    listed,
    of_epoch,
    restate,
    retimed,
    scale_growth,
    times,
)
from proofs.outsider.third_list.forged_copy import ForgedCopy

RUNS: list[Edit] = []
edit = listed(RUNS)


# Data and storage
# --------------------------------------------------------------------------------------------------


@edit(ERROR, "", "the published size of the file", "pytorch")
def sizes_without_headers(copy: ForgedCopy) -> None:
    """data.json has the sizes of the pixels, without the 16 bytes of the files' headers."""
    for file in copy.data["files"]:
        if "images" in file["name"]:
            file["size_bytes"] -= 16


@edit(
    EDITED,
    "every epoch looks as if it had read a cold disk",
    "the disk was not read after the first epoch",
    "tensorflow",
)
def cache_that_stayed_cold(copy: ForgedCopy) -> None:
    """The page cache holds nothing of the data, from the first reading to the last."""
    copy.readings.loc[copy.at("page-cache", "resident"), "value"] = 0.0


@edit(
    EDITED,
    "a run that hardly needs its disk",
    "the run itself read ten times as many bytes from storage as the whole disk",
    "chainer",
)
def disk_reads_a_tenth(copy: ForgedCopy) -> None:
    """The disk's bytes and operations of reading grow by a tenth of what they did."""
    for channel in ("read_bytes", "read_operations"):
        scale_growth(copy, "disk", channel, 0.1)


# Request and log
# --------------------------------------------------------------------------------------------------


@edit(EDITED, "a rate that is not a reference point", "the losses: an audit", "chainer")
def another_rate_throughout(copy: ForgedCopy) -> None:
    """The base learning rate is said to be a quarter higher: in command, request, log, and in the
    rates logged of every epoch."""
    old = copy.request["optimizer"]["base_learning_rate"]
    copy.request["optimizer"]["base_learning_rate"] = old * 1.25
    copy.option("--learning-rate", str(old * 1.25))
    copy.event("opt_base_learning_rate")["value"] = old * 1.25
    for event in copy.all("learning_rates"):
        event["value"] = [rate * 1.25 for rate in event["value"]]


@edit(EDITED, "seeds 1, 2, 3 that nobody chose", "the losses: an audit", "tensorflow")
def another_seed_throughout(copy: ForgedCopy) -> None:
    """The run of seed 1 is said to be of seed 4, in command, request and log."""
    copy.request["seed"] = 4
    copy.option("--seed", "4")
    copy.event("seed")["value"] = 4


@edit(ERROR, "", "run.json's start, the run's id", "pytorch")
def summer_time_in_the_log(copy: ForgedCopy) -> None:
    """All times of day in the log are an hour ahead."""
    for event in copy.events:
        event["time_ms"] += 3_600_000


@edit(ERROR, "", "the number of evaluated samples", "tensorflow")
def last_batch_dropped(copy: ForgedCopy) -> None:
    """Accuracies are of 9,984 samples: an evaluation that leaves out the last, smaller batch."""
    for event in copy.all("eval_accuracy"):
        event["metadata"]["correct"] = round(event["value"] * 9984)
        event["value"] = event["metadata"]["correct"] / 9984


# Accuracies and losses
# ----------------------------------------------------------------------------------------------


@edit(EDITED, "a model that learned at once", "a replay from a drawn state", "pytorch")
def accuracies_exchanged(copy: ForgedCopy) -> None:
    """The accuracies after the first and the fourth epoch are exchanged."""
    first, fourth = (
        event["metadata"]["correct"]
        for event in copy.all("eval_accuracy")
        if event["metadata"]["epoch_num"] in (1, 4)
    )
    set_accuracy(copy, 1, fourth)
    set_accuracy(copy, 4, first)


@edit(
    EDITED,
    "time to target, two epochs",
    "a replay from a drawn state; the other runs' epochs",
    "tensorflow",
)
def target_two_epochs_early(copy: ForgedCopy) -> None:
    """The run ends two epochs earlier, with an accuracy that reaches the target there."""
    last = max(event["metadata"]["epoch_num"] for event in copy.all("eval_accuracy"))
    set_accuracy(copy, last - 2, 9901)
    end_after(copy, last - 2)
    restate(copy)


@edit(
    EDITED,
    "a training that looks calmer",
    "a replay from a drawn state: losses of an epoch in another order belong to other mini-batches",
    "pytorch",
)
def losses_of_an_epoch_in_another_order(copy: ForgedCopy) -> None:
    """The losses of the fifth epoch are shuffled."""
    mask = of_epoch(copy, 5)
    copy.steps.loc[mask, "loss"] = np.random.default_rng(5).permutation(
        copy.steps.loc[mask, "loss"].to_numpy()
    )


@edit(
    FABRICATED,
    "a run that nobody trained beyond its first epoch",
    "losses of one epoch are those of another, each times one factor",
    "chainer",
)
def later_losses_from_the_second_epoch(copy: ForgedCopy) -> None:
    """From the third epoch on, losses are those of the second, each epoch's in another order and
    times a factor, as float32."""
    source = copy.steps.loc[of_epoch(copy, 2), "loss"].to_numpy()
    generator = np.random.default_rng(7)
    for epoch in range(3, int(copy.steps["epoch"].max()) + 1):
        mask = of_epoch(copy, epoch)
        factor = copy.steps.loc[mask, "loss"].mean() / source.mean()
        copy.steps.loc[mask, "loss"] = (
            generator.permutation(source * factor).astype(np.float32).astype(float)[: mask.sum()]
        )


# Step times
# --------------------------------------------------------------------------------------------------


@edit(
    EDITED,
    "the cold first epoch, a tenth of its time",
    "the nanoseconds of the first epoch's times are those of the second's",
    "pytorch",
)
def first_epoch_from_the_second(copy: ForgedCopy) -> None:
    """The first epoch's fetch, copy and compute times are the second's, each column shuffled by
    itself."""
    new, generator = times(copy), np.random.default_rng(11)
    source = new[of_epoch(copy, 2)]
    new[of_epoch(copy, 1)] = np.stack(
        [generator.permutation(source[:, column]) for column in range(4)], axis=1
    )
    retimed(copy, new)


@edit(
    EDITED,
    "a disturbed half of an epoch",
    "the nanoseconds of its second half are those of its first",
    "chainer",
)
def second_halves_from_the_first(copy: ForgedCopy) -> None:
    """In every epoch, the compute times of the second half are those of the first half, in another
    order."""
    new, generator = times(copy), np.random.default_rng(13)
    for epoch in copy.steps["epoch"].unique():
        rows = np.flatnonzero(of_epoch(copy, epoch))
        half = len(rows) // 2
        new[rows[half : 2 * half], 2] = generator.permutation(new[rows[:half], 2])
    retimed(copy, new)


@edit(EDITED, "a fiftieth of the time", "nothing: a calmer machine; a witness", "tensorflow")
def slowest_steps_like_the_median(copy: ForgedCopy) -> None:
    """Steps that compute for twice the median or longer take what some other step took, and half a
    percent more or less."""
    generator, compute = np.random.default_rng(17), copy.steps["compute_s"].to_numpy()
    slow = compute > 2 * np.median(compute)
    new = np.where(
        slow,
        generator.choice(compute[~slow], len(compute))
        * generator.uniform(0.995, 1.005, len(compute)),
        compute,
    )
    remove_time(copy, "compute_s", np.round((compute - new) / NS) * NS)
    restate(copy)


@edit(
    EDITED,
    "three tenths of a second an epoch",
    "an evaluation is a forward pass of 10,000 samples; nothing below the rule's limit",
    "pytorch",
)
def evaluations_a_fifth(copy: ForgedCopy) -> None:
    """Evaluations take a fifth of their time; later records move."""
    starts = {
        event["metadata"]["epoch_num"]: event["metadata"]["mono_ns"]
        for event in copy.all("eval_start")
    }
    ends = {
        event["metadata"]["epoch_num"]: event["metadata"]["mono_ns"]
        for event in copy.all("eval_accuracy")
    }
    take_out(
        copy,
        [
            (int(start + (ends[epoch] - start) * 0.2), ends[epoch])
            for epoch, start in starts.items()
        ],
    )
    copy.steps[["fetch_stall_s", "copy_s", "compute_s"]] = (
        copy.steps[["fetch_stall_s", "copy_s", "compute_s"]] / NS
    ).round() * NS
    restate(copy)


@edit(ERROR, "", "the epochs' lengths in the log", "chainer")
def fetches_in_milliseconds(copy: ForgedCopy) -> None:
    """Fetch stalls are a thousandth: milliseconds called seconds were divided once more."""
    copy.steps["fetch_stall_s"] /= 1000


# All times
# --------------------------------------------------------------------------------------------------


@edit(
    EDITED,
    "a tenth of the time",
    "the load meter's CPU seconds: more than cores and time allow, and than the other meters say",
    "pytorch",
)
def all_times_shorter_but_the_load(copy: ForgedCopy) -> None:
    """All times are shorter by a tenth, CPU time of two meters too; the load meter is forgotten."""
    scale(copy, 0.9)
    _whole_parts(copy)


@edit(EDITED, "a tenth of the time", "nothing; a witness", "chainer")
def all_times_shorter_with_the_load(copy: ForgedCopy) -> None:
    """All times are shorter by a tenth, and every meter's CPU time with them."""
    scale(copy, 0.9)
    for channel in ("busy", "own", "cpu.some", "io.full", "io.some"):
        scale_growth(copy, "load", channel, 0.9, whole=False)
    _whole_parts(copy)


# Counters and readings
# ----------------------------------------------------------------------------------------------


@edit(
    EDITED,
    "less CPU time",
    "steps compute all the time on one thread; the machine was busy with nobody",
    "tensorflow",
)
def cpu_time_seven_tenths(copy: ForgedCopy) -> None:
    """The implementation's CPU time is seven tenths in three meters."""
    scale_growth(copy, "cpu", "process_tree", 0.7, whole=False)
    scale_growth(copy, "load", "own", 0.7, whole=False)
    scale_growth(copy, "counters", "task_clock.count", 0.7)


@edit(ERROR, "", "used memory falls while the process grows", "chainer")
def used_and_available_exchanged(copy: ForgedCopy) -> None:
    """The channels of used and available memory are exchanged."""
    names = copy.readings["channel"].where(copy.readings["source"] == "memory")
    copy.readings.loc[names == "used", "channel"] = "available"
    copy.readings.loc[names == "available", "channel"] = "used"
    copy.readings = copy.readings.sort_values(
        ["t_ns", "source", "channel"], kind="stable"
    ).reset_index(drop=True)


@edit(
    EDITED,
    "nothing; a story about the load",
    "the load meter's busy time, second by second",
    "pytorch",
)
def utilisation_in_another_order(copy: ForgedCopy) -> None:
    """The cores' utilisation is shuffled in time, all channels in the same order."""
    order = np.random.default_rng(19).permutation(int(copy.at("cpu", "utilisation.total").sum()))
    for channel in ("utilisation.core0", "utilisation.core1", "utilisation.total"):
        mask = copy.at("cpu", channel)
        copy.readings.loc[mask, "value"] = copy.readings.loc[mask, "value"].to_numpy()[order]


@edit(
    EDITED,
    "a network that fits in less memory",
    "used memory grew by what the process had",
    "pytorch",
)
def memory_a_third(copy: ForgedCopy) -> None:
    """The process's memory is a third of what it was, in the meter and in the log's peak."""
    for channel in ("process_tree_rss", "largest_process_peak_rss"):
        mask = copy.at("memory", channel)
        copy.readings.loc[mask, "value"] = (copy.readings.loc[mask, "value"] // 3 // 4096) * 4096
    for event in copy.all("peak_rss_of_ranks"):
        event["value"] = [int(peak // 3 // 4096 * 4096) for peak in event["value"]]


# The machine and the record
# -----------------------------------------------------------------------------------------


@edit(EDITED, "half the foreign load", "nothing: two idle cores leave the same", "tensorflow")
def two_cores_called_four(copy: ForgedCopy) -> None:
    """The machine has four cores, two of them idle."""
    copy.system["cpu_cores"] = 4
    copy.system["power_settings"]["cores_online"] = [0, 1, 2, 3]
    mask = copy.at("cpu", "utilisation.total")
    copy.readings.loc[mask, "value"] /= 2
    idle = [
        copy.readings[copy.at("cpu", "utilisation.core1")].assign(
            channel=f"utilisation.core{core}", value=0.0
        )
        for core in (2, 3)
    ]
    copy.readings = (
        pd.concat([copy.readings, *idle]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    restate(copy)


@edit(ERROR, "", "NumPy 2.4 needs Python 3.11", "pytorch")
def another_interpreter(copy: ForgedCopy) -> None:
    """The Python of the system is described, not the environment's."""
    copy.system["python"] = "3.9.2"


@edit(ERROR, "", "the log, the run's id, readings, request", "pytorch")
def record_of_another_framework(copy: ForgedCopy) -> None:
    """run.json is that of the same seed's run in TensorFlow."""
    other = copy.path.parent / "others" / "tensorflow" / "run.json"
    copy.run = json.loads(other.read_text("utf-8"))


@edit(EDITED, "steadier meters", "the times of the readings", "tensorflow")
def meters_steadier_than_their_readings(copy: ForgedCopy) -> None:
    """Every meter's record halves its jitter and states its period as its longest gap."""
    for meter in copy.run["meters"]:
        if meter["jitter_s"] is not None:
            meter["jitter_s"] /= 2
            meter["longest_gap_s"] = meter["achieved_period_s"]


def _whole_parts(copy: ForgedCopy) -> None:
    """Times of steps in whole nanoseconds again, after a scaling."""
    columns = ["fetch_stall_s", "copy_s", "compute_s", "communication_s"]
    copy.steps[columns] = np.floor(copy.steps[columns] / NS) * NS
    restate(copy)
