"""Edits of the reference submission as a whole, in which runs can be compared with one another."""

import hashlib
import json
from pathlib import Path

import numpy as np

from proofs.outsider.edits import EDITED, FABRICATED
from proofs.outsider.third_list.edits import NS, Edit, listed, retimed, times
from proofs.outsider.third_list.forged_copy import ForgedCopy

SUBMISSIONS: list[Edit] = []
edit = listed(SUBMISSIONS)
OWN_STEPS = 400


@edit(FABRICATED, "two runs from one training", "the losses of run 2", "submission")
def losses_of_another_run_later(path: Path) -> None:
    """The third run of PyTorch has the second's losses from its 401st step on."""
    third, second = _run(path, "pytorch", 3), _run(path, "pytorch", 2)
    rows = min(len(third.steps), len(second.steps))
    third.steps.loc[OWN_STEPS : rows - 1, "loss"] = second.steps["loss"].to_numpy()[OWN_STEPS:rows]
    _save(path, third)


@edit(
    EDITED,
    "a slow run as fast as another",
    "the step times of run 1 vary in the same way",
    "submission",
)
def times_of_another_run_later(path: Path) -> None:
    """The second run of Chainer has the first's step times from its 401st step on, one per cent
    more or less."""
    second, first = _run(path, "chainer", 2), _run(path, "chainer", 1)
    new, source = times(second), times(first)
    rows = min(len(new), len(source))
    noise = np.random.default_rng(23).uniform(0.99, 1.01, (rows - OWN_STEPS, 1))
    new[OWN_STEPS:rows] = source[OWN_STEPS:rows] * noise
    retimed(second, np.round(new / NS) * NS)
    _save(path, second)


@edit(
    EDITED,
    "runs that overlapped are of two boots",
    "two boots of one machine within two seconds",
    "submission",
)
def a_boot_of_its_own(path: Path) -> None:
    """A run is of another boot of the machine, which began two seconds later: its monotonic times
    are two seconds less."""
    copy = _run(path, "tensorflow", 2)
    boot = "5f0c6b0e-53a2-4a0f-8df2-0a6f6cf1f7a3"
    copy.system["boot"] = boot
    for event in copy.events:
        event["metadata"]["boot"] = boot
        event["metadata"]["mono_ns"] -= 2_000_000_000
    copy.steps["start_ns"] -= 2_000_000_000
    copy.readings["t_ns"] -= 2_000_000_000
    copy.data["taken_ns"] -= 2_000_000_000
    _save(path, copy)


@edit(
    EDITED,
    "readings of a run whose meters failed",
    "a processor was never used alike twice, second by second",
    "submission",
)
def readings_of_another_run(path: Path) -> None:
    """Run 3 of TensorFlow has run 1's readings of processor, load and memory, as far as they go, at
    its own moments and from its own start."""
    third, first = _run(path, "tensorflow", 3), _run(path, "tensorflow", 1)
    for source in ("cpu", "load", "memory"):
        for channel in third.readings.loc[third.at(source), "channel"].unique():
            mask, other = third.at(source, channel), first.at(source, channel)
            values, given = (
                third.readings.loc[mask, "value"].to_numpy().copy(),
                first.readings.loc[other, "value"].to_numpy(),
            )
            rows = min(len(values), len(given)) - 3  # the last seconds stay
            counts = source == "load" or channel == "process_tree"
            tail = values[rows:] - values[rows - 1] if counts else values[rows:]
            values[:rows] = given[:rows] - given[0] + values[0] if counts else given[:rows]
            values[rows:] = values[rows - 1] + tail if counts else tail
            third.readings.loc[mask, "value"] = values
    _save(path, third)


def _run(path: Path, framework: str, number: int) -> ForgedCopy:
    return ForgedCopy(path / "lenet" / framework / f"run_{number}")


def _save(submission: Path, copy: ForgedCopy) -> None:
    """Seal the run; the record of its audit names the new manifest."""
    copy.save()
    workload, framework, run = copy.path.parts[-3:]
    file = submission / "audits" / f"{workload}-{framework}-{run}.json"
    audit = json.loads(file.read_text("utf-8"))
    audit["bundle"]["manifest_sha256"] = hashlib.sha256(
        (copy.path / "MANIFEST.sha256").read_bytes()
    ).hexdigest()
    file.write_text(json.dumps(audit, indent=1) + "\n", "utf-8")
