"""Training beside inference: the seal, the figures, the baselines, and schedules that say who ran
when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.compliance.folder_rule import OfFolder, check_figures, check_seal
from suite.compliance.rule import Rule, Violation
from suite.errors import FileError, SuiteError
from suite.extensions.concurrent.record.layout import (
    MEASUREMENT,
    batch_sizes,
    beside,
    inference_alone,
    training_alone,
)
from suite.extensions.concurrent.record.results import EXPERIMENT
from suite.files.json_file import read_json

ORDER = 99  # after the rules of stall analyses
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
"""What a measurement of both sides has in common with its baselines, as far as they have it."""


def _baselines(folder: Path) -> Iterator[Violation]:
    """Compare the settings of each measurement with those of its two baselines."""
    for batch in batch_sizes(folder):
        both = _setting(beside(folder, batch))
        for baseline, absent in (
            (training_alone(folder), "infers"),
            (inference_alone(folder, batch), "trains"),
        ):
            name = f"{baseline.name}/{MEASUREMENT}"
            alone = _setting(baseline)
            if alone is None or both is None:
                yield Violation(
                    name, f"a baseline of batch size {batch}", "no setting that can be read"
                )
                continue
            if alone.get(absent) is not None:
                yield Violation(name, f"{absent} = null in a baseline", f"{alone[absent]!r}")
            for key in SHARED:
                is_own = key == absent or (key == "batch" and absent == "infers")
                if not is_own and alone.get(key) != both.get(key):
                    yield Violation(
                        name,
                        f"{key} = {both.get(key)!r}, as in the measurement of both",
                        f"{alone.get(key)!r}",
                    )


def _setting(folder: Path) -> dict[str, Any] | None:
    try:
        return read_json(folder / MEASUREMENT)
    except (OSError, FileError):
        return None


def _exclusive(folder: Path) -> Iterator[Violation]:
    """Check that, with managed interleaving, no training step overlaps a batch of inference."""
    from suite.extensions.concurrent.record.overlap import overlaps  # start-up: loads NumPy
    from suite.extensions.concurrent.record.records import read_recording  # start-up: loads NumPy

    for batch in batch_sizes(folder):
        try:
            found = read_recording(beside(folder, batch))
        except SuiteError:
            continue  # beside-recompute reports it
        if found.setting.schedule == "managed":
            for step, of_batch in overlaps(found):
                yield Violation(
                    f"{beside(folder, batch).name}/training/step_times.csv",
                    "training steps between the batches of inference",
                    f"step {step} runs during batch {of_batch}",
                    step + 1,
                )


RULES = (
    Rule(
        "beside-sealed",
        "The manifest of an experiment with training beside inference seals every file.",
        "It shows changed, lost and added files.",
        AGAIN,
        (OfFolder("beside-sealed", check_seal(EXPERIMENT)),),
    ),
    Rule(
        "beside-recompute",
        "beside.json follows from the raw records: batches, noticed arrivals, and the arrivals"
        " that the setting gives.",
        "Latencies count from intended arrivals, which nobody can move: they are in no file.",
        AGAIN,
        (OfFolder("beside-recompute", check_figures(EXPERIMENT)),),
    ),
    Rule(
        "beside-baselines",
        "Baselines have the arrivals, batch size and threads of the measurement that they are"
        " compared with, and one side only.",
        "Interference is the difference that the other side makes, and nothing else.",
        AGAIN,
        (OfFolder("beside-baselines", _baselines),),
    ),
    Rule(
        "beside-exclusive",
        "With managed interleaving no training step overlaps a batch of inference.",
        "The schedule promises it; overlapping steps are those of another schedule.",
        AGAIN,
        (OfFolder("beside-exclusive", _exclusive),),
    ),
)
