"""The results of an experiment, computed from the records of its measurements: figures by batch
size, and the interference of both sides."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.errors import SuiteError
from suite.extensions.concurrent.record.calculated import (
    InferenceFigures,
    Interference,
    TrainingFigures,
    inference_figures,
    interference,
    training_figures,
)
from suite.extensions.concurrent.record.layout import (
    FIGURES,
    batch_sizes,
    beside,
    inference_alone,
    training_alone,
)
from suite.extensions.concurrent.record.records import Setting, read_recording
from suite.metrics.sealed_record import SealedRecord

SCHEMA = 1


@dataclass(frozen=True)
class BatchResult:
    """One batch size: inference alone and beside the training, the training beside it, and what
    both lose."""

    batch: int
    alone: InferenceFigures
    beside: InferenceFigures
    training: TrainingFigures
    interference: Interference


@dataclass(frozen=True)
class Results:
    """An experiment: the setting of its first measurement of both sides, the training alone, and a
    result by batch size."""

    setting: Setting
    training_alone: TrainingFigures
    batches: tuple[BatchResult, ...]


def read_results(output: Path) -> Results:
    """The results of the experiment in a folder, from its raw records. Raises SuiteError for a
    folder without one."""
    sizes = batch_sizes(output)
    if not sizes:
        raise SuiteError(
            f"{output} holds no measurement of simultaneous training and inference; make one"
            " with `suite concurrent --train WORKLOAD --infer WORKLOAD`."
        )
    trained = read_recording(training_alone(output))
    found, setting = [], None
    for size in sizes:
        alone, both = (
            read_recording(inference_alone(output, size)),
            read_recording(beside(output, size)),
        )
        setting = setting or both.setting
        of_both = interference(both, trained, alone)
        found.append(
            BatchResult(
                size,
                inference_figures(alone),
                inference_figures(both),
                training_figures(both),
                of_both,
            )
        )
    assert setting is not None
    return Results(setting, training_figures(trained), tuple(found))


def as_dict(found: Results) -> dict[str, Any]:
    """The results as JSON values: an interval is value, low and high; what cannot be said is
    null."""
    values = asdict(found)
    for of_batch, result in zip(values["batches"], found.batches, strict=True):
        for name, figures in (("alone", result.alone), ("beside", result.beside)):
            if figures.prediction is not None:
                of_batch[name]["prediction"]["latency_s"] = figures.prediction.latency_s
            of_batch[name]["stability"]["state"] = figures.stability.state.value
    return values


EXPERIMENT = SealedRecord(
    FIGURES,
    "measure again (`suite concurrent`); records are never edited",
    compute=lambda folder: {"schema": SCHEMA, **as_dict(read_results(folder))},
)


def close(output: Path) -> Results:
    """Write the figures and the manifest of a finished experiment; returns its results."""
    found = read_results(output)
    EXPERIMENT.write(output, {"schema": SCHEMA, **as_dict(found)})
    return found
