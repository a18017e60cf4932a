"""Finds a prepared data set and checks it against its definition."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from suite.catalog.data_sets import DataFile, DataSetDefinition, load_data_set
from suite.datasets.layouts import DataSetContents, inspect_data_set
from suite.errors import SuiteError
from suite.files import paths
from suite.files.json_file import read_json, write_json
from suite.files.schema import from_plain

NAME = "prepared.json"


@dataclass(frozen=True)
class Provenance:
    """Of generated data: the seed, the numbers of samples, and the SHA-256 of each file."""

    synthetic_seed: int | None = None
    train_samples: int | None = None
    eval_samples: int | None = None
    sha256: dict[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        """Write the file."""
        write_json(directory / NAME, self)


def read_provenance(directory: Path) -> Provenance:
    """The origin; empty when the folder has no such file, or one that cannot be read."""
    try:
        return from_plain(read_json(directory / NAME), Provenance, "")
    except (SuiteError, RecursionError):
        return Provenance()


SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class PreparedDataSet:
    """A data set on disk, checked."""

    definition: DataSetDefinition
    directory: Path
    contents: DataSetContents
    is_synthetic: bool


def data_set_folder(name: str, home: Path | None = None) -> Path:
    """The folder into which `suite data prepare` writes a data set."""
    return (home or paths.suite_home()) / "data" / name


def synthetic_place(name: str, home: Path | None = None) -> Path:
    """The folder into which `suite data prepare NAME --synthetic` writes generated data."""
    return data_set_folder(f"{name}-{SYNTHETIC}", home)


def refuse_linked(name: str, source: Path, home: Path | None = None) -> None:
    """Raise SuiteError where the data set's folder is a link to ``source`` or to a folder above
    it: the files of a person that are there would be replaced."""
    place = data_set_folder(name, home)
    if place.is_symlink() and source.resolve().is_relative_to(place.resolve()):
        raise SuiteError(
            f"{place} is a link to {place.resolve()}, which the data set would replace, with all"
            " other files in it",
            "remove the link, or let it lead to another folder",
        )


def find_data_set(
    name: str, directory: Path | None = None, home: Path | None = None, verify: bool = True
) -> PreparedDataSet:
    """The prepared data set, in ``directory`` or in the folder of `suite data prepare`.

    ``verify`` also reads every file and verifies the known checksums. Raises SuiteError naming the
    file, the expected value and the value found, and the command that prepares the data set; for
    another folder, that it does not hold the data set.
    """
    definition = load_data_set(name)
    where = directory or data_set_folder(name, home)
    how = {
        data_set_folder(name, home): how_to_prepare(definition),
        synthetic_place(name, home): f"`suite data prepare {name} --{SYNTHETIC}`",
    }.get(where)
    holder = f"give the folder that holds {name!r}"
    if not where.is_dir():
        if how is None:
            raise SuiteError(f"{where} is not a folder", holder)
        missing = f"The data set {name!r} is not prepared ({where} does not exist)"
        raise SuiteError(missing, f"prepare it with {how}")
    try:
        return _inspected(definition, where, verify)
    except OSError as error:
        raise SuiteError(
            f"{error.filename or where} cannot be read: {error.strerror or error}",
            "make it readable, or move the data set to another disk",
        ) from error
    except SuiteError as error:
        if how is None:
            problem = f"{where} does not hold {definition.title}: {error}"
            raise SuiteError(problem.rstrip("."), holder) from error
        again = f"prepare the data set {name!r} again with {how}"
        raise SuiteError(error.problem.rstrip("."), again) from error


def _inspected(definition: DataSetDefinition, where: Path, verify: bool) -> PreparedDataSet:
    provenance = read_provenance(where)
    is_synthetic = provenance.synthetic_seed is not None
    expected = definition
    if is_synthetic:  # the same layout with other sizes and content
        files = tuple(
            DataFile(
                file.name,
                (where / file.name).stat().st_size if (where / file.name).is_file() else -1,
                provenance.sha256.get(file.name),
            )
            for file in definition.files
        )
        expected = replace(
            definition,
            files=files,
            pictures=None,
            train_samples=provenance.train_samples,
            eval_samples=provenance.eval_samples,
        )
    contents = inspect_data_set(expected, where, verify)
    if is_synthetic and contents.different:
        raise SuiteError(contents.different)
    contents = replace(contents, verified=contents.verified and not is_synthetic)
    return PreparedDataSet(definition, where, contents, is_synthetic)


def published_data_set(name: str) -> PreparedDataSet | None:
    """What `suite data prepare` will make of a data set that is not prepared; None where it is, or
    where its definition leaves numbers open."""
    definition, where = load_data_set(name), data_set_folder(name)
    numbers = (definition.classes, definition.train_samples, definition.eval_samples)
    if where.is_dir() or any(number is None for number in numbers):
        return None
    classes, train_samples, eval_samples = (int(number or 0) for number in numbers)
    published = DataSetContents(classes, train_samples, eval_samples, verified=True)
    return PreparedDataSet(definition, where, published, False)


def how_to_prepare(definition: DataSetDefinition) -> str:
    """The command that prepares the data set."""
    if definition.can_be_downloaded:
        return f"`suite data prepare {definition.name} --download` or `--from DIR`"
    return f"`suite data prepare {definition.name}" + ("`" if definition.files else " --from DIR`")
