"""Files that another process appends to."""

from pathlib import Path


def read_after(path: Path, position: int) -> tuple[bytes, int]:
    """What was appended after ``position``, and the new position. Raises OSError."""
    with path.open("rb") as stream:
        stream.seek(position)
        added = stream.read()
    return added, position + len(added)


def lines_after(path: Path, position: int) -> tuple[bytes, int]:
    """The complete lines after ``position``, and where the incomplete one begins; nothing while
    there is no file."""
    try:
        added, _ = read_after(path, position)
    except FileNotFoundError:
        return b"", position
    whole = added[: added.rfind(b"\n") + 1]
    return whole, position + len(whole)
