"""Extensions: what a researcher adds, one folder each, described by its ``extension.toml``.

Those of the suite are the folders of ``suite.extensions``. One of another distribution names its
package in the entry points of the group GROUP. A folder has its parts under fixed names, modules or
packages; a part is imported when something asks for it, and never to find the extension.
"""

import enum
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType

from suite.errors import SuiteError
from suite.files.toml_file import read_toml

GROUP = "edge_training_suite.extensions"
FILE = "extension.toml"
OWN = "suite.extensions"


class ExtensionPart:
    """Names of parts. ``programs`` run in the environment of a framework."""

    API, COMMAND, MEASURING, RECORD, RULES, FIGURES, PAGE, PROGRAMS = (
        "api",
        "command",
        "measuring",
        "record",
        "rules",
        "figures",
        "page",
        "programs",
    )


class Panel(str, enum.Enum):
    """The groups of commands in `suite --help`."""

    START = "Start"
    TRAIN = "Train"
    UNDERSTAND = "Understand"
    BOARDS = "Boards"
    STUDIES = "Studies"
    SUBMIT = "Submit"


@dataclass(frozen=True)
class ListedCommand:
    """A command: the attribute of the part ``module`` that has its name, a dash an underscore
    there, or else the Typer ``app``. ``help`` is the first paragraph of its help, ``panel`` where
    `suite --help` lists it."""

    name: str
    help: str
    module: str = ExtensionPart.COMMAND
    panel: Panel = Panel.STUDIES


@dataclass(frozen=True)
class Example:
    """How a command or subcommand is typed: the end of its help."""

    command: str
    typed: str


@dataclass(frozen=True)
class Extension:
    """``title`` says what its folders hold, which are found by the file ``record``, or by the
    pattern ``holds``. ``functions`` are those that suite.api has from the part ``api``. ``package``
    and ``folder`` are where it was found."""

    title: str
    record: str | None = None
    holds: str | None = None
    commands: tuple[ListedCommand, ...] = ()
    examples: tuple[Example, ...] = ()
    functions: tuple[str, ...] = ()
    package: str = ""
    folder: str = ""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.package.rpartition(".")[2]

    def has(self, name: str) -> bool:
        """Whether there is a part of this name; it is not imported."""
        return importlib.util.find_spec(f"{self.package}.{name}") is not None

    def part(self, name: str) -> ModuleType | None:
        """Import a part; None if there is none of this name."""
        return importlib.import_module(f"{self.package}.{name}") if self.has(name) else None


@cache
def extensions() -> tuple[Extension, ...]:
    """Every extension, by name; raises SuiteError for one that cannot be read."""
    from importlib.metadata import entry_points  # start-up: loads email

    own = Path(importlib.import_module(OWN).__path__[0])
    places = {f"{OWN}.{path.parent.name}": path.parent for path in own.glob(f"*/{FILE}")}
    for entry in entry_points(group=GROUP):
        places[entry.value] = _folder(entry.value)
    found = [read_extension(folder / FILE, package) for package, folder in places.items()]
    return tuple(sorted(found, key=lambda each: each.name))


def read_extension(file: Path, package: str) -> Extension:
    """The extension that a file describes, in the folder of its package."""
    return replace(read_toml(file, Extension), package=package, folder=str(file.parent))


def extension_modules(part: str) -> Iterator[tuple[Extension, ModuleType]]:
    """This part of every extension that has it; of a package its modules, too."""
    for extension in extensions():
        module = extension.part(part)
        if module is None:
            continue
        yield extension, module
        for below in pkgutil.iter_modules(getattr(module, "__path__", ())):
            yield extension, importlib.import_module(f"{module.__name__}.{below.name}")


def _folder(package: str) -> Path:
    """Where a package of another distribution is."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise SuiteError(
            f"The extension {package} is registered, but there is no such package; install its"
            " distribution again, or uninstall it."
        )
    return Path(spec.submodule_search_locations[0])
