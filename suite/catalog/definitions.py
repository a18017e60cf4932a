"""Loads folders of TOML files: one definition per file, the file named after the definition."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from suite.errors import SuiteError
from suite.files.names import nearest
from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml


class Named(Protocol):
    """A definition with a name."""

    @property
    def name(self) -> str:
        """The name used in commands."""


Definition = TypeVar("Definition", bound=Named)


@dataclass(frozen=True)
class Definitions(Generic[Definition]):
    """The definitions of one ``kind``: a folder of ``rules/``. ``noun`` and ``plural`` as
    :func:`load_one`."""

    place: str
    kind: type[Definition]
    noun: str
    plural: str | None = None

    def folder(self, root: Path | None = None) -> Path:
        """The folder of the definitions."""
        return rules_folder(root) / self.place

    def load(self, name: str, root: Path | None = None) -> Definition:
        """The definition of this name; raises SuiteError with the nearest name if there is none."""
        return load_one(self.folder(root), self.kind, self.noun, name, self.plural)

    def load_all(self, root: Path | None = None) -> tuple[Definition, ...]:
        """All definitions, sorted by name."""
        return load_all(self.folder(root), self.kind)


def load_one(
    folder: Path, kind: type[Definition], noun: str, name: str, plural: str | None = None
) -> Definition:
    """The definition of this name. The error for an unknown name uses ``noun``, and ``plural``
    (default: with an s) for `suite list`."""
    names = sorted(each.stem for each in folder.glob("*.toml"))
    if name not in names:
        raise SuiteError(unknown_name(noun, name, names, f"`suite list {plural or noun + 's'}`"))
    return _load(folder / f"{name}.toml", kind)


def load_all(folder: Path, kind: type[Definition]) -> tuple[Definition, ...]:
    """All definitions of the folder, sorted by name."""
    return tuple(_load(path, kind) for path in sorted(folder.glob("*.toml")))


def unknown_name(noun: str, name: str, names: list[str], command: str) -> str:
    """The error sentence for an unknown name, with the nearest known one."""
    hint = nearest(name, names)
    return (
        f"There is no {noun} {name!r}; {hint}{command} shows the known ones ({', '.join(names)})."
    )


def _load(path: Path, kind: type[Definition]) -> Definition:
    state = path.stat()
    loaded: Definition = _loaded(path, kind, (state.st_mtime_ns, state.st_size, state.st_ino))
    return loaded


@lru_cache(maxsize=256)
def _loaded(path: Path, kind: type[Definition], _state: tuple[int, int, int]) -> Definition:
    """A definition, read once for each state of its file: a check asks for the workload of every
    bundle."""
    definition = read_toml(path, kind)
    if definition.name != path.stem:
        raise SuiteError(
            f"{path}: the name is {definition.name!r} but the file is called {path.stem!r}; make"
            " them equal."
        )
    return definition
