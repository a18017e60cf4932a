"""What a run of the benchmarks found (``benchmarks.json``): the page is rendered from it alone."""

import enum
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.runner.benchmark import Ratio, Skipped
from suite.errors import SuiteError
from suite.files.json_file import read_json
from suite.files.paths import repository_root
from suite.files.schema import from_plain
from suite.machine.system import cpu_model

SCHEMA = 1
JSON_NAME, PAGE_NAME = "benchmarks.json", "benchmarks.md"
RESULTS = (f"docs/{JSON_NAME}", f"docs/{PAGE_NAME}")


class Outcome(str, enum.Enum):
    """How a benchmark ended."""

    COMPLETE = "complete"
    SKIPPED = "skipped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Entry:
    """One benchmark: its outcome, and every ratio that it had measured by then. Load averages are
    those of the last minute."""

    name: str
    question: str
    outcome: Outcome
    reason: str | None = None
    taken_s: float = 0.0
    load_before: float | None = None
    load_after: float | None = None
    ratios: tuple[Ratio, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True)
class Machine:
    """Where the benchmarks ran; ``cores`` are those that the process may use."""

    processor: str
    cores: int
    memory_gib: float
    kernel: str
    python: str


@dataclass(frozen=True)
class Record:
    """A run of benchmarks; ``commit`` ends with ``+changes`` if tracked files differed from it."""

    schema: int
    is_quick: bool
    started: str  # UTC, ISO 8601
    taken_s: float
    commit: str
    machine: Machine
    entries: tuple[Entry, ...]


def read_record(path: Path) -> Record:
    """The record in a JSON file; raises SuiteError for unknown or missing keys and for another
    schema."""
    record = from_plain(read_json(path), Record, f"{path}: ")
    if record.schema != SCHEMA:
        raise SuiteError(
            f"{path}: schema {record.schema} is not {SCHEMA}; run the benchmarks again: make bench"
        )
    return record


def this_machine() -> Machine:
    """The machine that this process runs on."""
    memory_gib = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    processor = cpu_model() or platform.machine()
    return Machine(
        processor,
        len(os.sched_getaffinity(0)),
        memory_gib,
        platform.release(),
        platform.python_version(),
    )


def this_commit(root: Path | None = None, results: Sequence[str] = RESULTS) -> str:
    """The commit checked out, with ``+changes`` if files differ from it; ``results``, paths or
    patterns, do not count. "unknown" outside Git."""
    root = root or repository_root()
    try:
        commit = _git(root, "rev-parse", "--short=10", "HEAD")
        changes = _git(root, "status", "--porcelain", "--", ".", *(f":!{name}" for name in results))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return commit + ("+changes" if changes else "")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()
