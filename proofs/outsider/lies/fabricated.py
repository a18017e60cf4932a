"""Runs that nobody made: everything from formulas and random numbers, with growing care.

A sample gives only the scaffold (names of files and meters); losses, times and readings are
invented.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from proofs.outsider.edits import (
    NOTHING,
    PARTS,
    Lie,
    add_channel,
    as_machine,
    change_values,
    epoch_steps,
    find,
    fit_steps,
    in_every_log,
    log_value,
    meter,
    mono,
    of_epoch,
    rebuild,
    register,
    rows,
    scale_power,
    shift,
    state,
    wobble,
    write_json,
)

LIES: list[Lie] = []
error, _, fabricated = register(LIES)


@error(
    "A rehearsal with placeholders for times and losses was handed in", "losses that do not differ"
)
def _(b):
    b.steps[PARTS] = 0.001
    b.steps["loss"] = 1.0


@error(
    "A rehearsal's bundle was handed in, which says itself that its device is made up",
    "device_evidence in run.json against a real device",
)
def _(b):
    b.run.update(device_evidence="dry run: nothing was trained", command=["suite", "rehearse"])


def noisy_power(b, seed: int, watts: float, spread: float, idle: float) -> None:
    rng = np.random.default_rng(seed)
    scale_power(b, lambda w: np.round(watts + rng.normal(0, spread, len(w)), 3))
    scale_power(
        b, lambda w: np.round(idle + rng.normal(0, spread / 2, len(w)), 3), run=False, idle=True
    )


def drift(rng, n: int, size: float, memory: float = 0.98) -> np.ndarray:
    """Slow wandering around one, as a machine's speed has it."""
    noise = rng.normal(0, 1, n)
    return np.exp(
        size
        * pd.Series(noise).ewm(alpha=1 - memory).mean().to_numpy()
        * np.sqrt((1 + memory) / (1 - memory))
    )


def new_steps(b, lengths, split=(0.1, 0.05, 0.83, 0.0, 0.02)) -> None:
    """Give the steps these lengths in seconds and move log and readings with them."""
    mean, n = float(np.mean(lengths)), epoch_steps(b)
    of = [lengths[k : k + n] for k in range(0, len(lengths), n)]
    rebuild(
        b,
        parts=tuple(mean * share for share in split),
        epoch_factor=lambda epoch: float(np.mean(of[epoch - 1])) / mean,
    )
    for epoch, one in b.steps.groupby("epoch"):
        weights = of[epoch - 1] * one["samples"].to_numpy() / 128
        room = mono(of_epoch(b.events, "epoch_stop", epoch)) - mono(
            of_epoch(b.events, "epoch_start", epoch)
        )
        ns = np.round(weights / weights.sum() * room).astype("int64") - 1
        b.steps.loc[one.index, "start_ns"] = one["start_ns"].iloc[0] + np.concatenate(
            [[0], np.cumsum(ns)[:-1]]
        )
        for part, share in zip(PARTS, split, strict=False):
            b.steps.loc[one.index, part] = ns / 1e9 * share


@fabricated(
    "Careless: the same step time everywhere, a loss that halves each epoch, round accuracies",
    "a result without a run",
    "losses that do not differ within an epoch",
)
def _(b):
    rebuild(b, correct=[9700, 9850, 9900], parts=(0.001, 0.001, 0.007, 0.0, 0.001))
    b.steps["loss"] = 2.3 / 2.0 ** b.steps["epoch"]


@fabricated(
    "Losses from a formula without noise, step times from a formula, readings constant",
    "a result without a run",
    "losses and times of mini-batches without any chance",
)
def _(b):
    rebuild(b, correct=[9690, 9850, 9902], parts=(0.001, 0.001, 0.007, 0.0, 0.001))


@fabricated(
    "Losses from a formula with equal noise from the first step to the last",
    "a result without a run",
    "spread of the losses, which falls with the loss in true runs",
)
def _(b):
    rng = np.random.default_rng(1)
    rebuild(
        b,
        correct=[9688, 9849, 9903],
        noise=0.05,
        losses=lambda seen: np.abs(0.1 + 2.2 / (1 + seen / 9000) + rng.normal(0, 0.03, len(seen))),
    )


@fabricated(
    "Step times drawn from a normal distribution, each on its own",
    "a result without a run",
    NOTHING + "; no step is slower than its neighbours for a while",
)
def _(b):
    rebuild(b, correct=[9681, 9846, 9907], noise=0.04, seed=2)
    noisy_power(b, 2, 6.3, 0.2, 3.1)
    wobble(b, 2)


