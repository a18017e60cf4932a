"""Records of an experiment with other content, sealed again and checked: what the hostile-input
tests of every kind of folder share."""

import json
import shutil
from pathlib import Path

from suite.bundle.manifest import seal
from suite.compliance.paths import CheckResult, check_paths

NO_RECORD = {
    "empty": b"",
    "bytes": bytes(range(256)),
    "a list": b"[1, 2]",
    "an empty object": b"{}",
    "nested": b"[" * 3000,
}
"""Contents that are no record of any kind."""


def checked_with(good: Path, name: str, content: bytes, tmp_path: Path) -> CheckResult:
    """The verdict about a copy of ``good`` in which the file ``name`` has this content."""
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    (folder / name).write_bytes(content)
    seal(folder)
    return check_paths([folder])


def checked_with_value(
    good: Path, name: str, key: str, value: object, tmp_path: Path
) -> CheckResult:
    """The verdict about a copy in which a key of the JSON file ``name`` has this value."""
    values = {**json.loads((good / name).read_text()), key: value}
    return checked_with(good, name, json.dumps(values).encode(), tmp_path)


def checked_with_link(good: Path, name: str, tmp_path: Path) -> CheckResult:
    """The verdict about a copy in which the file ``name`` is a link to the same content
    elsewhere."""
    folder = Path(shutil.copytree(good, tmp_path / "x"))
    (folder / name).rename(tmp_path / "elsewhere.csv")
    (folder / name).symlink_to(tmp_path / "elsewhere.csv")
    return check_paths([folder])
