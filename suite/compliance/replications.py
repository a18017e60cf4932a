"""Checks replications: the fresh runs by the rules of bundles, then the record and its seal."""

from pathlib import Path

from suite.bundle.replication_folder import RECORD
from suite.compliance.folder_rule import FolderKind
from suite.compliance.folders import FolderVerdict, check_folder, find_folders


def find_replications(path: Path) -> tuple[Path, ...]:
    """The replication at ``path``, or every replication below it; links are not followed."""
    return find_folders(path, RECORD)


def check_replication(path: Path) -> FolderVerdict:
    """Check a replication."""
    return check_folder(path, FolderKind.REPLICATION, RECORD)
