"""The run of LeNet-5 that goes with a bring-up, and the file that holds both."""

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from suite.catalog.divisions import Division
from suite.errors import SuiteError
from suite.execution.events import Progress
from suite.execution.request import RunOptions
from suite.execution.resolve import resolve_options
from suite.experiments.one_run import run_one

OPTIONS = RunOptions(Division.OPEN, "auto", "lenet", "pytorch", data="digits")
COMMAND = (
    "suite run --division open --device auto --workload lenet --framework pytorch --data digits"
)
"""What makes the same run."""
ARCHIVE = ".zip"
SHOWN = ("run.json", "system.json", "output.txt")
"""The files of a run in which a machine is described; the others hold numbers and events."""


def train(directory: Path, with_identity: bool, progress: Progress) -> None:
    """Train LeNet-5 on the bundled digits, with every meter of this machine."""
    request = resolve_options(replace(OPTIONS, with_identity=with_identity), directory)
    words = (*COMMAND.split(), *(() if with_identity else ("--no-identity",)))
    run_one(request, allow_invalid=False, command=words, progress=progress)


def described(run: Path) -> Iterator[tuple[str, str]]:
    """What a run says of its machine, by file, and what else it holds."""
    for name in filter(lambda each: (run / each).is_file(), SHOWN):
        yield f"run/{name}", (run / name).read_text(encoding="utf-8", errors="replace")
    others = sorted(path for path in run.rglob("*") if path.is_file() and path.name not in SHOWN)
    sizes = (f"{path.relative_to(run)} ({path.stat().st_size} bytes)" for path in others)
    yield "run, numbers and events", ", ".join(sizes)


def beside_archive(archive: Path) -> Path:
    """Where the bring-up itself is written, for an archive of this name."""
    if archive.suffix != ARCHIVE:
        raise SuiteError(
            f"With --train the file is a {ARCHIVE} that also holds a run; use --output"
            f" {archive.with_suffix(ARCHIVE)}."
        )
    return archive.with_suffix(".json")


def archive_of(bringup: Path) -> Path:
    """The file that holds a run as well, beside the bring-up's."""
    return bringup.with_suffix(ARCHIVE)


def pack(bringup: Path, run: Path) -> Path:
    """Both in one file, beside the bring-up's."""
    archive = archive_of(bringup)
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED) as packed:
        packed.write(bringup, bringup.name)
        for path in sorted(path for path in run.rglob("*") if path.is_file()):
            packed.write(path, Path("run", path.relative_to(run)))
    return archive
