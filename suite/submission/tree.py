"""A submission on disk: ``<round>/<organization>/`` with declaration, system, probes, and ``<workload>/<framework>/run_<n>/`` bundles."""

import re
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.layout import RUN
from suite.errors import SuiteError
from suite.submission.declaration import NAME

SYSTEM = "system.json"
PROBES = "probes"
WITHDRAWN = "WITHDRAWN"
_RUN_FOLDER = re.compile(r"run_[1-9][0-9]{0,3}")


@dataclass(frozen=True)
class Place:
    """Where a bundle lies in a submission, and what its folders say that it is."""

    path: Path
    workload: str
    framework: str


def places(submission: Path) -> tuple[tuple[Place, ...], tuple[Path, ...]]:
    """The bundles in their places, and every file that has no place in a submission (links among them, never followed)."""
    bundles: list[Place] = []
    stray: list[Path] = []
    for path in sorted(submission.rglob("*")):
        parts = path.relative_to(submission).parts
        if path.is_symlink() or (path.is_file() and not _has_place(parts)):
            stray.append(path)
        elif path.is_file() and len(parts) == 4 and parts[3] == RUN:
            bundles.append(Place(path.parent, parts[0], parts[1]))
    return tuple(bundles), tuple(stray)


def _has_place(parts: tuple[str, ...]) -> bool:
    if len(parts) == 1:
        return parts[0] in (NAME, SYSTEM, WITHDRAWN)
    if len(parts) == 2 and parts[0] == PROBES:
        return parts[1].endswith(".json")
    return len(parts) == 4 and _RUN_FOLDER.fullmatch(parts[2]) is not None


def probe_path(submission: Path, workload: str, framework: str) -> Path:
    """Where the verdict of `suite verify-model` on an implementation lies."""
    return submission / PROBES / f"{workload}-{framework}.json"


def find_submissions(path: Path) -> tuple[Path, ...]:
    """The submission at ``path``, or every one below it, links not followed; raises SuiteError when ``path`` does not exist."""
    if not path.exists():
        raise SuiteError(f"{path} does not exist; give the path of a submission.")
    if (path / NAME).is_file():
        return (path,)
    return tuple(sorted(file.parent for file in path.rglob(NAME) if file.is_file() and not file.is_symlink()))
