"""Concurrent training and inference: the baselines, and schedules that say who ran when."""

from pathlib import Path
from typing import Any

import numpy as np

from suite.compliance.folder_rule import OfFolder, RecordFolder
from suite.compliance.rule import Rule, Violation, Violations
from suite.errors import FileError, SuiteError
from suite.extensions.concurrent.record.arrivals import ArrivalKind
from suite.extensions.concurrent.record.layout import (
    MEASUREMENT,
    batch_sizes,
    beside,
    inference_alone,
    training_alone,
)
from suite.extensions.concurrent.record.overlap import overlaps
from suite.extensions.concurrent.record.records import TRACE, read_recording
from suite.extensions.concurrent.record.results import EXPERIMENT
from suite.files.json_file import read_json

ORDER = 99  # after the rules of stall analyses
RECORD = EXPERIMENT
AGAIN = EXPERIMENT.again
SHARED = (
    "infers",
    "trains",
    "kind",
    "rate_per_s",
    "seed",
    "batch",
    "deadline_s",
    "threads_infer",
    "threads_train",
)
"""What a measurement of both sides has in common with its baselines, as far as they have it. The
rate of a trace follows from its arrivals, and a part of it has its own."""


def _baselines(folder: RecordFolder) -> Violations:
    """Compare the settings of each measurement with those of its two baselines."""
    for batch in batch_sizes(folder.path):
        both = _setting(beside(folder.path, batch))
        for baseline, absent in (
            (training_alone(folder.path), "infers"),
            (inference_alone(folder.path, batch), "trains"),
        ):
            name = f"{baseline.name}/{MEASUREMENT}"
            alone = _setting(baseline)
            if alone is None or both is None:
                yield Violation(name, f"a baseline of batch size {batch}", "no readable setting")
                continue
            if alone.get(absent) is not None:
                yield Violation(name, f"{absent} = null in a baseline", f"{alone[absent]!r}")
            is_of_trace = both.get("kind") == ArrivalKind.TRACE.value
            if is_of_trace and _has_other_arrivals(baseline, beside(folder.path, batch)):
                yield Violation(
                    f"{baseline.name}/{TRACE}",
                    "the first arrivals of training and inference together",
                    "other arrivals",
                )
            for key in SHARED:
                is_own = key == absent or (key == "batch" and absent == "infers")
                is_derived = key == "rate_per_s" and is_of_trace
                if not (is_own or is_derived) and alone.get(key) != both.get(key):
                    yield Violation(
                        name,
                        f"{key} = {both.get(key)!r}, as in the measurement of training and"
                        " inference together",
                        f"{alone.get(key)!r}",
                    )


def _has_other_arrivals(baseline: Path, both: Path) -> bool:
    """Whether a baseline's arrivals are not the first ones of both sides."""
    try:
        alone_ns, both_ns = (read_recording(each).intended_ns for each in (baseline, both))
    except SuiteError:
        return False  # record-recomputes reports it
    return not np.array_equal(alone_ns, both_ns[: len(alone_ns)])


def _setting(folder: Path) -> dict[str, Any] | None:
    try:
        return read_json(folder / MEASUREMENT)
    except (OSError, FileError):
        return None


def _exclusive(folder: RecordFolder) -> Violations:
    """Check that, with managed interleaving, no training step overlaps a batch of inference."""

    for batch in batch_sizes(folder.path):
        try:
            found = read_recording(beside(folder.path, batch))
        except SuiteError:
            continue  # record-recomputes reports it
        if found.setting.schedule == "managed":
            for step, of_batch in overlaps(found):
                yield Violation(
                    f"{beside(folder.path, batch).name}/training/step_times.csv",
                    "no training step during a batch of inference",
                    f"step {step} runs during batch {of_batch}",
                    step + 1,
                )


RULES = (
    Rule(
        "concurrent-baselines",
        "A baseline runs only training or only inference, with the arrivals, batch size and"
        " threads of the measurement that it is compared with.",
        "Interference is the effect of the other task, so measurement and baseline may differ in"
        " nothing else.",
        AGAIN,
        (OfFolder("concurrent-baselines", _baselines, formerly=("beside-baselines",)),),
    ),
    Rule(
        "concurrent-exclusive",
        "With managed interleaving no training step overlaps a batch of inference.",
        "Managed interleaving guarantees this; overlapping steps come from another schedule.",
        AGAIN,
        (OfFolder("concurrent-exclusive", _exclusive, formerly=("beside-exclusive",)),),
    ),
)
