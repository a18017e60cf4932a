"""What may stand in an extension's folder in place of its records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class HostileFolder:
    """``make`` writes a good folder. Files of it, other values of its setting, contents that are
    like its own files, and one of its tables."""

    make: Callable[[Path], Path]
    files: Sequence[str]
    setting: str
    values: Mapping[str, Sequence[object]]
    contents: Sequence[bytes]
    table: str
