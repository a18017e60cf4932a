"""``memory_study.json``: peaks of memory and recompute factors over depth, mini-batch and picture,
planned, measured and published."""

from dataclasses import dataclass
from pathlib import Path

from suite.errors import FileError
from suite.files.json_file import read_record
from suite.files.schema import from_plain
from suite.metrics.sealed_record import SealedRecord

STUDY = "memory_study.json"
SCHEMA = 1
MAX_ROWS = 10_000


@dataclass(frozen=True)
class Point:
    """A recompute factor and the highest memory with it, bytes."""

    factor: float
    size_bytes: float


@dataclass(frozen=True)
class Line:
    """Points of one network, smallest factor first."""

    network: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Measurement:
    """One schedule on one network: planned, and measured in a process of its own.

    ``measured_bytes`` is the highest resident set (VmHWM). ``factor`` is the CPU time of a step
    over that of a step without recomputation; None where that was not measured. ``steps`` is the
    number of steps behind it.
    """

    network: str
    schedule: str
    planned_factor: float
    planned_bytes: int
    factor: float | None
    measured_bytes: int
    steps: int


@dataclass(frozen=True)
class Panel:
    """A panel of Figure 1 of Kukreja et al. (PAISE 2019).

    ``planned`` is by the suite's planner, everything included; ``paper`` is the paper's model,
    Revolve on a chain of equal layers, without framework and optimizer; ``published`` are the
    values of the paper's tables, all at a factor of 1.
    """

    name: str
    image: int
    batch: int
    planned: tuple[Line, ...]
    paper: tuple[Line, ...]
    published: tuple[Line, ...]
    measured: tuple[Measurement, ...]


@dataclass(frozen=True)
class Fit:
    """Whether a network trains in a memory, at the study's mini-batch and picture.

    ``largest_batch`` fits without recomputation, None if not even one picture does; ``factor`` is
    that of the schedule that fits, None if none does.
    """

    memory_gb: float
    devices: tuple[str, ...]
    network: str
    largest_batch: int | None
    factor: float | None


@dataclass(frozen=True)
class MemoryStudy:
    """The study: the machine, the framework's own resident size, and a budget that the panels have
    a line at."""

    schema: int
    title: str
    cpu_model: str | None
    optimizer: str
    framework_bytes: int
    framework_source: str
    budget_bytes: int
    fits_batch: int
    fits_image: int
    panels: tuple[Panel, ...]
    fits: tuple[Fit, ...]


def read_memory_study(directory: Path) -> MemoryStudy:
    """Read the record; raises FileError where it is malformed or has no panels."""
    path = directory / STUDY
    study = from_plain(read_record(path, SCHEMA), MemoryStudy, f"{path}: ")
    rows = sum(
        len(line.points)
        for panel in study.panels
        for line in (*panel.planned, *panel.paper, *panel.published)
    ) + len(study.fits)
    if not study.panels or rows > MAX_ROWS or not all(panel.planned for panel in study.panels):
        raise FileError(
            path,
            "must have at least one panel, a planned line in every panel, and at most"
            f" {MAX_ROWS} points and entries of `fits` together",
        )
    return study


MEMORY_STUDY = SealedRecord(
    STUDY, "make the study again (`suite memory study`)", lambda folder: [folder / STUDY]
)