@fabricated(
    "Step times drawn evenly between two bounds",
    "a result without a run",
    "distribution of the step times: no long tail",
)
def _(b):
    rng = np.random.default_rng(3)
    new_steps(b, rng.uniform(0.009, 0.011, 3 * epoch_steps(b)))
    b.steps["loss"] *= np.exp(rng.normal(0, 0.1, len(b.steps)) * (b.steps["step"] > 3))


@fabricated(
    "Step times with a long tail and slow wandering, power that follows them, losses with falling"
    " noise",
    "a result without a run",
)
def _(b):
    rng = np.random.default_rng(4)
    n = 3 * epoch_steps(b)
    lengths = 0.0102 * drift(rng, n, 0.03) * np.exp(rng.gamma(1.2, 0.02, n))
    new_steps(b, lengths)
    b.steps["loss"] *= np.exp(rng.normal(0, 0.25, len(b.steps)) * (b.steps["step"] > 3))
    noisy_power(b, 4, 6.3, 0.2, 3.1)
    wobble(b, 4)


@fabricated(
    "Numbers were typed with three digits: step times in whole tenths of a millisecond",
    "a result without a run",
    "step times and starts that all end in zeros",
)
def _(b):
    rng = np.random.default_rng(5)
    new_steps(b, np.round(rng.normal(0.0100, 0.0003, 3 * epoch_steps(b)), 4))
    b.steps[PARTS] = b.steps[PARTS].round(4)


