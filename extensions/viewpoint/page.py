"""Students and their teachers: folders that ``suite viewpoint`` writes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pandas

from reporter.data.frames import Row
from reporter.data.studies import ROWS, WHOLE, StudyKind, StudyRecord, recompute
from reporter.data.text import one_line
from suite.extensions.viewpoint.record.results import (
    FIGURES,
    STUDENT,
    Results,
    read_results,
)
from suite.metrics.proportion import Proportion


def read(record: Path, place: str) -> StudyRecord:
    """The study of a record; raises SuiteError unless its raw records give the same figures."""
    recompute(STUDENT, record.parent)
    found = read_results(record.parent)
    setting, labels = found.setting, found.labels
    return StudyRecord(
        name=f"viewpoint-{hashlib.sha256(record.read_bytes()).hexdigest()[:10]}",
        kind=STUDY_KIND.name,
        title=f"{one_line(setting.teacher)} teaches {one_line(setting.student)} another viewpoint",
        place=place,
        record=record,
        facts=(
            ("framework", one_line(f"{setting.framework} {setting.framework_version or ''}")),
            (
                "parameters of teacher and student",
                f"{found.teacher_parameters:,} and {found.student_parameters:,}",
            ),
            ("teacher", one_line(f"epoch {setting.teacher_epoch} of {setting.teacher_run}", 160)),
            ("labelled tracks", f"{labels.kept} of {labels.tracks}, {labels.frames} frames"),
            ("seed", str(setting.seed)),
        ),
        runs=(),
        figures=pandas.DataFrame(list(_result_rows(found)), columns=list(ROWS)),
        notes=(_idle(found),),
    )


def _result_rows(found: Results) -> Iterator[Row]:
    for view in found.views:
        part = f"{view.view_deg} degrees"
        for name, share in (
            ("teacher_accuracy", view.teacher),
            ("accuracy_before", view.before),
            ("accuracy_after", view.after),
        ):
            yield _share(part, name, share)
    yield _share(WHOLE, "label_noise", found.labels.noise)
    yield _row("frames_size_bytes", found.labels.size_bytes, "B", "all kept frames", None)
    yield _row(
        "student_training_s", found.training.time_s, "s", f"{found.training.steps} steps", None
    )
    yield _row("student_cpu_s", found.training.cpu_s, "s", "all threads", None)
    energy = found.setting.energy
    yield _row("student_energy_j", energy.energy_j, "J", energy.method, energy.reason)


def _share(part: str, name: str, share: Proportion) -> Row:
    method = (
        f"{share.successes} of {share.count}; 95 % interval {share.low:.4g} to {share.high:.4g}"
    )
    return {
        "part": part,
        "figure": name,
        "value": share.value,
        "unit": "1",
        "count": share.count,
        "method": method,
    }


def _row(name: str, value: float | None, unit: str, method: str | None, reason: str | None) -> Row:
    texts = {
        "method": None if method is None else one_line(method, 300),
        "reason": None if reason is None else one_line(reason, 300),
    }
    return {"part": WHOLE, "figure": name, "value": value, "unit": unit, **texts}


def _idle(found: Results) -> str:
    setting = found.setting
    waited = (
        ""
        if setting.waiting is None
        else f", and at least one task waited for a CPU {setting.waiting:.0%} of the time"
    )
    return one_line(
        f"The student ran only in idle CPU time ({setting.idle}); other programs used"
        f" {setting.foreign_cores:.2f} of {setting.cores} cores{waited}."
    )


STUDY_KIND = StudyKind(
    name="viewpoint",
    title="student and teacher",
    record=FIGURES,
    read=read,
    figure_names={
        "teacher_accuracy": "accuracy of the teacher",
        "accuracy_before": "accuracy of the student before training",
        "accuracy_after": "accuracy of the student after training",
        "label_noise": "share of labelled tracks whose label is wrong",
        "frames_size_bytes": "size of the kept frames",
        "student_training_s": "training of the student",
        "student_cpu_s": "CPU time of the training",
        "student_energy_j": "energy of the training",
    },
)
