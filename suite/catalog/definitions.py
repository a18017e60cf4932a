"""Folders of TOML files, one definition each, the file named after the definition."""

import difflib
from pathlib import Path
from typing import Protocol, TypeVar

from suite.errors import SuiteError
from suite.files.toml_file import read_toml


class Named(Protocol):
    """A definition that carries its own name."""

    @property
    def name(self) -> str:
        """The name that commands use."""


Definition = TypeVar("Definition", bound=Named)


def load_one(folder: Path, kind: type[Definition], word: str, name: str, plural: str | None = None) -> Definition:
    """The definition of this name; ``word`` says in the error what was looked for, ``plural`` (default: an s more) how `suite list` calls it."""
    names = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in names:
        raise SuiteError(unknown_name(word, name, names, f"`suite list {plural or word + 's'}`"))
    return _load(folder / f"{name}.toml", kind)


def load_all(folder: Path, kind: type[Definition]) -> tuple[Definition, ...]:
    """Every definition of the folder, by name."""
    return tuple(_load(path, kind) for path in sorted(folder.glob("*.toml")))


def unknown_name(word: str, name: str, names: list[str], command: str) -> str:
    """One sentence for a name that does not exist, with the nearest that does."""
    nearest = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"There is no {word} {name!r}; {hint}{command} shows the known ones ({', '.join(names)})."


def _load(path: Path, kind: type[Definition]) -> Definition:
    definition = read_toml(path, kind)
    if definition.name != path.stem:
        raise SuiteError(f"{path}: the name is {definition.name!r} but the file is called {path.stem!r}; make them equal.")
    return definition
