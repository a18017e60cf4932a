"""Runs that nobody made."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from proofs.outsider.edits import PARTS
from proofs.outsider.second_list.edits import set_accuracy
from proofs.outsider.second_list.fabrication import Script, fabricate
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.lies.machine import a_raspberry_pi
from proofs.outsider.second_list.lies.request import follow
from proofs.outsider.second_list.lies.submissions import RUNS, later
from proofs.outsider.second_list.registry import FABRICATED, NOTHING, lie

SUBJECT = "fabricated from nothing"
AUDIT = "the losses: an audit"


@lie(SUBJECT, FABRICATED, "any result", "times and losses that do not scatter; no readings")
def the_simplest(copy: ForgedCopy) -> None:
    """Constant times, smooth losses, no readings."""
    fabricate(copy, Script(times="constant", losses="smooth", readings="none"))


@lie(SUBJECT, FABRICATED, "any result", "losses that do not scatter; readings that do not move")
def normal_times_and_constant_readings(copy: ForgedCopy) -> None:
    """Normal times, smooth losses, constant readings."""
    fabricate(copy, Script(times="normal", losses="smooth", readings="constant"))


@lie(SUBJECT, FABRICATED, "any result", "counters that stand still, power that does; " + AUDIT)
def noisy_losses_and_constant_readings(copy: ForgedCopy) -> None:
    """Times with a memory, noisy losses, constant readings."""
    fabricate(copy, Script(readings="constant"))


@lie(SUBJECT, FABRICATED, "any result", AUDIT)
def everything_made_up(copy: ForgedCopy) -> None:
    """Times with a memory and slow steps, noisy losses, readings that follow."""
    fabricate(copy, Script())


@lie(SUBJECT, FABRICATED, "a fifth of the time", AUDIT)
def five_times_as_fast(copy: ForgedCopy) -> None:
    """As above, five times as fast."""
    fabricate(copy, Script(compute_s=0.0021))


@lie(SUBJECT, FABRICATED, "a hundredth of the time", "arithmetic above that of any core; " + AUDIT)
def a_hundred_times_as_fast(copy: ForgedCopy) -> None:
    """As above, a hundred times as fast."""
    fabricate(copy, Script(compute_s=0.000105))


@lie(SUBJECT, FABRICATED, "any time", NOTHING + ": the audit looks at ten steps")
def the_first_losses_trained(copy: ForgedCopy) -> None:
    """The first twenty losses are true ones, as an audit prints them; everything else is made
    up."""
    fabricate(copy, Script(true_losses=20))


@lie(SUBJECT, FABRICATED, "any time, at the target after three epochs", NOTHING + " in one run")
def the_first_losses_trained_and_a_lucky_run(copy: ForgedCopy) -> None:
    """As above, at the target after three epochs."""
    fabricate(copy, Script(true_losses=20, accuracies=(0.9768, 0.9871, 0.9907)))


@lie(SUBJECT, FABRICATED, "any time", NOTHING)
def all_losses_trained_elsewhere(copy: ForgedCopy) -> None:
    """Losses and accuracies are those of a true run on a fast machine; times and readings are made
    up."""
    true = copy.steps["loss"].to_numpy().copy()
    accuracies = tuple(event["value"] for event in copy.events("eval_accuracy"))
    digests = [event["value"] for event in copy.events("state_digests")]
    fabricate(copy, Script(accuracies=accuracies, true_losses=len(true)))
    for event, value in zip(copy.events("state_digests"), digests, strict=True):
        event["value"] = value


@lie(
    SUBJECT,
    FABRICATED,
    "a result of a board that nobody had",
    "x86-64 packages, two cores; " + AUDIT,
)
def of_a_board_that_nobody_had(copy: ForgedCopy) -> None:
    """Everything made up, for a Raspberry Pi 5."""
    a_raspberry_pi(copy)
    copy.system["libraries"] = {
        name: version
        for name, version in copy.system["libraries"].items()
        if "cpu" not in version or name == "torch"
    }
    fabricate(copy, Script(compute_s=0.02))
    extra = []
    for core in (2, 3):
        frame = copy.readings[copy.of("cpu", "utilisation.core0")].copy()
        frame["channel"] = f"utilisation.core{core}"
        frame["value"] = np.random.default_rng(core).uniform(1, 6, len(frame))
        extra.append(frame)
    copy.readings = (
        pd.concat([copy.readings, *extra]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    total = copy.of("cpu", "utilisation.total")
    cores = [
        copy.readings.loc[copy.of("cpu", f"utilisation.core{core}"), "value"].to_numpy()
        for core in range(4)
    ]
    copy.readings.loc[total, "value"] = np.mean(cores, axis=0)
    copy.restate_meters()


@lie(SUBJECT, FABRICATED, "any result of the open division", AUDIT, sample="open-chainer")
def chainer_made_up(copy: ForgedCopy) -> None:
    """A run of Chainer on the digits, everything made up, at 99.4 %."""
    fabricate(
        copy, Script(compute_s=0.004, accuracies=(0.8719, 0.9248, 0.9415, 0.961, 0.972), seed=2)
    )


@lie(
    SUBJECT,
    FABRICATED,
    "any result of the open division",
    AUDIT + "; the model's arithmetic",
    sample="open-tf",
)
def tensorflow_made_up(copy: ForgedCopy) -> None:
    """A run of TensorFlow on the digits, everything made up, twice as fast."""
    fabricate(
        copy, Script(compute_s=0.001, accuracies=(0.8719, 0.9248, 0.9415, 0.961, 0.972), seed=3)
    )


@lie(SUBJECT, FABRICATED, "an entry of three that ranks first", AUDIT, "submission", False)
def three_runs_made_up(path: Path) -> None:
    """All three runs of a submission are made up, from one script with three seeds."""
    names = [
        (0.9741, 0.9823, 0.9858, 0.9871, 0.9889, 0.9904),
        (0.9762, 0.9838, 0.9866, 0.9885, 0.9901),
        (0.9749, 0.9831, 0.9849, 0.9882, 0.9894, 0.9908),
    ]
    for number, accuracies in enumerate(names, 1):
        copy = ForgedCopy(path / RUNS / f"run_{number}")
        copy.drop_witness()
        fabricate(copy, Script(accuracies=accuracies, compute_s=0.006, seed=40 + number))
        copy.save()


@lie(
    SUBJECT,
    FABRICATED,
    "an entry of three for the price of one",
    "the second and third run's losses: an audit",
    "submission",
    False,
)
def two_of_three_made_up(path: Path) -> None:
    """Run 1 is true; runs 2 and 3 are made up half an hour and an hour later, with true first
    losses of their seeds, if the sample has them."""
    for number in (2, 3):
        shutil.rmtree(path / RUNS / f"run_{number}")
        shutil.copytree(path / RUNS / "run_1", path / RUNS / f"run_{number}")
        copy = ForgedCopy(path / RUNS / f"run_{number}")
        later(copy, 1800 * number, f"00000{number}")
        copy.run["nonce"]["run_number"] = number - 1
        copy.option("--run-number", str(number - 1))
        follow(copy)
        mean = float(copy.steps["compute_s"].median())
        fabricate(copy, Script(compute_s=mean, seed=50 + number))
        copy.save()
    from proofs.outsider.second_list.lies.submissions import declare_what_is_there

    declare_what_is_there(path)


@lie(SUBJECT, FABRICATED, "times of a fast machine for a training that was made", NOTHING)
def true_training_and_drawn_times(copy: ForgedCopy) -> None:
    """Losses, accuracies, log and readings are true; times of steps are drawn from other steps of
    the same run, two for one."""
    from proofs.outsider.second_list.edits import replace_times

    parts = copy.steps[PARTS].to_numpy()
    random = np.random.default_rng(60)
    rows = np.arange(len(parts))
    rows[1:-1] = np.minimum(
        rows[1:-1] + random.integers(-40, 41, len(parts) - 2), len(parts) - 1
    ).clip(1)
    full = copy.steps["samples"].to_numpy() == copy.request["global_batch_size"]
    drawn = np.where(
        full[:, None] & full[rows][:, None],
        parts[rows] * random.uniform(0.93, 1.0, (len(parts), 1)),
        parts,
    )
    replace_times(copy, drawn)


@lie(SUBJECT, FABRICATED, "a miss that is none", AUDIT, sample="missed")
def a_missed_run_made_again(copy: ForgedCopy) -> None:
    """A run that missed keeps its first epoch; the other nine are made up, at the target after
    seven."""
    kept = int((copy.steps["epoch"] == 1).sum())
    fabricate(
        copy,
        Script(
            true_losses=kept,
            compute_s=float(copy.steps["compute_s"].median()),
            accuracies=(0.9713, 0.9811, 0.9842, 0.9869, 0.9884, 0.9896, 0.9905),
        ),
    )
    set_accuracy(copy, 7, 9905)
