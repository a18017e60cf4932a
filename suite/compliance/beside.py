"""Checks experiments with training beside inference."""

from pathlib import Path

from suite.compliance.folder_rule import FolderKind
from suite.compliance.folders import FolderVerdict, check_folder
from suite.concurrent.layout import FIGURES, MEASUREMENT, batch_sizes
from suite.files.tree import files_below


def find_experiments(path: Path) -> tuple[Path, ...]:
    """The experiment at ``path``, or every experiment below it; links are not followed. Trials of
    tuning are none: they have no baselines."""
    folders = {file.parent.parent for file in files_below(path, MEASUREMENT) if file.parent != path}
    return tuple(
        sorted(folder for folder in folders if batch_sizes(folder) or (folder / FIGURES).is_file())
    )


def check_experiment(path: Path) -> FolderVerdict:
    """Check an experiment."""
    return check_folder(path, FolderKind.BESIDE, FIGURES)
