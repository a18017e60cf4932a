"""Files below a folder that anybody may have filled: links are not followed, depth, number and size
are bounded."""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from suite.errors import SuiteError

SITE_MARK = ".edge-training-site"
"""In the folder of a site that `suite report` made; its copies of records are no runs."""
MAX_DEPTH = 64
MAX_FILES = 20_000
MAX_BYTES = 2 * 2**30


def paths_below(folder: Path) -> list[Path]:
    """Every file, folder and link below ``folder``, sorted. Links are not followed, and folders
    deeper than MAX_DEPTH not entered."""
    return sorted(_walk(folder))


def files_below(folder: Path, *names: str) -> Iterator[Path]:
    """The plain files of these names at or below ``folder``, sorted; not those in sites below.
    Raises SuiteError for a folder of a site."""
    refuse_site(folder)
    return iter(sorted(_paths_named(folder, names)))


def _paths_named(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """By the names in each folder: paths of all other files are not even made."""
    pending = [(folder, 1)]
    while pending:
        place, depth = pending.pop()
        with suppress(OSError), os.scandir(place) as entries:
            found = {entry.name: entry for entry in entries}
            if SITE_MARK in found:
                continue
            for name in found.keys() & names:
                if found[name].is_file(follow_symlinks=False):
                    yield place / name
            if depth < MAX_DEPTH:
                folders = (each for each in found.values() if each.is_dir(follow_symlinks=False))
                pending += [(place / each.name, depth + 1) for each in folders]


def folders_below(folder: Path) -> Iterator[Path]:
    """The folders below ``folder``, sorted; not those in sites. Raises SuiteError for a folder of a
    site."""
    refuse_site(folder)
    return (path for path in _outside_sites(folder) if stat.S_ISDIR(_state(path).st_mode))


def _outside_sites(folder: Path) -> Iterator[Path]:
    found = paths_below(folder)
    sites = {path.parent for path in found if path.name == SITE_MARK}
    return (path for path in found if not sites or sites.isdisjoint((path, *path.parents)))


def refuse_site(path: Path) -> None:
    """Raise SuiteError for a site that `suite report` made, and for a path in one."""
    place = Path(os.path.realpath(path))
    for folder in (place, *place.parents):
        if stat.S_ISREG(_state(folder / SITE_MARK).st_mode):
            raise SuiteError(
                f"{path} is {'' if folder == place else f'in {folder}, '}a site that `suite report`"
                " made, and its runs are copies; give the path of the original runs."
            )


def in_one_spelling(paths: Iterable[Path]) -> list[Path]:
    """Each path once. One that lies in another is written as a path in that one: what is found
    below both has one name."""
    real = {path: Path(os.path.realpath(path)) for path in paths}
    found = []
    for place in real.values():
        above = (path for path in real if place.is_relative_to(real[path]))
        outer = min(above, key=lambda path: len(real[path].parts))
        found.append(outer / place.relative_to(real[outer]))
    return list(dict.fromkeys(found))


def refuse_large(folder: Path) -> None:
    """Raise SuiteError where more than MAX_FILES files, or MAX_BYTES, are below ``folder``: reading
    and hashing them would take long."""
    states = [_state(path) for path in paths_below(folder)]
    sizes = [state.st_size for state in states if not stat.S_ISDIR(state.st_mode)]
    if len(sizes) > MAX_FILES or sum(sizes) > MAX_BYTES:
        held, most = (
            f"{len(sizes)} files with {sum(sizes) / 1e9:.1f} GB",
            f"{MAX_FILES} files with {MAX_BYTES / 1e9:.1f} GB",
        )
        raise SuiteError(
            f"{folder} holds {held}; the limit for a submission or bundle is {most}: remove what"
            " does not belong to it."
        )


def _state(path: Path) -> os.stat_result:
    """What a path is: a link itself, for its target may be where this user must not look; zeros for
    what has gone meanwhile."""
    try:
        return path.lstat()
    except OSError:
        return os.stat_result((0,) * 10)


def _walk(folder: Path) -> Iterator[Path]:
    """In a loop: Python's own walks call themselves for every folder."""
    pending = [(folder, 1)]
    while pending:
        place, depth = pending.pop()
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                path = place / entry.name
                yield path
                if depth < MAX_DEPTH and entry.is_dir(follow_symlinks=False):
                    pending.append((path, depth + 1))
