"""Lies about the times of single steps."""

from pathlib import Path

import numpy as np
import pandas as pd

from proofs.outsider.edits import PARTS
from proofs.outsider.second_list.edits import remove_time, replace_times
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "step times"


@lie(
    SUBJECT,
    EDITED,
    "the slowest steps, 10 % of the time",
    "the spread of the steps has an edge; CPU seconds",
)
def slow_steps_clipped(copy: ForgedCopy) -> None:
    """Steps that compute for longer than nine in ten do, take 97 to 100 % of that limit; the time
    goes out of everything."""
    times = copy.steps["compute_s"].to_numpy()
    limit = np.quantile(times, 0.9)
    new = np.where(
        times > limit, limit * np.random.default_rng(1).uniform(0.97, 1.0, len(times)), times
    )
    remove_time(copy, "compute_s", times - new)


@lie(SUBJECT, EDITED, "the slow first step", NOTHING)
def first_step_like_the_others(copy: ForgedCopy) -> None:
    """The first step takes as long as the tenth."""
    saved = np.zeros(len(copy.steps))
    saved[0] = copy.steps["compute_s"].iloc[0] - copy.steps["compute_s"].iloc[9]
    remove_time(copy, "compute_s", saved)


@lie(
    SUBJECT,
    EDITED,
    "no waiting for data",
    "fetching 128 samples takes longer than a microsecond; its scatter",
)
def fetching_called_computing(copy: ForgedCopy) -> None:
    """The wait for data is counted as computing, but for one to two microseconds."""
    left = np.random.default_rng(2).uniform(1e-6, 2e-6, len(copy.steps))
    copy.steps["compute_s"] += copy.steps["fetch_stall_s"] - left
    copy.steps["fetch_stall_s"] = left


@lie(SUBJECT, EDITED, "a calm machine", "scatter: a normal one has no slow steps")
def normal_times(copy: ForgedCopy) -> None:
    """Computing and fetching of every step are drawn from normal distributions of a tenth of the
    mean; as long as before, all in all."""
    generator = np.random.default_rng(3)
    parts = copy.steps[PARTS].to_numpy().copy()
    for number in range(3):
        parts[:, number] = np.abs(
            generator.normal(parts[:, number].mean(), parts[:, number].mean() / 10, len(parts))
        )
    replace_times(copy, parts)


@lie(SUBJECT, ERROR, "nothing; a clock of milliseconds", "times are of a clock of nanoseconds")
def a_clock_of_milliseconds(copy: ForgedCopy) -> None:
    """Parts of steps in whole milliseconds."""
    copy.steps[PARTS] = copy.steps[PARTS].round(3)


@lie(SUBJECT, EDITED, "a disturbance of one epoch", "the epoch rises and falls with another one")
def disturbed_epoch_replaced(copy: ForgedCopy) -> None:
    """The slowest epoch gets the times of the fastest, each step 20 % more or less."""
    totals = copy.steps.groupby("epoch")[PARTS].sum().sum(axis=1)
    slow, fast = (
        (copy.steps["epoch"] == totals.idxmax()).to_numpy(),
        (copy.steps["epoch"] == totals.idxmin()).to_numpy(),
    )
    parts = copy.steps[PARTS].to_numpy().copy()
    parts[slow] = parts[fast] * np.random.default_rng(4).uniform(0.8, 1.2, (fast.sum(), 1))
    replace_times(copy, parts)


@lie(
    SUBJECT,
    EDITED,
    "the best epochs of two runs",
    "near copies, if the other run is submitted too; " + NOTHING,
)
def best_epochs_of_two_runs(copy: ForgedCopy) -> None:
    """Every epoch that was faster in another run gets that run's times."""
    other = ForgedCopy(Path(copy.path).parent / "other").steps
    parts = copy.steps[PARTS].to_numpy().copy()
    for epoch in sorted(set(copy.steps["epoch"]) & set(other["epoch"])):
        mine, theirs = (
            (copy.steps["epoch"] == epoch).to_numpy(),
            (other["epoch"] == epoch).to_numpy(),
        )
        if mine.sum() == theirs.sum() and other[PARTS].to_numpy()[theirs].sum() < parts[mine].sum():
            parts[mine] = other[PARTS].to_numpy()[theirs]
    replace_times(copy, parts)


