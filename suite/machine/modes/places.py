"""Where the journal of power settings is. This module is loaded by every command, so it imports
little."""

from pathlib import Path

from suite.files.paths import suite_home

FOLDER = "var/lib/edge-training-suite/power"
RECORDS = ("held.json", "kept.json")
SYSTEM = Path("/")


def journal_folders(root: Path) -> tuple[Path, ...]:
    """Where a journal may be: the machine's folder, and for the real machine the user's."""
    return (root / FOLDER, *((suite_home() / "power",) if root == SYSTEM else ()))


def has_records(root: Path = SYSTEM) -> bool:
    """Whether there may be anything to put back; cheap, since every command asks."""
    return any(
        is_readable_file(folder / name) for folder in journal_folders(root) for name in RECORDS
    )


def is_readable_file(path: Path) -> bool:
    """Whether the file is there; False where this user may not look."""
    try:
        return path.exists()
    except OSError:
        return False
