"""Lies in a submission of several runs: copies, choices, overlaps, declarations. Each gets a
Submission (proofs/outsider/edits.py)."""

from __future__ import annotations

import json
import shutil

import numpy as np

from proofs.outsider.edits import (
    NOTHING,
    PARTS,
    Lie,
    correct_counts,
    find,
    fit_steps,
    in_every_log,
    known_power_rules,
    mono,
    rebuild,
    register,
    rows,
    scale_power,
    set_correct,
    shift,
    shift_wall,
    state,
    warp,
    window,
    wobble,
)

LIES: list[Lie] = []
error, edited, fabricated = register(LIES, needs="submission")


def as_other(b, seed: int, later: float = 0.0) -> None:
    """Another seed, another id, another time of day."""
    state(b, "seed", "seed", seed)
    b.run["run_id"] = b.run["run_id"][:-6] + f"{seed * 7919 % 16**6:06x}"
    shift(b, later)


def jitter(b, seed: int, size: float = 0.01) -> None:
    """Move every step a little within its own time, and the loss with it."""
    rng = np.random.default_rng(seed)
    for part in PARTS:
        b.steps[part] *= 1 - size * rng.random(len(b.steps))
    b.steps["start_ns"] += (
        b.steps["fetch_stall_s"] * 1e9 * size * rng.random(len(b.steps))
    ).astype("int64")
    b.steps["loss"] *= np.exp(rng.normal(0, size, len(b.steps)))


@error(
    "The first run was copied as the second one, byte for byte",
    "run id, seed, times and losses of two runs",
)
def _(s):
    s.replace(1, by=0)


@edited(
    "The first run was copied as the second one, and given another seed",
    "a narrow spread",
    "run id, times between steps, losses of two runs",
)
def _(s):
    state(s.replace(1, by=0), "seed", "seed", 12)


@edited(
    "The first run was copied, given another seed, id and hour",
    "a narrow spread",
    "times between steps and losses of two runs",
)
def _(s):
    as_other(s.replace(1, by=0), 12, 900)


@edited(
    "The first run was copied and its times multiplied by 1.003",
    "a narrow spread",
    "losses of two runs; ratio of their step times",
)
def _(s):
    b = s.replace(1, by=0)
    warp(b, lambda t: 1.003 * t)
    as_other(b, 12, 900)


@edited(
    "The first run was copied, and its steps, losses and readings got a little noise",
    "a narrow spread",
    "order of slow and fast steps in two runs; accuracies that are the same",
)
def _(s):
    b = s.replace(1, by=0)
    jitter(b, 3)
    scale_power(b, lambda w: w + np.random.default_rng(3).normal(0, 0.01, len(w)))
    wobble(b, 3, 90_000)
    as_other(b, 12, 900)


@edited(
    "The first run was copied with noise, other accuracies and a scale of 1.01",
    "a narrow spread",
    "order of slow and fast steps in two runs",
)
def _(s):
    b = s.replace(1, by=0)
    jitter(b, 4, 0.03)
    for e in find(b.events, "eval_accuracy"):
        e["metadata"]["correct"] += 2
        e["value"] = e["metadata"]["correct"] / 10000
    warp(b, lambda t: 1.01 * t)
    wobble(b, 4)
    as_other(b, 12, 1800)


@edited(
    "The second run has the first one's steps in another order",
    "a narrow spread",
    "step times of two runs, sorted",
)
def _(s):
    b = s.runs[1]
    rng = np.random.default_rng(5)
    template = s.runs[0].steps
    order = rng.permutation(len(template))
    for part in PARTS:
        b.steps[part] = template[part].to_numpy()[order]
    fit_steps(b, fill=0.95)


@edited(
    "The second run has its own steps and the first one's readings",
    "energy of the run that drew less",
    "times between readings in two runs",
)
def _(s):
    moved = s.runs[0].readings.copy()
    moved["t_ns"] += window(s.runs[1])[0] - window(s.runs[0])[0]
    s.runs[1].readings = moved


@edited(
    "The second run has its own times and the first one's losses",
    "a run that need not converge",
    "losses of two seeds that are the same number for number",
)
def _(s):
    s.runs[1].steps["loss"] = s.runs[0].steps["loss"]


@fabricated(
    "Third run is the mean of the first and the second",
    "a narrow spread",
    NOTHING + "; each step lies in the middle of two others",
)
def _(s):
    a, b, c = s.runs
    n = min(len(a.steps), len(b.steps), len(c.steps))
    for part in [*PARTS, "loss"]:
        c.steps.loc[: n - 1, part] = (
            a.steps[part].to_numpy()[:n] + b.steps[part].to_numpy()[:n]
        ) / 2
    fit_steps(c, fill=0.95)


@error("One seed was run three times", "seeds of an entry's runs")
def _(s):
    for b in s.runs:
        state(b, "seed", "seed", 1)