@lie(SUBJECT, ERROR, "nothing; milliseconds for seconds", "steps overlap")
def one_epoch_in_milliseconds(copy: ForgedCopy) -> None:
    """Computing in epoch 2 is in milliseconds."""
    copy.steps.loc[copy.steps["epoch"] == 2, "compute_s"] *= 1000


@lie(SUBJECT, ERROR, "nothing", "one rank has nobody to exchange with")
def communication_of_one_rank(copy: ForgedCopy) -> None:
    """A hundredth of the time of a single rank is communication."""
    copy.steps["communication_s"] = copy.steps["compute_s"] * 0.01
    copy.steps["compute_s"] *= 0.99


@lie(SUBJECT, ERROR, "nothing", "the log has no epoch 0")
def an_epoch_to_warm_up(copy: ForgedCopy) -> None:
    """Ten steps of an epoch 0 before the first."""
    rows = copy.steps.iloc[:10].copy()
    rows["epoch"] = 0
    rows["start_ns"] -= 5_000_000_000
    copy.steps = pd.concat([rows, copy.steps], ignore_index=True)


@lie(SUBJECT, FABRICATED, "any time one likes", NOTHING + " but the CPU seconds, which are left")
def invented_times_of_eight_tenths(copy: ForgedCopy) -> None:
    """All times are drawn: log-normal with a memory, a slow step in two hundred; eight tenths of
    the true mean; readings follow."""
    generator = np.random.default_rng(6)
    parts = copy.steps[PARTS].to_numpy().copy()
    for number in range(3):
        memory = np.zeros(len(parts))
        noise = generator.normal(0, 0.05, len(parts))
        for step in range(1, len(parts)):
            memory[step] = 0.9 * memory[step - 1] + noise[step]
        factor = np.exp(memory + generator.normal(0, 0.08, len(parts)))
        factor *= np.where(
            generator.random(len(parts)) < 0.005, generator.uniform(2, 5, len(parts)), 1
        )
        parts[:, number] = parts[:, number].mean() * 0.8 * factor / factor.mean()
    replace_times(copy, parts)


@lie(SUBJECT, EDITED, "a tenth of the computing", "CPU seconds per second")
def a_tenth_off_computing(copy: ForgedCopy) -> None:
    """Computing takes nine tenths in every step; time goes out of log and readings, CPU time as
    well."""
    remove_time(copy, "compute_s", copy.steps["compute_s"].to_numpy() * 0.1)


@lie(SUBJECT, EDITED, "a calmer course", "neighbours' mean: the scatter has a memory")
def neighbours_averaged(copy: ForgedCopy) -> None:
    """Computing of every step is the mean of five neighbours'."""
    parts = copy.steps[PARTS].to_numpy().copy()
    parts[:, 2] = np.convolve(np.pad(parts[:, 2], 2, mode="edge"), np.ones(5) / 5, mode="valid")
    replace_times(copy, parts)


@lie(
    SUBJECT,
    EDITED,
    "no overhead",
    "a step never begins in the nanosecond in which the last one ends",
)
def overhead_counted_as_fetching(copy: ForgedCopy) -> None:
    """Between two steps of an epoch no nanosecond passes: the rest is counted as fetching."""
    ends = copy.steps["start_ns"].to_numpy(np.int64) + (
        copy.steps[PARTS].sum(axis=1).to_numpy() * 1e9
    ).astype(np.int64)
    starts = copy.steps["start_ns"].to_numpy(np.int64)
    same = np.diff(copy.steps["epoch"].to_numpy()) == 0
    gap = np.concatenate([[0], np.where(same, starts[1:] - ends[:-1], 0)])
    copy.steps["start_ns"] = starts - gap
    copy.steps["fetch_stall_s"] += gap / 1e9
