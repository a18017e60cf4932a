"""Edits of a submission's folder."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from suite.bundle.data_record import DATA
from suite.bundle.layout import BASELOAD, MANIFEST, RUN, SYSTEM
from suite.bundle.machines import BOARD_DIGEST
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.catalog.reference_points import newest_points
from suite.submission.declaration import NAME
from suite.submission.launches import declare_entries
from tests.faults.edits.editable_bundle import EditableBundle, count_readings
from tests.faults.edits.fault import edit, first_run
from tests.faults.edits.file_edits import edit_json
from tests.faults.edits.log_edits import set_everywhere, shift_run
from tests.faults.edits.table_edits import PARTS

FIRST_STEPS, LEARNING_STEPS, LEARNED = 10, 60, 0.05
FIRST_OWN_STEPS = 100


def run(submission: Path, number: int) -> Path:
    """The run of this number, beside the first."""
    return first_run(submission).with_name(f"run_{number}")


@edit
def copy_first_run(submission: Path, change: Callable[[Path], object] | None = None) -> None:
    """Submit the first run a second time, as the fourth; ``change`` edits the copy."""
    shutil.copytree(first_run(submission), run(submission, 4))
    if change is not None:
        change(run(submission, 4))


def rename_run(folder: Path) -> None:
    """Set another run id and seed."""
    bundle = EditableBundle(folder)
    bundle.run["run_id"] += "9"
    bundle.request["seed"] = bundle.event("seed")["value"] = 99
    bundle.save()


def rename_run_and_output(folder: Path) -> None:
    """As :func:`rename_run`, with another file time and another file name."""
    rename_run(folder)
    os.utime(folder / "steps.parquet", (0, 0))
    (folder / "output.txt").rename(folder / "output.log")
    (folder / MANIFEST).unlink()
    seal(folder)


@edit
def copy_with_noise(
    submission: Path, noise: float, factor: float = 1.0, is_shuffled: bool = False
) -> None:
    """Let the first run's steps vary, and submit a copy as the fourth: with noise on every part,
    scaled, or in another order."""
    import numpy as np  # start-up

    random, first = np.random.default_rng(1), EditableBundle(first_run(submission))
    for part in PARTS:
        first.steps[part] *= np.exp(random.normal(-0.1, 0.03, len(first.steps)))
    first.save(recomputed=True)
    shutil.copytree(first.path, run(submission, 4))
    rename_run(run(submission, 4))
    copy = EditableBundle(run(submission, 4))
    order = random.permutation(len(copy.steps)) if is_shuffled else np.arange(len(copy.steps))
    for part in PARTS:
        copy.steps[part] = (
            factor
            * copy.steps[part].to_numpy()[order]
            * np.exp(random.normal(-noise, noise, len(copy.steps)))
        )
    copy.save(recomputed=True)


@edit
def move_to_first(submission: Path, after_s: float) -> None:
    """Move the second run to the time of the first: to its start, or to ``after_s`` after its end
    if that is not 0."""
    first, second = EditableBundle(first_run(submission)), EditableBundle(run(submission, 2))
    place = -1 if after_s else 0
    by_ns = (
        first.events[place]["metadata"]["mono_ns"]
        + round(after_s * 1e9)
        - second.events[0]["metadata"]["mono_ns"]
    )
    shift_run(by_ns)(second)
    _shift_idle(second.path, by_ns)
    second.save(recomputed=True)


def _shift_idle(folder: Path, by_ns: int) -> None:
    from suite.bundle.frames import read_readings, write_table  # start-up: loads pyarrow

    idle = read_readings(folder / BASELOAD)
    write_table(idle.assign(t_ns=idle["t_ns"] + by_ns), folder / BASELOAD)


@edit
def copy_from_second(
    submission: Path, change: Callable[[EditableBundle, EditableBundle], object]
) -> None:
    """Copy something of the second run into the first, and recompute everything."""
    first, second = EditableBundle(first_run(submission)), EditableBundle(run(submission, 2))
    change(first, second)
    first.save(recomputed=True)


def copy_losses(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the losses of as many steps as both runs have."""
    steps = min(len(target.steps), len(source.steps))
    target.steps.loc[: steps - 1, "loss"] = source.steps["loss"].iloc[:steps]