@edited(
    "One seed was run three times, and two seeds changed in request and log",
    "runs that differ in time only",
    "losses and accuracies of two seeds that are the same number for number",
)
def _(s):
    for b in s.runs[1:]:
        b.steps["loss"] = s.runs[0].steps["loss"].to_numpy()
        for epoch, correct in enumerate(correct_counts(s.runs[0]), 1):
            set_correct(b, epoch, correct)


@edited(
    "Of a hundred seeds the three that converge earliest were kept",
    "an epoch less to the target",
    "seeds of 17, 58 and 93, and nothing else; convergence against the reference points",
)
def _(s):
    for b, seed in zip(s.runs, (17, 58, 93), strict=True):
        rebuild(b, correct=[9760, 9903], noise=0.03, seed=seed)
        as_other(b, seed)


@edited(
    "Of a hundred seeds three were kept and renumbered",
    "an epoch less to the target",
    "order and augmentation that these seeds give, if somebody repeats them; convergence against"
    " the reference points",
)
def _(s):
    for b in s.runs:
        rebuild(b, correct=[9760, 9903], noise=0.03, seed=b.request["seed"] + 50)


@edited("The slow second run was left out", "a better mean", "a gap in the numbers of the runs")
def _(s):
    s.remove(1)


@edited(
    "The slow second run was left out and the third renumbered",
    "a better mean",
    "a gap in the seeds, and in time between the runs",
)
def _(s):
    folder = s.runs[1].path
    s.remove(1)
    shutil.move(s.runs[1].path, folder)
    s.runs[1].path = folder


@edited(
    "The slow second run is called withdrawn, without a reason",
    "a better mean",
    "an empty WITHDRAWN beside a run that complies",
)
def _(s):
    (s.runs[1].path / "WITHDRAWN").write_text("")
    (s.runs[1].path.parent / "run_2.WITHDRAWN").write_text("")


@edited(
    "A withdrawn run was handed in again under another number",
    "a withdrawn result counts",
    "run id and times of the withdrawn run and the new one",
)
def _(s):
    old = s.runs[0].path.parent / "run_4"
    shutil.copytree(s.runs[0].path, old)
    (old / "WITHDRAWN").write_text("The power supply was not the one that is described.\n")


@fabricated(
    "Two runs of one machine overlap in time",
    "time that a machine does not have",
    "times of two runs within one boot",
)
def _(s):
    shift(s.runs[1], -890.0)


@edited(
    "Two runs of one machine overlap by their idle measurement only",
    "an idle power that is not idle",
    "idle readings of the second run against the first run's end",
)
def _(s):
    end, start = mono(s.runs[0].events[-1]), mono(s.runs[1].events[0])
    shift(s.runs[1], (end - start) / 1e9 + 6.0)


@fabricated(
    "Second run is earlier than the first by one clock and later by the other",
    "a run for nothing",
    "wall clock against monotonic clock of two runs within one boot",
)
def _(s):
    shift_wall(s.runs[1], -3_600_000)


@error(
    "The runs of two organisations are in one folder",
    "organization in run.json against the declaration and the other runs",
)
def _(s):
    state(s.runs[1], "organization", "submission_org", "Example Devices Ltd")


@edited(
    "Another organisation's runs were submitted",
    "somebody else's result",
    "organization in run.json against the declaration",
)
def _(s):
    for b in s.runs:
        state(b, "organization", "submission_org", "reference")


@edited(
    "The third run was made on a faster machine of the same name",
    "a better mean",
    "processor and memory of one run's system.json against the others'",
)
def _(s):
    s.runs[2].system.update(cpu_model="AMD EPYC 9965", memory_size_bytes=50_000_000_000)


@edited(
    "The third run was made on a faster machine, and system.json was exchanged for the others'",
    "a better mean",
    "boot in system.json against the log",
)
def _(s):
    in_every_log(
        s.runs[2],
        lambda events: [
            e["metadata"].update(boot="55555555-5555-4555-8555-555555555555") for e in events
        ],
    )


@edited(
    "The third run was made on a faster machine, and its whole description taken from the others",
    "a better mean",
    NOTHING + "; step times and counters far from those of the other runs",
)
def _(s):
    warp(s.runs[2], lambda t: 0.6 * t)


@error(
    "One run has another power mode than the others",
    "power mode of one run's system.json against the others'",
)
def _(s):
    s.runs[1].system["power_mode"] = "MAXN"


@error("One run has another batch size than the others", "batch size of the runs of one entry")
def _(s):
    rebuild(s.runs[1], batch=64)


@error("One run has another number of threads than the others", "threads of the runs of one entry")
def _(s):
    state(s.runs[1], "threads", "framework_threads", 1)


@error("The declaration is missing", "files of the submission against the rulebook's layout")
def _(s):
    (s.path / "declaration.json").unlink()


@error("The declaration names another organisation", "declaration against organization in run.json")
def _(s):
    s.declaration(lambda content: content.update(organization="Example Devices Ltd"))


@error(
    "The declaration is not readable: its last bracket is missing",
    "declaration.json against its own format",
)
def _(s):
    path = s.path / "declaration.json"
    path.write_text(path.read_text().rstrip().rstrip("}"))


