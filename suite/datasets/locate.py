"""Where a prepared data set lies, and whether it is what its definition says."""

from dataclasses import dataclass
from pathlib import Path

from suite import paths
from suite.datasets.definition import DataFile, DataSetDefinition, load_data_set
from suite.digest import sha256
from suite.errors import SuiteError


@dataclass(frozen=True)
class PreparedDataSet:
    """A data set on disk, every file there with the right size."""

    definition: DataSetDefinition
    directory: Path


def place(name: str, home: Path | None = None) -> Path:
    """Where `suite data prepare` puts a data set."""
    return (home or paths.home()) / "data" / name


def find(name: str, directory: Path | None = None, home: Path | None = None, verify: bool = True) -> PreparedDataSet:
    """The prepared data set, in ``directory`` or where `suite data prepare` puts it.

    ``verify`` also holds the SHA-256 of every file against the definition. Raises SuiteError naming the file, what was expected and
    what was found, and the command that prepares the data set.
    """
    definition = load_data_set(name)
    where = directory or place(name, home)
    how = f"`suite data prepare {name}" + (" --download` or `--from DIR`" if definition.mirrors else "`")
    if not where.is_dir():
        raise SuiteError(f"The data set {name!r} is not prepared ({where} does not exist); prepare it with {how}.")
    for file in definition.files:
        problem = problem_with(where / file.name, file, verify)
        if problem is not None:
            raise SuiteError(f"{problem}; prepare the data set {name!r} again with {how}.")
    return PreparedDataSet(definition, where)


def problem_with(path: Path, file: DataFile, verify: bool = True) -> str | None:
    """Why this file is not the one that the definition names; None when it is."""
    if not path.is_file():
        return f"{path} is missing"
    size = path.stat().st_size
    if size != file.size_bytes:
        return f"{path} has {size} bytes, expected {file.size_bytes}"
    found = sha256(path) if verify else file.sha256
    if found != file.sha256:
        return f"{path} has SHA-256 {found}, expected {file.sha256}"
    return None
