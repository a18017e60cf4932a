"""Faults that the rules of suite.extensions.viewpoint.rules find, by rule."""

from typing import Any

from suite.bundle.layout import MANIFEST
from suite.extensions.viewpoint.record.records import SETTING
from suite.extensions.viewpoint.record.results import FIGURES
from tests.extensions.viewpoint.edits import (
    change_record,
    change_row,
    lose_rows,
    of_viewpoint,
    recomputed,
    resealed,
)
from tests.faults.edits.fault import Fault


def _more_correct(content: Any) -> None:
    content["views"][1]["after"]["value"] = 1.0


FAULTS: dict[str, tuple[Fault, ...]] = {
    "record-sealed": (
        of_viewpoint("an accuracy raised", change_record(FIGURES, _more_correct)),
        of_viewpoint(
            "the teacher's predictions lost", lambda folder: (folder / "teacher.csv").unlink()
        ),
        of_viewpoint("no manifest", lambda folder: (folder / MANIFEST).unlink()),
        of_viewpoint("a file added", lambda folder: (folder / "better.json").write_text("{}")),
    ),
    "record-recomputes": (
        resealed("an accuracy raised", change_record(FIGURES, _more_correct)),
        resealed(
            "a wrong prediction corrected", change_row("student_after.csv", 0, "predicted", 0)
        ),
        resealed("a wrong label corrected", change_row("tracks.csv", 0, "label", 0)),
        resealed("an unsure track made sure", change_row("tracks.csv", 1, "confidence", 0.999)),
        resealed("tracks left out", lose_rows("tracks.csv", 5)),
        resealed("pictures left out", lose_rows("student_after.csv", 5)),
        resealed("another truth", change_row("student_after.csv", 0, "truth", 9)),
        resealed(
            "more storage",
            change_record(SETTING, lambda content: content.update(storage_bytes=10**9)),
        ),
        resealed(
            "a view that there is not",
            change_record(SETTING, lambda content: content.update(views_deg=[0, 30, 95])),
        ),
        resealed("steps outside the training", change_row("steps.csv", 0, "start_ns", 1)),
    ),
    "viewpoint-student": (
        recomputed(
            "a larger student",
            change_record("student.json", lambda content: content.update(parameters=10**6)),
        ),
        recomputed("steps left out", lose_rows("steps.csv", 3)),
        recomputed(
            "another number of epochs",
            change_record(SETTING, lambda content: content.update(epochs=7)),
        ),
        recomputed(
            "a teacher that was still at work",
            change_record("teacher.json", lambda content: content.update(end_ns=10**12)),
        ),
        recomputed(
            "a step within another one", change_row("steps.csv", 1, "start_ns", 110 * 10**9 + 1)
        ),
    ),
    "viewpoint-idle": (
        recomputed(
            "an ordinary priority",
            change_record(SETTING, lambda content: content.update(idle="none")),
        ),
        recomputed(
            "more CPU time than cores",
            change_record("student.json", lambda content: content.update(cpu_s=1000.0)),
        ),
        recomputed(
            "no CPU time",
            change_record("student.json", lambda content: content.update(cpu_s=0.0)),
        ),
    ),
}
