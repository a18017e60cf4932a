"""Faults that show when the bundles of a submission are seen together."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from suite.bundle.layout import MANIFEST, SYSTEM
from suite.bundle.manifest import seal
from suite.compliance.editing import EditableBundle
from suite.compliance.registry import SUBMISSION_RULES
from tests.mutation.log_faults import everywhere
from tests.mutation.mutation import Mutation, edit, edit_json, first_run, sealed

DECLARATION = "declaration.json"


def duplicate_faults() -> Iterator[Mutation]:
    """Runs that are copies, whole or in part."""
    yield Mutation("run 1 again as run 4", "submission-duplicates", copied())
    yield Mutation("run 1 again as run 4, under another id and seed", "submission-duplicates", copied(renamed))
    yield Mutation("run 1 again as run 4, another file renamed", "submission-duplicates", copied(output_renamed))
    yield Mutation("run 1 with run 2's losses", "submission-losses", borrowed_from_second(with_losses))
    yield Mutation("run 1 with run 2's step times", "submission-duplicates", borrowed_from_second(with_step_times))
    yield Mutation("run 1 with run 2's readings", "submission-duplicates", borrowed_from_second(with_readings))
    yield sealed("the seed of run 2", "submission-seeds", everywhere("seed", 2))
    yield sealed("another learning rate within its range, in one run", "submission-runs", everywhere("optimizer.base_learning_rate", 0.01))
    yield sealed("a run for somebody else", "submission-organization", everywhere("organization", "globex"))


def layout_faults() -> Iterator[Mutation]:
    """Places, declaration, the system on top, the verdict on the model."""
    yield Mutation("two runs only", "submission-runs", lambda path: shutil.rmtree(first_run(path).with_name("run_3")))
    yield Mutation("a file without a place", "submission-layout", lambda path: (path / "notes.txt").write_text("x"))
    yield Mutation("a link without a place", "submission-layout", lambda path: (path / "more").symlink_to("/etc"))
    yield Mutation("another framework's folder", "submission-layout", lambda path: _rename(first_run(path).parent, "tensorflow"))
    yield Mutation("another workload's folder", "submission-layout", lambda path: _rename(first_run(path).parent.parent, "resnet18"))
    yield Mutation("another organization", "submission-layout", value_set(DECLARATION, "organization", "globex"))
    yield Mutation("another round", "submission-layout", value_set(DECLARATION, "round", "v9"))
    for name in ("cpu_model", "memory_size_bytes", "kernel"):
        yield Mutation(f"another {name} on top", "submission-system", value_set(SYSTEM, name, "another"))
    yield Mutation("no verdict on the model", "submission-equivalence", lambda path: shutil.rmtree(path / "probes"))
    for name, value in (("passed", False), ("passed", "yes"), ("workload", "vgg11"), ("model", "lenet4")):
        yield Mutation(f"a verdict with {name} = {value!r}", "submission-equivalence", value_set("probes/*.json", name, value))


def convergence_faults() -> Iterator[Mutation]:
    """All runs of an entry at the target sooner than the reference's: the rules' own faults."""
    for rule in SUBMISSION_RULES:
        if rule.id.startswith("submission-convergence"):
            for fault in rule.faults:
                yield Mutation(fault.name, rule.id, fault.change)


@edit
def copied(submission: Path, change: object = None) -> None:
    """The first run again, as the fourth, changed a little."""
    target = first_run(submission).with_name("run_4")
    shutil.copytree(first_run(submission), target)
    if callable(change):
        change(target)


def renamed(run: Path) -> None:
    """Another run id and seed."""
    bundle = EditableBundle(run)
    bundle.run["run_id"] += "9"
    bundle.request["seed"] = bundle.event("seed")["value"] = 99
    bundle.save()


def output_renamed(run: Path) -> None:
    """As :func:`renamed`, and other file times and names."""
    renamed(run)
    os.utime(run / "steps.parquet", (0, 0))
    (run / "output.txt").rename(run / "output.log")
    (run / MANIFEST).unlink()
    seal(run)


@edit
def borrowed_from_second(submission: Path, change: object) -> None:
    """Something of the second run in the first, everything recomputed."""
    one, other = EditableBundle(first_run(submission)), EditableBundle(first_run(submission).with_name("run_2"))
    assert callable(change)
    change(one, other)
    one.save(recomputed=True)


def with_losses(one: EditableBundle, other: EditableBundle) -> None:
    """The other's losses."""
    one.steps["loss"] = other.steps["loss"].iloc[: len(one.steps)]


def with_step_times(one: EditableBundle, other: EditableBundle) -> None:
    """The other's times from step to step."""
    one.steps["start_ns"] = one.steps["start_ns"].iloc[0] + np.cumsum([0, *np.diff(other.steps["start_ns"].iloc[: len(one.steps)])])


def with_readings(one: EditableBundle, other: EditableBundle) -> None:
    """The other's readings."""
    one.readings = other.readings


@edit
def value_set(submission: Path, files: str, name: str, value: object) -> None:
    """A value of a JSON file on top."""
    for path in submission.glob(files):
        edit_json(path, name, lambda _: value)


def _rename(folder: Path, name: str) -> None:
    folder.rename(folder.with_name(name))
