"""Checks records of a student and its teacher (`suite viewpoint`)."""

from pathlib import Path

from suite.compliance.folder_rule import FolderKind
from suite.compliance.folders import FolderVerdict, check_folder, find_folders
from suite.metrics.viewpoint import FIGURES


def find_viewpoints(path: Path) -> tuple[Path, ...]:
    """The folder at ``path``, or every such folder below it; links are not followed."""
    return find_folders(path, FIGURES)


def check_viewpoint(path: Path) -> FolderVerdict:
    """Check one of them."""
    return check_folder(path, FolderKind.VIEWPOINT, FIGURES)
