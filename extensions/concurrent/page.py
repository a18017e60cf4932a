"""Experiments with training beside inference: folders that ``suite concurrent`` writes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pandas

from reporter.data.frames import Row
from reporter.data.studies import ROWS, StudyKind, StudyRecord, recompute
from reporter.data.text import one_line
from reporter.data.words import model_title
from suite.extensions.concurrent.record.layout import FIGURES
from suite.extensions.concurrent.record.results import (
    EXPERIMENT,
    BatchResult,
    Results,
    read_results,
)
from suite.metrics.linear_fit import FittedValue


def read(record: Path, place: str) -> StudyRecord:
    """The study of a record; raises SuiteError unless its raw records give the same figures."""
    recompute(EXPERIMENT, record.parent)
    found = read_results(record.parent)
    setting = found.setting
    return StudyRecord(
        name=f"beside-{hashlib.sha256(record.read_bytes()).hexdigest()[:10]}",
        kind=STUDY_KIND.name,
        title=(
            f"{one_line(model_title(str(setting.trains)))} trains beside inference of"
            f" {one_line(model_title(str(setting.infers)))}"
        ),
        place=place,
        record=record,
        facts=(
            ("arrivals", f"{setting.rate_per_s:g} images/s, {one_line(setting.kind)}"),
            ("schedule", one_line(setting.schedule)),
            ("duration of each", f"{setting.duration_s:g} s"),
            ("threads", f"{setting.threads_train} and {setting.threads_infer}"),
        ),
        runs=(),
        figures=pandas.DataFrame(
            [row for result in found.batches for row in _batch_size_rows(result)],
            columns=list(ROWS),
        ),
        notes=tuple(_notes(found)),
    )


def _batch_size_rows(result: BatchResult) -> Iterator[Row]:
    """A batch size's figures; an interval is in the method."""
    beside, lost = result.beside, result.interference
    few = "too few measured inference batches or training steps"
    unfinished = beside.notes[0] if beside.unfinished else few
    intervals: tuple[tuple[str, str, FittedValue | None, str], ...] = (
        ("latency_s", "s", beside.latency_s, unfinished),
        ("latency_p99_s", "s", beside.p99_s, unfinished),
        ("queueing_s", "s", None if beside.unfinished else beside.queueing_s, unfinished),
        ("execution_s", "s", beside.execution_s, few),
        ("queue_growth", "1", beside.stability.growth, beside.stability.reason or few),
        ("training_samples_per_s", "samples/s", result.training.samples_per_s, few),
        ("training_of_alone", "1", lost.training, few),
        ("execution_of_alone", "1", lost.execution, few),
    )
    part = f"batch {result.batch}"
    for name, unit, interval, missing in intervals:
        method = (
            None if interval is None else f"95 % interval {interval.low:.4g} to {interval.high:.4g}"
        )
        yield _row(part, name, None if interval is None else interval.value, unit, method, missing)
    model_s = None if beside.prediction is None else beside.prediction.latency_s
    yield _row(
        part,
        "model_latency_s",
        model_s,
        "s",
        "queueing model",
        "the queueing model needs full batches, no deadline, and inference that keeps up with the"
        " arrivals",
    )
    yield _row(
        part,
        "lateness_p99_s",
        beside.lateness_s[1],
        "s",
        f"at most {beside.lateness_s[2]:.4g} s",
        "",
    )


def _row(
    part: str, name: str, value: float | None, unit: str, method: str | None, missing: str
) -> Row:
    reason = missing if value is None else None
    return {
        "part": part,
        "figure": name,
        "value": value,
        "unit": unit,
        "method": method,
        "reason": reason,
    }


def _notes(found: Results) -> Iterator[str]:
    for result in found.batches:
        yield f"batch {result.batch}: the queue is {result.beside.stability.state.value}"
        yield from (f"batch {result.batch}: {one_line(note, 400)}" for note in result.beside.notes)


STUDY_KIND = StudyKind(
    name="beside",
    title="training beside inference",
    record=FIGURES,
    read=read,
    figure_names={
        "latency_s": "mean latency",
        "latency_p99_s": "99th percentile of latency",
        "queueing_s": "queueing",
        "execution_s": "execution",
        "queue_growth": "growth of the queue, as a share of the arriving images",
        "training_samples_per_s": "training throughput",
        "training_of_alone": "training throughput while inference runs / without inference",
        "execution_of_alone": "execution time of a batch while training runs / without training",
        "model_latency_s": "mean latency according to the queueing model",
        "lateness_p99_s": "99th percentile of the image generator's lateness",
    },
)
