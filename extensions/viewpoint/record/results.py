"""The figures of a student and its teacher: labels and their noise, accuracy by view before and
after, time and energy of the training."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.errors import FileError
from suite.extensions.viewpoint.programs.labels import kept
from suite.extensions.viewpoint.programs.tracks import tested_pictures
from suite.extensions.viewpoint.record.records import Prediction, Recording, Setting, read_recording
from suite.metrics.proportion import Proportion, proportion
from suite.metrics.sealed_record import SealedRecord

FIGURES, SCHEMA = "viewpoint.json", 1


@dataclass(frozen=True)
class Labels:
    """The teacher was ``sure`` of some of the ``tracks``, of which ``kept`` ones fitted the
    storage: ``frames`` of ``size_bytes`` in all.

    ``noise`` is the share of kept tracks with a wrong label, and so of frames: all tracks have
    equally many.
    """

    tracks: int
    sure: int
    kept: int
    frames: int
    size_bytes: int
    noise: Proportion


@dataclass(frozen=True)
class View:
    """Accuracy at a view: the teacher's, the student's before its first step and after its last
    one."""

    view_deg: int
    teacher: Proportion
    before: Proportion
    after: Proportion


@dataclass(frozen=True)
class Training:
    """The student's training: ``cpu_s`` over ``time_s`` is the mean of the cores that it got."""

    steps: int
    samples: int
    time_s: float
    cpu_s: float


@dataclass(frozen=True)
class Results:
    """All figures."""

    setting: Setting
    teacher_parameters: int
    student_parameters: int
    labels: Labels
    views: tuple[View, ...]
    training: Training


def read_results(folder: Path) -> Results:
    """The figures of the records in a folder; raises FileError for records that they cannot be
    computed from."""
    found = read_recording(folder)
    return Results(
        found.setting,
        found.teacher.parameters,
        found.student.parameters,
        labels_of(found, folder),
        _views(found, folder),
        _training(found, folder),
    )


def as_dict(found: Results) -> dict[str, Any]:
    """The figures as JSON values."""
    return {"schema": SCHEMA, **asdict(found)}


def labels_of(found: Recording, folder: Path) -> Labels:
    """The labels; raises FileError where no track was kept."""
    setting, tracks = found.setting, found.tracks
    chosen = [
        track
        for track, is_kept in zip(
            tracks, kept(tracks, setting.sure, setting.storage_bytes), strict=True
        )
        if is_kept
    ]
    if not chosen:
        raise FileError(folder, "has no labelled track")
    wrong = sum(track.label != track.truth for track in chosen)
    sure = sum(track.confidence >= setting.sure for track in tracks)
    size = sum(track.size_bytes for track in chosen)
    return Labels(
        len(tracks),
        sure,
        len(chosen),
        len(chosen) * setting.frames,
        size,
        proportion(wrong, len(chosen)),
    )


def _views(found: Recording, folder: Path) -> tuple[View, ...]:
    tested = tested_pictures(found.setting.tracks, found.teacher.pictures)
    truths = {row.place: row.truth for row in found.predictions[0]}
    expected = [
        (view, place, truths.get(place))
        for view in found.setting.views_deg
        for place in range(tested)
    ]
    if not expected or any(
        [(row.view_deg, row.place, row.truth) for row in rows] != expected
        for rows in found.predictions
    ):
        raise FileError(folder, "has predictions of other pictures or views than its setting names")
    return tuple(
        View(view, *(_accuracy(rows, view) for rows in found.predictions))
        for view in found.setting.views_deg
    )


def _accuracy(rows: Sequence[Prediction], view_deg: int) -> Proportion:
    own = [row.predicted == row.truth for row in rows if row.view_deg == view_deg]
    return proportion(sum(own), len(own))


def _training(found: Recording, folder: Path) -> Training:
    student, steps = found.student, found.steps
    if not steps or steps[0].start_ns < student.start_ns or steps[-1].end_ns > student.end_ns:
        raise FileError(
            folder, "has no training steps, or steps outside the student's training time"
        )
    time_s = (student.end_ns - student.start_ns) * SECONDS_PER_NS
    return Training(len(steps), sum(step.samples for step in steps), time_s, student.cpu_s)


STUDENT = SealedRecord(
    FIGURES,
    "make it again (`suite viewpoint`); records are never edited",
    compute=lambda folder: as_dict(read_results(folder)),
)


def close(folder: Path) -> Results:
    """Write the figures and the manifest; returns the figures."""
    found = read_results(folder)
    STUDENT.write(folder, as_dict(found))
    return found
