"""The raw records of a student and its teacher, in one folder: every figure is computed from these
files.

``setting.json``
    what was done, with which teacher, and what the machine did meanwhile (:class:`Setting`)
``tracks.csv``, ``teacher.csv``, ``student_before.csv``, ``student_after.csv``, ``steps.csv``
    tables of the two processes (suite.extensions.viewpoint.programs.task)
``teacher.json``, ``student.json``
    the processes' facts
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from suite.errors import FileError
from suite.extensions.viewpoint.programs.labels import Judged
from suite.extensions.viewpoint.programs.task import (
    PREDICTION_COLUMNS,
    PREDICTIONS,
    STEP_COLUMNS,
    STEPS,
    STUDENT,
    TEACHER,
    TRACK_COLUMNS,
    TRACKS,
)
from suite.extensions.viewpoint.programs.tracks import MAX_TESTED, MAX_VIEW_DEG
from suite.files.json_file import read_json, read_record
from suite.files.schema import from_plain

SETTING, SCHEMA = "setting.json", 1
MAX_TRACKS, MAX_FRAMES, MAX_VIEWS, MAX_STEPS = 100_000, 100, 16, 1_500_000
MAX_ROW_BYTES = 120


@dataclass(frozen=True)
class Energy:
    """Energy of the student's training, with its 95 % interval where one is known; None, with a
    reason, where no power meter was read."""

    energy_j: float | None
    low_j: float | None
    high_j: float | None
    method: str | None
    reason: str | None


@dataclass(frozen=True)
class Setting:
    """What was done. Angles in degrees; ``teacher_run`` is the id of the teacher's bundle, whose
    manifest has the SHA-256 ``teacher_manifest``.

    ``idle`` is how the kernel was told to run the student only on an idle machine. While the
    student ran, other programs used ``foreign_cores`` of ``cores`` cores, and at least one task
    waited for a CPU for the share ``waiting`` of the time (None: unknown). ``energy`` is of the
    student's training.
    """

    schema: int
    workload: str
    framework: str
    framework_version: str | None
    teacher_run: str
    teacher_manifest: str
    teacher_epoch: int
    teacher: str
    student: str
    seed: int
    tracks: int
    frames: int
    sure: float
    storage_bytes: int
    views_deg: tuple[int, ...]
    epochs: int
    threads: int
    cores: int
    idle: str
    foreign_cores: float
    waiting: float | None
    energy: Energy


@dataclass(frozen=True)
class Teacher:
    """Facts of the teacher's process: parameters, pictures of the evaluation set, and when it
    worked (monotonic clock)."""

    parameters: int
    pictures: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Student:
    """Facts of the student's process: parameters, when it trained (monotonic clock), and the CPU
    time of the training."""

    parameters: int
    start_ns: int
    end_ns: int
    cpu_s: float


@dataclass(frozen=True)
class Prediction:
    """A model's class of one tested picture at one view."""

    view_deg: int
    place: int
    truth: int
    predicted: int


@dataclass(frozen=True)
class Step:
    """A mini-batch of the student."""

    start_ns: int
    end_ns: int
    samples: int
    loss: float


@dataclass(frozen=True)
class Recording:
    """All records; ``predictions`` are the teacher's, the student's before, and the student's after
    its training."""

    setting: Setting
    tracks: tuple[Judged, ...]
    predictions: tuple[tuple[Prediction, ...], ...]
    steps: tuple[Step, ...]
    teacher: Teacher
    student: Student


Facts = TypeVar("Facts", Teacher, Student)
Row = TypeVar("Row")


def read_recording(folder: Path) -> Recording:
    """The records of a folder that anybody may have written; raises FileError for what is missing
    or impossible."""
    setting = read_setting(folder)
    tested = MAX_TESTED * len(setting.views_deg)
    return Recording(
        setting,
        _table(
            folder / TRACKS,
            TRACK_COLUMNS,
            setting.tracks,
            lambda row: Judged(
                _parse_integer(row[1]),
                _parse_integer(row[2]),
                _share(row[3]),
                _parse_integer(row[4]),
            ),
        ),
        tuple(
            _table(
                folder / name,
                PREDICTION_COLUMNS,
                tested,
                lambda row: Prediction(*map(_parse_integer, row)),
            )
            for name in PREDICTIONS
        ),
        _table(
            folder / STEPS,
            STEP_COLUMNS,
            MAX_STEPS,
            lambda row: Step(
                _parse_integer(row[0]),
                _parse_integer(row[1]),
                _parse_integer(row[2]),
                _number(row[3]),
            ),
        ),
        _facts(folder / TEACHER, Teacher),
        _facts(folder / STUDENT, Student),
    )


def read_setting(folder: Path) -> Setting:
    """The setting; raises FileError for one that the command does not take."""
    path = folder / SETTING
    found = from_plain(read_record(path, SCHEMA), Setting, f"{path}: ")
    limits = {
        "tracks": 1 <= found.tracks <= MAX_TRACKS,
        "frames": 2 <= found.frames <= MAX_FRAMES,
        "sure": 0 < found.sure < 1,
        "storage_bytes": 0 < found.storage_bytes < 2**50,
        "views_deg": (
            1 <= len(found.views_deg) <= MAX_VIEWS
            and all(0 <= view <= MAX_VIEW_DEG for view in found.views_deg)
        ),
        "epochs": 1 <= found.epochs <= MAX_STEPS,
        "seed": 0 <= found.seed < 2**32,
        "foreign_cores": math.isfinite(found.foreign_cores),
    }
    for name, is_possible in limits.items():
        if not is_possible:
            raise FileError(
                path,
                f"{name} is {getattr(found, name)!r}, which `suite viewpoint` does not allow"[:200],
            )
    return found


def _facts(path: Path, kind: type[Facts]) -> Facts:
    if path.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    found = from_plain(read_json(path), kind, f"{path}: ")
    if not 0 < found.start_ns < found.end_ns < 10**18 or not 0 < found.parameters < 10**12:
        raise FileError(path, "has impossible times or parameters")
    return found


def _table(
    path: Path, columns: Sequence[str], most: int, parse: Callable[[list[str]], Row]
) -> tuple[Row, ...]:
    """The rows below the heading, parsed."""
    if path.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    if path.stat().st_size > (most + 1) * MAX_ROW_BYTES:
        raise FileError(path, f"is too large: it may have at most {most} rows")
    try:
        heading, *lines = path.read_text(encoding="ascii").splitlines()
        if heading.split(",") != list(columns) or len(lines) > most:
            raise ValueError(f"expected the columns {','.join(columns)}, in {most} rows at most")
        return tuple(parse(_split(line, len(columns))) for line in lines)
    except ValueError as error:
        raise FileError(path, f"cannot be read ({str(error)[:150]})") from error


def _split(line: str, columns: int) -> list[str]:
    values = line.split(",")
    if len(values) != columns:
        raise ValueError(f"{line[:60]!r} does not have {columns} values")
    return values


def _parse_integer(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]!r} is not a finite number")
    return value


def _share(text: str) -> float:
    value = _number(text)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{text[:40]!r} is not a probability")
    return value