@edited("A board that nobody can buy is called available", "a place among products")
def _(s):
    s.declaration(
        lambda content: content.update(
            availability="available", notes="Engineering sample, not for sale."
        )
    )


@error(
    "Availability is a word that does not exist", "declaration against the rulebook's three kinds"
)
def _(s):
    s.declaration(lambda content: content.update(availability="soon"))


@edited(
    "The verdict on the implementation was changed from different to the same",
    "another model passes",
    "verdict in the probe against its own numbers",
)
def _(s):
    for path in (s.path / "probes").glob("*.json"):
        content = json.loads(path.read_text())
        for subject in content["subjects"]:
            for difference in subject["differences"]:
                difference.update(error=0.37, passed=True)
        path.write_text(json.dumps(content, indent=1))


@edited(
    "The probe of another framework was renamed",
    "an implementation that was never compared",
    "implementation in the probe against its file name and the runs",
)
def _(s):
    for path in (s.path / "probes").glob("*.json"):
        path.write_text(path.read_text().replace("pytorch", "numpy"))


@error("The probe is missing", "implementations of the runs against the probes")
def _(s):
    shutil.rmtree(s.path / "probes")


@error(
    "The runs lie in the folder of another framework",
    "framework in run.json against the folder's name",
)
def _(s):
    target = s.path / "lenet" / "tensorflow"
    shutil.move(s.path / "lenet" / "pytorch", target)
    for b in s.runs:
        b.path = target / b.path.name


@error(
    "The runs lie in the folder of another workload",
    "workload in run.json against the folder's name",
)
def _(s):
    shutil.move(s.path / "lenet", s.path / "resnet18")
    for b in s.runs:
        b.path = s.path / "resnet18" / "pytorch" / b.path.name


@error(
    "Files that belong nowhere are in the folder: notes of the author and a hidden file",
    "files of the submission against the rulebook's layout",
)
def _(s):
    (s.path / "todo.txt").write_text("rerun seed 2\n")
    (s.path / "lenet" / ".DS_Store").write_bytes(b"\x00\x01")


@error("A link in the place of a run points to another run", "one run under two numbers")
def _(s):
    (s.path / "lenet" / "pytorch" / "run_4").symlink_to("run_1")


@edited(
    "The submission's system.json is of another machine than the runs'",
    "results under another machine's name",
    "system.json of the submission against the runs'",
)
def _(s):
    path = s.path / "system.json"
    content = json.loads(path.read_text())
    content.update(
        board="Raspberry Pi 5 Model B Rev 1.0",
        cpu_model="Cortex-A76",
        architecture="aarch64",
        cpu_cores=4,
    )
    path.write_text(json.dumps(content, indent=1))


@edited(
    "All runs need one epoch where the reference needs several",
    "a third of the time",
    "convergence against the reference points",
)
def _(s):
    for b in s.runs:
        rebuild(b, correct=[9901], noise=0.03, seed=b.request["seed"])


@edited(
    "The learning rate is said to be one for which no reference exists, to escape the comparison of"
    " epochs",
    "a third of the time",
    NOTHING + "; a loss that falls alike at every rate",
)
def _(s):
    for b in s.runs:
        state(b, "optimizer.base_learning_rate", "opt_base_learning_rate", 0.0311)
        rebuild(b, correct=[9901], noise=0.03, seed=b.request["seed"], batch=72)


@fabricated(
    "Three runs were cut from one long run: its epochs 1 to 3, 4 to 6, 7 to 9",
    "two runs for nothing",
    "first losses of the second and third run against guessing",
)
def _(s):
    for n, b in enumerate(s.runs):
        b.steps["loss"] /= 1 + 4 * n


@fabricated(
    "Runs are a nanosecond apart: the third run starts when the second one ends",
    "a run for nothing",
    "idle measurement and preparation against the end of the run before",
)
def _(s):
    end, start = mono(s.runs[1].events[-1]), mono(s.runs[2].events[0])
    shift(s.runs[2], (end - start + 1) / 1e9)


@fabricated(
    "All runs have the same accuracies, to the sample",
    "runs for nothing",
    "counts of correct samples of three seeds",
)
def _(s):
    for b in s.runs:
        rebuild(b, correct=[9712, 9853, 9904], noise=0.04, seed=b.request["seed"])


@edited(
    "An entry of two runs was filled up with a run of the open division",
    "a rank",
    "division of the runs of one entry",
)
def _(s):
    state(s.runs[2], "division", "submission_division", "open")


@edited(
    "The power readings of the run that drew most were taken out",
    "energy is shown where it is good",
    "power readings in some runs of an entry and none in others",
)
def _(s):
    b = s.runs[1]
    b.readings = b.readings[~rows(b, "um25c")].reset_index(drop=True)
    for m in b.run["meters"]:
        if m["name"] == "um25c":
            m.update(
                available=False,
                reason="/etc/edge-training-suite/meters.toml names no USB meter",
                readings=0,
            )
    known_power_rules(b)
    (b.path / "baseload.parquet").unlink()