@fabricated(
    "Only the log was invented: steps and readings were made to fit its epochs",
    "a result without a run",
    "epochs that all last a whole number of milliseconds",
)
def _(b):
    rebuild(b, correct=[9702, 9833, 9901], parts=(0.001, 0.001, 0.0075, 0.0, 0.0005), eval_s=0.12)
    in_every_log(
        b,
        lambda events: [
            e["metadata"].update(mono_ns=mono(e) // 1_000_000 * 1_000_000) for e in events
        ],
    )
    for e in find(b.events, "epoch_start"):
        which = b.steps["epoch"] == e["metadata"]["epoch_num"]
        b.steps.loc[which, "start_ns"] += mono(e) - b.steps.loc[which, "start_ns"].iloc[0]
    fit_steps(b, fill=0.95)


@fabricated(
    "Power is the utilisation times a constant, to the last digit",
    "no meter needed",
    "power that follows utilisation without any difference",
)
def _(b):
    rng = np.random.default_rng(6)
    change_values(b, "cpu", "utilisation", lambda v: np.clip(v + rng.normal(30, 2, len(v)), 0, 100))
    use = b.readings[rows(b, "cpu", "utilisation.total")]
    which = rows(b, "um25c")
    b.readings.loc[which, "value"] = 3 + 0.04 * np.interp(
        b.readings.loc[which, "t_ns"], use["t_ns"], use["value"]
    )


@fabricated(
    "Power noise has no memory: each reading differs from the last as much as from any other",
    "no meter needed",
)
def _(b):
    noisy_power(b, 7, 5.9, 0.15, 3.0)
    wobble(b, 7)


@fabricated(
    "Counters were computed from the number of steps: the same instructions for each",
    "a result without a run",
    "counters that are multiples of one number",
)
def _(b):
    steps = b.steps["start_ns"].to_numpy()
    for event, each in {
        "instructions.count": 71_000_000,
        "cycles.count": 35_500_000,
        "branches.count": 7_100_000,
    }.items():
        which = rows(b, "counters", event)
        b.readings.loc[which, "value"] = np.searchsorted(
            steps, b.readings.loc[which, "t_ns"]
        ) * float(each)


@fabricated(
    "Counters were invented with noise, but in ratios that hold to a thousandth at every moment",
    "a result without a run",
    NOTHING + "; a ratio of two counters that never wanders",
)
def _(b):
    rng = np.random.default_rng(8)

    def uneven(v):
        return np.round(
            np.concatenate(
                [[v[0]], v[0] + np.cumsum(np.diff(v) * rng.uniform(0.7, 1.3, len(v) - 1))]
            )
        )

    state_of = rng.bit_generator.state
    for event in (
        "cycles",
        "instructions",
        "branches",
        "l1d_access",
        "l1d_refill",
        "branch_mispredicts",
    ):
        rng.bit_generator.state = state_of
        change_values(b, "counters", f"{event}.count", uneven)


@fabricated(
    "A small board's run was invented, with its description copied from the vendor's page",
    "an entry for a board that nobody has",
    "memory and kernel as a vendor writes them, not as a kernel reports them",
)
def _(b):
    as_machine(b, "raspberry-pi-5")
    b.system.update(
        memory_size_bytes=8_000_000_000, kernel="Linux 6.12", cpu_model="Broadcom BCM2712"
    )
    rebuild(
        b,
        correct=[9677, 9861, 9904],
        parts=(0.0006, 0.0002, 0.0085, 0.0, 0.0002),
        noise=0.05,
        seed=9,
    )
    noisy_power(b, 9, 6.8, 0.25, 2.9)


@fabricated(
    "A small board's run was invented with care: description, losses, wandering times, power with"
    " memory",
    "an entry for a board that nobody has",
)
def _(b):
    rng = np.random.default_rng(10)
    as_machine(b, "raspberry-pi-5")
    n = 3 * epoch_steps(b)
    lengths = 0.0094 * drift(rng, n, 0.02) * np.exp(rng.gamma(0.8, 0.015, n))
    new_steps(b, lengths, split=(0.05, 0.02, 0.91, 0.0, 0.02))
    b.steps["loss"] *= np.exp(rng.normal(0, 0.2, len(b.steps)) * (b.steps["step"] > 3))
    scale_power(b, lambda w: np.round(6.9 * drift(rng, len(w), 0.01, 0.9), 3))
    scale_power(b, lambda w: np.round(2.8 * drift(rng, len(w), 0.01, 0.9), 3), run=False, idle=True)
    change_values(
        b,
        "cpu",
        "utilisation",
        lambda v: np.clip(np.round(93 + rng.normal(0, 3, len(v)), 2), 0, 100),
    )
    change_values(
        b,
        "memory",
        "process_tree_rss",
        lambda v: np.round((3.1e8 + np.cumsum(rng.random(len(v)) * 4e4)) / 4096) * 4096,
    )
    wobble(b, 10)


@fabricated(
    "An accelerator board's run was invented above what its silicon can do",
    "the fastest board",
    "arithmetic per second against the device's peak",
)
def _(b):
    as_machine(b, "nano")
    rebuild(
        b,
        correct=[9677, 9861, 9904],
        parts=(0.000001, 0.000001, 0.000004, 0.0, 0.000001),
        eval_s=0.002,
        noise=0.03,
        seed=11,
    )


@fabricated(
    "A true run's steps were drawn anew in blocks of twenty: another seed without another run",
    "a run for nothing",
    NOTHING + "; step times of the new run are found in the old one, twenty in a row",
    needs="real",
)
def _(b):
    rng = np.random.default_rng(12)
    state(b, "seed", "seed", 2)
    b.run["command"][b.run["command"].index("--seed") + 1] = "2"
    for _, one in b.steps.groupby("epoch"):
        n = len(one)
        starts = rng.integers(0, n - 20, n // 20 + 1)
        order = np.concatenate([np.arange(s, s + 20) for s in starts])[:n]
        for part in PARTS:
            b.steps.loc[one.index, part] = one[part].to_numpy()[order]
    fit_steps(b)
    b.steps["loss"] *= np.exp(rng.normal(0, 0.2, len(b.steps)) * (b.steps["step"] > 5))


@fabricated(
    "A true run was made into another seed's: losses drawn anew, all times moved by an hour and a"
    " thousandth",
    "a run for nothing",
    NOTHING + "; its steps are slow where the true run's are",
    needs="real",
)
def _(b):
    rng = np.random.default_rng(13)
    state(b, "seed", "seed", 3)
    b.run["command"][b.run["command"].index("--seed") + 1] = "3"
    b.run["run_id"] = b.run["run_id"][:-6] + "c0ffee"
    b.steps["loss"] *= np.exp(rng.normal(0, 0.3, len(b.steps)) * (b.steps["step"] > 5))
    for e in find(b.events, "eval_accuracy")[:-1]:
        e["metadata"]["correct"] += int(rng.integers(-6, 3))
        e["value"] = e["metadata"]["correct"] / 10000
    shift(b, 3600.0)


@fabricated(
    "A true run's losses were kept, its times invented for a board twice as fast",
    "the fastest board",
    NOTHING + "; processor time and task time, if they were not invented too",
    needs="real",
)
def _(b):
    loss = b.steps["loss"].to_numpy()
    rebuild(b, parts=(0.0001, 0.00002, 0.0044, 0.0, 0.00001), noise=0.05, seed=14, eval_s=0.15)
    b.steps["loss"] = loss
    change_values(b, "cpu", "process_tree", lambda v: np.round(v, 2))


@fabricated(
    "Invented times have more digits than any clock gives",
    "a result without a run",
    "step times finer than the clock that measured them",
)
def _(b):
    rebuild(b, noise=0.03, seed=15)
    b.steps[PARTS] += np.random.default_rng(15).random((len(b.steps), 4)) * 1e-12


@fabricated(
    "Accuracies were invented as a curve that flattens evenly, and the loss as its mirror",
    "a result without a run",
    "losses that are a function of the accuracy",
)
def _(b):
    correct = [round(10000 * (0.9925 - 0.06 * 0.45**k)) for k in range(1, 7)]
    correct = [c for c in correct if c < 9900] + [9901]
    rebuild(b, correct=correct, noise=0.01, seed=16)


@fabricated(
    "The run was invented in ten epochs that all last equally long, to the microsecond",
    "a result without a run",
    "epochs that do not differ on a real machine",
)
def _(b):
    counts = [9402, 9655, 9731, 9799, 9832, 9850, 9871, 9883, 9895, 9906]
    rebuild(b, correct=counts)


@fabricated(
    "A run of two nodes was invented from one: the second node wanders by itself",
    "a speed-up that nobody measured",
    needs="two_ranks",
)
def _(b):
    rng = np.random.default_rng(17)
    rebuild(b, parts=(0.001, 0.0005, 0.0082, 0.0008, 0.0003), noise=0.03, seed=17)
    one = b.steps["rank"] == 1
    less = rng.gamma(2.0, 0.0001, int(one.sum()))
    b.steps.loc[one, "compute_s"] -= less
    b.steps.loc[one, "communication_s"] += less
    path = b.path / "readings.node1.parquet"
    table = pd.read_parquet(path)
    watts = table["unit"] == "W"
    table.loc[watts, "value"] += rng.normal(0.2, 0.1, int(watts.sum()))
    table.to_parquet(path, index=False)


@fabricated(
    "Temperatures were invented as an even rise that never settles",
    "cooling that was not there",
    "temperature against power, which does not change",
)
def _(b):
    rebuild(b, noise=0.03, seed=18)
    add_channel(b, "temperature", "cpu-thermal", "°C", lambda s: 38 + 0.9 * s, period=2.0)


@fabricated(
    "The software was invented along with the run: a version that was never published",
    "an entry for software that does not exist",
)
def _(b):
    b.system["framework_version"] = "7.3.1"
    log_value(b, "framework_version", "7.3.1")
    rebuild(b, noise=0.03, seed=19)


@fabricated(
    "Every meter is said to have read for free, without a gap or failure, whatever the load",
    "readings without a meter",
    "costs of reading of nothing against tens of thousands of readings",
    needs="real",
)
def _(b):
    for m in b.run["meters"]:
        m.update(
            cost_s=0.0, failures=0, achieved_period_s=m["period_s"], longest_gap_s=m["period_s"]
        )
    rebuild(b, noise=0.03, seed=20)


@fabricated(
    "Three hours of training on a tiny board were invented within a minute, the clocks counted up",
    "a result without a run",
    "modification times of the files; " + NOTHING,
)
def _(b):
    rebuild(
        b,
        correct=[9680, 9851, 9903],
        parts=(0.6, 0.05, 6.3, 0.0, 0.05),
        eval_s=95.0,
        noise=0.05,
        seed=21,
    )


@fabricated(
    "A run was invented for data that were never there: the folder is empty of reading, memory"
    " never grows",
    "a result without a run",
    "memory of the program against the data and the model that it holds",
)
def _(b):
    rebuild(b, noise=0.03, seed=22)
    change_values(b, "memory", "process_tree_rss", lambda v: v * 0 + 8_192_000)
    change_values(b, "disk", "read_bytes", lambda v: v * 0)


@fabricated(
    "The power rule was invented too: a sensor of the author's own making",
    "no meter needed",
    "rule in power.json against the rulebook's table",
)
def _(b):
    rule = {
        "name": "lab sensor",
        "sources": ["um25c"],
        "channels": ["power"],
        "coverage": "board",
        "tier": "analyser",
        "unit": "W",
        "plausible_w": [0.0, 50.0],
        "reference": "own",
    }
    write_json(b, "power.json", {"schema": 2, "rules": [rule]})
    meter(b, "um25c")["period_s"] = 0.2
    noisy_power(b, 23, 4.1, 0.1, 3.0)
