"""Where a prepared data set lies, and whether it is what its definition says."""

from dataclasses import dataclass, replace
from pathlib import Path

from suite.catalog.data_sets import DataFile, DataSetDefinition, load_data_set
from suite.datasets.layouts import DataSetContents, inspect
from suite.datasets.provenance import Provenance, read_provenance
from suite.errors import SuiteError
from suite.files import paths

SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class PreparedDataSet:
    """A data set on disk that was looked at."""

    definition: DataSetDefinition
    directory: Path
    contents: DataSetContents
    is_synthetic: bool


def place(name: str, home: Path | None = None) -> Path:
    """Where `suite data prepare` puts a data set."""
    return (home or paths.home()) / "data" / name


def synthetic_place(name: str, home: Path | None = None) -> Path:
    """Where `suite data prepare NAME --synthetic` puts what it generates."""
    return place(f"{name}-{SYNTHETIC}", home)


def find(name: str, directory: Path | None = None, home: Path | None = None, verify: bool = True) -> PreparedDataSet:
    """The prepared data set, in ``directory`` or where `suite data prepare` puts it.

    ``verify`` also reads every file and holds it against the checksums that are known. Raises SuiteError naming the file, what was
    expected and what was found, and the command that prepares the data set.
    """
    definition = load_data_set(name)
    where = directory or place(name, home)
    how = how_to_prepare(definition)
    if not where.is_dir():
        raise SuiteError(f"The data set {name!r} is not prepared ({where} does not exist); prepare it with {how}.")
    provenance = read_provenance(where)
    is_synthetic = provenance.synthetic_seed is not None
    try:
        expected = _as_generated(definition, where, provenance) if is_synthetic else definition
        contents = inspect(expected, where, provenance.sha256 if _is_published(definition, provenance) else {}, verify)
    except SuiteError as error:
        raise SuiteError(f"{error}; prepare the data set {name!r} again with {how}.") from error
    return PreparedDataSet(definition, where, replace(contents, verified=contents.verified and not is_synthetic), is_synthetic)


def _is_published(definition: DataSetDefinition, provenance: Provenance) -> bool:
    return definition.archive is not None and provenance.archive_md5 == definition.archive.md5


def _as_generated(definition: DataSetDefinition, where: Path, provenance: Provenance) -> DataSetDefinition:
    """The definition of data that were generated: in the same layout, of another size and content."""
    sizes = {file.name: (where / file.name).stat().st_size if (where / file.name).is_file() else -1 for file in definition.files}
    files = tuple(DataFile(file.name, sizes[file.name], provenance.sha256.get(file.name)) for file in definition.files)
    return replace(definition, files=files, train_samples=provenance.train_samples, eval_samples=provenance.eval_samples)


def how_to_prepare(definition: DataSetDefinition) -> str:
    """The command that prepares the data set."""
    if definition.mirrors or definition.archive:
        return f"`suite data prepare {definition.name} --download` or `--from DIR`"
    return f"`suite data prepare {definition.name}" + ("`" if definition.files else " --from DIR`")