def copy_later_losses(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the losses from the 101st step on, of two runs whose losses vary as real ones do."""
    import numpy as np  # start-up

    for number, bundle in enumerate((target, source)):
        bundle.steps["loss"] *= np.exp(
            np.random.default_rng(number).normal(0, 0.05, len(bundle.steps))
        )
    rows = slice(FIRST_OWN_STEPS, min(len(target.steps), len(source.steps)) - 1)
    target.steps.loc[rows, "loss"] = source.steps.loc[rows, "loss"]
    source.save(recomputed=True)


def copy_losses_with_noise(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the losses, each with up to two hundredths of noise."""
    import numpy as np  # start-up

    copy_losses(target, source)
    target.steps["loss"] *= np.exp(np.random.default_rng(3).uniform(-0.02, 0.02, len(target.steps)))


def copy_digests(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the digests of the training states of as many epochs as both runs have."""
    logged = (
        [event for event in bundle.events if event["key"] == "state_digests"]
        for bundle in (target, source)
    )
    for event, other in zip(*logged, strict=False):
        event["value"] = other["value"]


def copy_step_times(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the times between steps."""
    differences_ns = (
        source.steps["start_ns"].iloc[: len(target.steps)].diff().fillna(0).astype("int64")
    )
    target.steps["start_ns"] = target.steps["start_ns"].iloc[0] + differences_ns.cumsum().to_numpy()


def copy_readings(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the readings."""
    target.readings = source.readings


def copy_power(target: EditableBundle, source: EditableBundle) -> None:
    """Copy the power of as many readings as both runs have; their times stay."""
    rows, others = (
        bundle.readings.index[bundle.readings["unit"] == "W"] for bundle in (target, source)
    )
    count = min(len(rows), len(others))
    target.readings.loc[rows[:count], "value"] = source.readings.loc[
        others[:count], "value"
    ].to_numpy()


def copy_memory(target: EditableBundle, source: EditableBundle) -> None:
    """Let both runs read the same used memory, byte by byte, which varies."""
    import numpy as np  # start-up
    import pandas  # start-up: slow to load

    for bundle in (target, source):
        rows = bundle.readings.index[bundle.at("cpu", "utilisation.total")]
        used = 1e9 + 4096.0 * np.random.default_rng(5).integers(0, 10_000, len(rows))
        more = bundle.readings.loc[rows].assign(
            source="memory", channel="used", unit="B", value=used
        )
        bundle.readings = pandas.concat([bundle.readings, more]).reset_index(drop=True)
    source.save(recomputed=True)


def copy_data_record(target: EditableBundle, source: EditableBundle) -> None:
    """Copy data.json."""
    shutil.copy(source.path / DATA, target.path / DATA)


@edit
def set_value(submission: Path, files: str, name: str, value: object) -> None:
    """Set a value of the submission's JSON files that match the pattern ``files``."""
    for path in submission.glob(files):
        edit_json(path, name, lambda _: value)


@edit
def set_run_value(submission: Path, number: int, name: str, value: object) -> None:
    """Set a value of a run's record, with a manifest that fits."""
    folder = run(submission, number)
    edit_json(folder / RUN, name, lambda _: value)
    (folder / MANIFEST).unlink()
    seal(folder)


@edit
def delete_folder(submission: Path, name: str) -> None:
    """Delete a folder of the submission."""
    shutil.rmtree(submission / name)


@edit
def delete_run(submission: Path, number: int) -> None:
    """Delete a run."""
    shutil.rmtree(run(submission, number))


@edit
def forget_run(submission: Path, number: int) -> None:
    """Delete a run, and declare the others only."""
    delete_run(number)(submission)
    _declare(submission)


@edit
def repeat_seed_in_own_entry(submission: Path) -> None:
    """Give the first run the second's seed and losses, and a setting of its own: two entries that
    begin alike."""
    first, second = EditableBundle(first_run(submission)), EditableBundle(run(submission, 2))
    copy_losses(first, second)
    set_everywhere("seed", second.request["seed"])(first)
    first.request["loading"]["prefetch"] += 2
    first.run["command"] = [
        *first.run["command"],
        "--prefetch",
        str(first.request["loading"]["prefetch"]),
    ]
    first.save(recomputed=True)
    _declare(submission)


@edit
def declare_apart(submission: Path) -> None:
    """Declare the first run with nine launches that failed, and the others as a second entry."""

    def apart(entries: list[Any]) -> list[Any]:
        (entry,) = entries
        first, *others = entry["launches"]
        failed = [{"run_id": f"{first['run_id']}{n}", "status": "failed"} for n in range(9)]
        return [
            {**entry, "planned_runs": 1, "launches": [first, *failed]},
            {**entry, "planned_runs": len(others), "launches": others},
        ]

    edit_json(submission / NAME, "entries", apart)


def _declare(submission: Path) -> None:
    """Declare the runs that are there, by what they say of themselves."""
    entries = declare_entries(
        [Bundle(path) for path in sorted(submission.glob("*/*/run_*"))], (), None
    )
    edit_json(submission / NAME, "entries", lambda _: [asdict(entry) for entry in entries])


@edit
def rename_framework(submission: Path, name: str) -> None:
    """Rename the framework's folder."""
    folder = first_run(submission).parent
    folder.rename(folder.with_name(name))


@edit
def rename_implementation(submission: Path, name: str) -> None:
    """Rename the implementation: its folder, its verdict's file, and the name in the verdict."""
    folder = first_run(submission).parent
    for path in submission.glob(f"probes/*-{folder.name}.json"):
        edit_json(path, "subjects.0.name", lambda _: name)
        path.rename(path.with_name(path.name.replace(folder.name, name)))
    folder.rename(folder.with_name(name))


@edit
def rename_workload(submission: Path, name: str) -> None:
    """Rename the workload's folder."""
    folder = first_run(submission).parent.parent
    folder.rename(folder.with_name(name))


@edit
def add_file(submission: Path, name: str) -> None:
    """Add a file, with the folders that lead to it; ``name`` is relative to the submission."""
    path = submission / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x", encoding="utf-8")


@edit
def add_file_to_first_run(submission: Path, name: str) -> None:
    """Add a file to the first run, with the folders that lead to it."""
    add_file(name)(first_run(submission))


@edit
def add_link(submission: Path, name: str, target: str) -> None:
    """Add a link."""
    (submission / name).symlink_to(target)


@edit
def set_boards(
    submission: Path, digests: Sequence[str | None], of_submission: str | None = None
) -> None:
    """Set the digests of the boards in the records of the runs and of the submission."""
    for number, digest in enumerate(digests, start=1):
        bundle = EditableBundle(run(submission, number))
        bundle.system[BOARD_DIGEST] = digest
        bundle.save()
    edit_json(submission / SYSTEM, BOARD_DIGEST, lambda _: of_submission)


@edit
def reach_target_at_once(submission: Path, rate: float | None = None) -> None:
    """Let every run end at the target after its first epoch, with losses that fit, at learning rate
    ``rate`` (None: the reference's)."""
    for path in sorted(submission.glob("lenet/*/run_*")):
        bundle = EditableBundle(path)
        (reference,) = (
            point
            for point in newest_points("lenet")
            if point.batch_size == bundle.request["global_batch_size"]
        )
        base = rate or reference.base_learning_rate
        # every rate of a schedule is proportional to the base
        logged = bundle.event("learning_rates")
        logged["value"] = [
            value * base / bundle.request["optimizer"]["base_learning_rate"]
            for value in logged["value"]
        ]
        bundle.request["optimizer"]["base_learning_rate"] = bundle.event("opt_base_learning_rate")[
            "value"
        ] = base
        evaluated = bundle.event("eval_accuracy")
        evaluated["metadata"]["correct"] = bundle.request["data"]["eval_samples"] - 1
        evaluated["value"] = (
            evaluated["metadata"]["correct"] / bundle.request["data"]["eval_samples"]
        )
        learned = LEARNED ** ((bundle.steps["step"] - FIRST_STEPS) / LEARNING_STEPS).clip(0.0, 1.0)
        bundle.steps["loss"] = (bundle.steps["loss"] * learned).astype("float32").astype("float64")
        _keep_first_epoch(bundle)
        bundle.save(recomputed=True)


def _keep_first_epoch(bundle: EditableBundle) -> None:
    stop = bundle.event("run_stop")
    removed_ns = stop["metadata"]["mono_ns"] - bundle.event("eval_stop")["metadata"]["mono_ns"]
    bundle.events = [event for event in bundle.events if event["metadata"].get("epoch_num", 1) == 1]
    bundle.steps = bundle.steps[bundle.steps["epoch"] == 1]
    for event in bundle.events[bundle.events.index(stop) :]:
        event["metadata"]["mono_ns"] -= removed_ns - 1
        event["time_ms"] -= removed_ns // 10**6
    bundle.readings = bundle.readings[
        bundle.readings["t_ns"] <= stop["metadata"]["mono_ns"] + 10**9
    ].reset_index(drop=True)
    count_readings(bundle)
