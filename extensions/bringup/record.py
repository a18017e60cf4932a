"""The bring-up file: one JSON file of a board, read with bounds, and the tree of files that meters
read from it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from suite.errors import FileError, SuiteError
from suite.files.json_file import read_record
from suite.files.schema import from_plain

SCHEMA = 1
ROOTS = ("etc", "proc", "sys", "var")
"""The folders that a bring-up has files of."""
SUFFIX = ".bringup.json"
COMPLETE, RUNNING, INTERRUPTED, FAILED = "complete", "running", "interrupted", "failed"
MAX_FILES, MAX_PROGRAMS = 5000, 64
MAX_FILE_BYTES = 64 * 2**10
_COMMAND = re.compile(r"[A-Za-z0-9_-]+( [A-Za-z0-9_=.-]+)*")


@dataclass(frozen=True)
class File:
    """A file of the board by its path without the leading slash, and its content."""

    path: str
    content: str


@dataclass(frozen=True)
class Program:
    """A vendor's program: its command line, what it printed, and its exit code; None where it was
    ended after its time limit."""

    command: str
    output: str
    exit_code: int | None


@dataclass(frozen=True)
class FirstReading:
    """One value of one channel."""

    channel: str
    value: float
    unit: str


@dataclass(frozen=True)
class MeterTrial:
    """A meter's first readings on the board. ``reason`` and ``remedy`` are its own; ``settings``
    are its sensor's, as ``name=value``.

    ``is_replayed``: the meter reads the same channels from this file's tree; None for a meter whose
    source is not in the file.
    """

    name: str
    available: bool
    reason: str = ""
    remedy: str = ""
    settings: tuple[str, ...] = ()
    readings: tuple[FirstReading, ...] = ()
    is_replayed: bool | None = None


@dataclass(frozen=True)
class TotalPower:
    """The mean of a power total during a step, W; ``total`` is ``<meter>: <power rule>``."""

    total: str
    power_w: float


@dataclass(frozen=True)
class Step:
    """One constant load: busy cores, when it began and ended (s since the staircase began), and
    every total's mean power."""

    busy_cores: int
    start_s: float
    stop_s: float
    powers: tuple[TotalPower, ...] = ()


@dataclass(frozen=True)
class Range:
    """The readings of a channel during the staircase: how many, and their lowest, mean and highest
    value."""

    source: str
    channel: str
    unit: str
    count: int
    lowest: float
    mean: float
    highest: float


@dataclass(frozen=True)
class Calibration:
    """An on-board sensor against a power meter: ``sensor = gain * meter + offset_w``;
    suite.metrics.sensor_calibration explains the fields."""

    sensor: str
    meter: str
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    offset_w: float | None
    expected_low: float
    expected_high: float
    deviates: bool | None
    reason: str | None


@dataclass(frozen=True)
class BringUp:
    """Everything that a bring-up found, without what identifies its owner.

    ``status`` is complete, running (it was killed), interrupted or failed; ``failures`` says what
    could not be done. ``emulator`` names the emulator in which the machine runs, None on a board:
    nothing in the file of an emulated machine is a measurement. ``removed`` says how many
    occurrences of what were replaced.
    """

    schema: int
    suite: str
    date: str
    status: str
    emulator: str | None
    device: str
    evidence: str
    board: str | None
    compatible: tuple[str, ...]
    architecture: str
    kernel: str
    board_digest: str | None
    files: tuple[File, ...] = ()
    programs: tuple[Program, ...] = ()
    meters: tuple[MeterTrial, ...] = ()
    step_s: float | None = None
    steps: tuple[Step, ...] = ()
    ranges: tuple[Range, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    failures: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def load_bringup(path: Path) -> BringUp:
    """The bring-up in an untrusted file.

    Raises FileError for one that is missing, too large or malformed, or has a path that leads out
    of its tree.
    """
    values = read_record(path, SCHEMA)
    try:
        found = from_plain(values, BringUp, "")
    except SuiteError as error:
        raise FileError(path, f"does not hold a bring-up ({str(error)[:200]})") from error
    problem = next(_problems(found), None)
    if problem is not None:
        raise FileError(path, problem)
    return found


def plant(bringup: BringUp, root: Path) -> Path:
    """Write the board's files below ``root``, and its programs as scripts that print what was
    recorded; returns ``root``.

    Nothing of the file is executed: a script is the same for every board and prints a file.
    """
    for file in bringup.files:
        place = root / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.content, encoding="utf-8", newline="")
    for program in bringup.programs:
        name, _, arguments = program.command.partition(" ")
        script = root / "usr/bin" / name
        recorded = script.with_name(f".{name}")
        recorded.mkdir(parents=True, exist_ok=True)
        (recorded / (arguments.replace(" ", "+") or "default")).write_text(
            program.output, encoding="utf-8", newline=""
        )
        if not script.exists():
            script.write_text(_SCRIPT, encoding="utf-8")
            script.chmod(0o755)
    return root


# Prints what was recorded for these arguments, else for the first recorded ones: tegrastats is
# recorded with another interval.
_SCRIPT = """#!/bin/sh
folder="$(dirname "$0")/.$(basename "$0")"
name="$(printf %s "$*" | tr ' ' '+')"
[ -f "$folder/${name:-default}" ] || name="$(ls "$folder" | head -n 1)"
exec cat "$folder/${name:-default}"
"""


def _problems(bringup: BringUp) -> Iterator[str]:
    """Why a file must not be planted."""
    if len(bringup.files) > MAX_FILES or len(bringup.programs) > MAX_PROGRAMS:
        yield f"has more than {MAX_FILES} files or {MAX_PROGRAMS} programs"
    places = Counter(PurePosixPath(file.path) for file in bringup.files)
    for file in bringup.files:
        place = PurePosixPath(file.path)
        if (
            place.is_absolute()
            or ".." in place.parts
            or "\0" in file.path
            or not place.parts
            or place.parts[0] not in ROOTS
        ):
            yield f"has a file outside {', '.join(ROOTS)}: {file.path[:80]!r}"
        if len(file.content) > MAX_FILE_BYTES:
            yield f"has a file of more than {MAX_FILE_BYTES} characters: {file.path[:80]!r}"
        if places[place] > 1 or any(parent in places for parent in place.parents):
            yield (
                "has two files with the same path, or a path that is both a file and a folder:"
                f" {file.path[:80]!r}"
            )
    yield from (
        f"has a program that is not a plain command: {each.command[:80]!r}"
        for each in bringup.programs
        if not _COMMAND.fullmatch(each.command)
    )
