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
SHOWN = ("run.json", "system.json", "output.txt")
"""The files of a run in which a machine is described; the others hold numbers and events."""


def train(directory: Path, with_identity: bool, progress: Progress) -> None:
    """Train LeNet-5 on the bundled digits, with every meter of this machine."""
    request = resolve_options(replace(OPTIONS, with_identity=with_identity), directory)
    words = (*COMMAND.split(), *(() if with_identity else ("--no-identity",)))
    run_one(request, allow_invalid=False, command=words, progress=progress)


def described(run: Path) -> Iterator[tuple[str, str]]:
    """What a run says of its machine, by file, and what else it holds."""
    for name in SHOWN:
        yield f"run/{name}", (run / name).read_text(encoding="utf-8", errors="replace")
    others = sorted(path for path in run.rglob("*") if path.is_file() and path.name not in SHOWN)
    sizes = (f"{path.relative_to(run)} ({path.stat().st_size} bytes)" for path in others)
    yield "run, numbers and events", ", ".join(sizes)


def pack(bringup: Path, run: Path) -> Path:
    """Both in one file, beside the bring-up's."""
    archive = bringup.with_suffix(".zip")
    if archive.exists():
        raise SuiteError(f"{archive} exists; move it away and type the same command again.")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(bringup, bringup.name)
        for path in sorted(path for path in run.rglob("*") if path.is_file()):
            packed.write(path, Path("run", path.relative_to(run)))
    return archive
