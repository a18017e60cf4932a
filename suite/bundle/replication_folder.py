"""The folder of a replication: the fresh runs ``run_1``, ``run_2``, …, ``replication.json``, and a
manifest over all of them."""

import re
from pathlib import Path

from suite.bundle.layout import MANIFEST, RUN

RECORD = "replication.json"
AGAIN = "run `suite reproduce` again; the records of a replication are never edited"
MAX_RUNS = 100
_RUN_FOLDER = re.compile(r"run_([1-9][0-9]{0,2})")


def run_folder(directory: Path, number: int) -> Path:
    """The folder of a fresh run, counted from 1."""
    return directory / f"run_{number}"


def fresh_runs(directory: Path) -> tuple[Path, ...]:
    """The folders of the fresh runs, in their order."""
    numbers = sorted(
        int(found[1])
        for path in directory.glob("run_*")
        if (found := _RUN_FOLDER.fullmatch(path.name)) and (path / RUN).is_file()
    )
    return tuple(run_folder(directory, number) for number in numbers)


def sealed_files(directory: Path) -> tuple[Path, ...]:
    """What the manifest of a replication lists: ``replication.json`` and the manifests of the fresh
    runs."""
    return (directory / RECORD, *(run / MANIFEST for run in fresh_runs(directory)))
