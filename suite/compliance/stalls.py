"""Checks stall analyses: the three bundles by the rules of bundles, then the whole."""

from collections.abc import Sequence
from pathlib import Path

from suite.bundle.stall_folder import RECORD, Source
from suite.compliance.folder_rule import FolderKind
from suite.compliance.folders import FolderVerdict, check_folder, find_folders

ALLOWED = "data-read"
"""The rule that runs of an analysis break on purpose: they are no results."""


def find_stall_folders(path: Path) -> tuple[Path, ...]:
    """The analysis at ``path``, or every analysis below it; links are not followed."""
    return find_folders(path, RECORD)


def check_stall_folder(path: Path) -> FolderVerdict:
    """Check an analysis."""
    return check_folder(path, FolderKind.STALLS, RECORD)


def is_part(bundle: Path, analyses: Sequence[Path]) -> bool:
    """Whether the bundle is one of the three of an analysis."""
    return bundle.parent in analyses and bundle.name in [source.value for source in Source]
