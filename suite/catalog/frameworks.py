"""Frameworks: every folder of ``reference_impls`` with a ``framework.toml``."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import unknown_name
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.files.toml_file import read_toml


@dataclass(frozen=True)
class Install:
    """How pip installs the framework: packages to install first, then pip's options for the requirements."""

    first: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class WithoutGpu:
    """Builds without CUDA: ``packages`` stand in place of the requirements of their names on a machine without an NVIDIA GPU.

    ``machine`` is its architecture, ``index`` the package index that has them (None: pip's own has).
    """

    machine: str
    packages: tuple[str, ...]
    index: str | None = None


@dataclass(frozen=True)
class Framework:
    """A framework's implementation: the module to start and its environment.

    ``packages`` are the names of the package as pip installs it, one of which has the framework's version; empty where there is none.
    ``environment_of`` is another framework whose environment it uses. ``open_only``: its computation differs from the closed division's.
    """

    name: str
    title: str
    module: str
    import_name: str
    needs_environment: bool
    packages: tuple[str, ...] = ()
    highest_python: str | None = None
    install: Install = Install()
    environment_of: str | None = None
    open_only: bool = False
    without_gpu: tuple[WithoutGpu, ...] = ()


def folder(root: Path | None = None) -> Path:
    """The folder of the implementations."""
    return (root or repository_root()) / "reference_impls"


def requirements_file(framework: Framework, root: Path | None = None) -> Path:
    """The requirements that pip installs into the framework's environment."""
    return folder(root) / (framework.environment_of or framework.name) / "requirements.txt"


def locks_folder(framework: Framework, root: Path | None = None) -> Path:
    """The folder of the framework's locks, one per platform, which `make locks` writes.

    It is apart from the framework's own: what an implementation is does not change when a lock of another platform is made.
    """
    return folder(root) / "locks" / (framework.environment_of or framework.name)


def load_framework(name: str, root: Path | None = None) -> Framework:
    """The framework of this name; raises SuiteError with the nearest name if there is none."""
    known = {framework.name: framework for framework in load_frameworks(root)}
    if name not in known:
        raise SuiteError(unknown_name("framework", name, sorted(known), "`suite list frameworks`"))
    return known[name]


def load_frameworks(root: Path | None = None) -> tuple[Framework, ...]:
    """All frameworks, sorted by name."""
    return tuple(_load(path) for path in sorted(folder(root).glob("*/framework.toml")))


def _load(path: Path) -> Framework:
    framework = read_toml(path, Framework)
    if framework.name != path.parent.name:
        raise SuiteError(f"{path}: the name is {framework.name!r} but the folder is called {path.parent.name!r}; make them equal.")
    return framework
