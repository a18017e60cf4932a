"""Folders at or below given paths, read one by one."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from reporter.data.frames import Row
from reporter.data.text import one_line, reason_of
from suite.errors import SuiteError

Read = TypeVar("Read")


def place_below(folder: Path, given: Path) -> str:
    """Where a folder lies, relative to the given path."""
    return folder.relative_to(given).as_posix() if folder != given else folder.resolve().name


def read_each(
    paths: Iterable[Path],
    find: Callable[[Path], Iterable[Path]],
    read: Callable[[Path, str], Read],
) -> tuple[list[Read], list[Row]]:
    """What ``read`` returns of each folder and its place, and rows of the frame ``broken`` for
    those that it raises SuiteError for."""
    found, broken = list[Read](), list[Row]()
    for given in paths:
        for folder in find(given):
            place = one_line(place_below(folder, given))
            try:
                found.append(read(folder, place))
            except SuiteError as error:
                broken.append({"place": place, "reason": reason_of(error, folder)})
    return found, broken
