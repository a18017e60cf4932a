"""Prepares a data set: verifies it file by file in a temporary folder, then renames the folder, so
that no data set is incomplete."""

import gzip
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from os.path import isfile
from pathlib import Path

from suite.catalog.data_sets import Archive, DataFile, DataSetDefinition, load_data_set
from suite.datasets.available import lacks_pictures, leave_out
from suite.datasets.class_folders import arrange_class_folders, has_class_folders, link_or_copy
from suite.datasets.download import Acceptable, Progress, download
from suite.datasets.layouts import IMAGE_SUFFIXES, decode_all, problem_with, root_of
from suite.datasets.locate import (
    PreparedDataSet,
    Provenance,
    data_set_folder,
    find_data_set,
    how_to_prepare,
    refuse_linked,
    synthetic_place,
)
from suite.datasets.recipes import make_pictures
from suite.datasets.synthetic import FOLDERS, WRITERS, write_digits
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.durable import DISK_FULL
from suite.files.paths import nearest_existing

MAKERS: dict[str, Callable[[Path], None]] = {"digits": write_digits}
TAKEN = (*IMAGE_SUFFIXES, ".csv", ".sha256", ".bin", ".txt")
"""Endings of files that are taken over with a folder."""


def make_data_set(name: str, home: Path | None = None) -> PreparedDataSet:
    """Prepare a data set that is made on this machine from installed packages."""
    definition = load_data_set(name)
    if name not in MAKERS:
        raise SuiteError(
            f"The data set {name!r} does not come with installed packages; prepare it with"
            f" {how_to_prepare(definition)}."
        )
    with _new_folder(name, home) as folder:
        MAKERS[name](folder)
        for file in definition.files:
            _refuse_other(definition, folder / file.name, file, folder / file.name)
    return find_data_set(name, home=home, verify=False)


def from_directory(
    name: str,
    source: Path,
    home: Path | None = None,
    done: Callable[[int, int], None] = lambda number, of: None,
) -> PreparedDataSet:
    """Prepare a data set from a folder that contains it.

    Files of a known content are taken from the folder or one of two levels below it, plain or as
    ``<name>.gz``, also under names that programs give them; an archive is unpacked once its
    checksum is verified; images are taken with their tables and folders, and each is decoded once
    (``done`` is called with the number decoded or made, and the total). Images are hard-linked
    where possible, else copied; those of a recipe are made from its photographs. ``source`` may be
    the archive itself.
    """
    definition = load_data_set(name)
    refuse_linked(name, source, home)
    archive = definition.archive
    for path in (source, source / archive.name) if archive is not None else ():
        if path.is_file():
            return _from_archive(definition, path, home)
    if not source.is_dir():
        raise SuiteError(
            f"{source} is not a folder; give the folder that contains {_wanted(definition)}."
        )
    tabled = any((source / table.name).is_file() for table in definition.tables)
    if definition.recipe is not None and not tabled:
        with _new_folder(name, home) as folder:
            make_pictures(definition, source, folder, done)
            _refuse_different(definition, folder)
        return find_data_set(name, home=home, verify=False)
    if definition.tables or not definition.files:
        return _from_tree(definition, source, home, done)
    with _new_folder(name, home) as folder:
        found = {file: _find_sources(definition, source, file.name) for file in definition.files}
        for file, paths in found.items():
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            _take_right(definition, source, file, paths, folder / file.name)
    return find_data_set(name, home=home, verify=False)


def from_network(name: str, progress: Progress) -> PreparedDataSet:
    """Download a data set from its mirrors and prepare it; an interrupted download is resumed."""
    definition = load_data_set(name)
    if not definition.can_be_downloaded:
        raise SuiteError(
            f"The data set {name!r} cannot be downloaded; prepare it with"
            f" {how_to_prepare(definition)}."
        )
    incoming = data_set_folder(name).with_name(f"{name}.download")
    with _disk_errors(incoming):
        incoming.mkdir(parents=True, exist_ok=True)
    archive, files = definition.archive, definition.files if definition.mirrors else ()
    wanted: list[tuple[str, Sequence[str], Acceptable]] = []
    if archive is not None:
        wanted.append(
            (archive.name, archive.addresses, partial(_problem_with_archive, archive=archive))
        )
    for file in files:
        mirrors = [f"{mirror}{file.name}.gz" for mirror in definition.mirrors]
        wanted.append((f"{file.name}.gz", mirrors, partial(_problem_of_gzip, file=file)))
    for target, addresses, acceptable in wanted:
        with _disk_errors(incoming):
            download(incoming / target, addresses, acceptable, progress)
    prepared = from_directory(name, incoming)
    shutil.rmtree(incoming)
    return prepared


def _problem_of_gzip(path: Path, file: DataFile) -> str | None:
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        plain = Path(folder) / file.name
        try:
            _unpack(path, plain, file.size_bytes)
        except SuiteError as error:
            return str(error)
        return problem_with(plain, file)


def generate_data_set(
    name: str, train_samples: int, seed: int, home: Path | None = None
) -> PreparedDataSet:
    """Write learnable synthetic data in the layout of ``name``, with a fifth as many samples for
    evaluation as for training.

    Runs on synthetic data are marked and never comply with the closed division.
    """
    definition = load_data_set(name)
    classes = definition.classes or FOLDERS
    if train_samples < classes:
        raise SuiteError(f"{name!r} has {classes} classes, so generate at least {classes} samples.")
    eval_samples = max(train_samples // 5, classes)
    target = synthetic_place(name, home)
    with _new_folder(target.name, home) as folder:
        WRITERS[definition.layout](folder, definition, train_samples, eval_samples, seed)
        digests = {file.name: sha256(folder / file.name) for file in definition.files}
        Provenance(
            synthetic_seed=seed,
            train_samples=train_samples,
            eval_samples=eval_samples,
            sha256=digests,
        ).write(folder)
    return find_data_set(name, target, verify=False)


def _wanted(definition: DataSetDefinition) -> str:
    if definition.archive is not None:
        return f"{definition.archive.name} or {Path(definition.files[0].name).parent}/"
    if definition.tables:
        return " and ".join(table.name for table in definition.tables) + " and images/"
    return (
        f"{definition.files[0].name} or {definition.files[0].name}.gz"
        if definition.files
        else "train/ and val/"
    )


def _from_archive(definition: DataSetDefinition, path: Path, home: Path | None) -> PreparedDataSet:
    assert definition.archive is not None
    problem = _problem_with_archive(path, definition.archive)
    if problem is not None:
        raise SuiteError(f"{problem}; get the archive again.")
    with _new_folder(definition.name, home) as folder:
        _unpack_archive(path, folder, definition.files)
        for file in definition.files:
            _refuse_other(definition, folder / file.name, file, path)
    return find_data_set(definition.name, home=home, verify=False)


def _from_tree(
    definition: DataSetDefinition,
    source: Path,
    home: Path | None,
    done: Callable[[int, int], None],
) -> PreparedDataSet:
    """Take over a checked tree; symbolic links, which may lead outside of it, are refused."""
    for differs, arrangement in (
        (has_class_folders, arrange_class_folders),
        (lacks_pictures, leave_out),
    ):
        if differs(definition, source):
            with _arranged(definition, source, home, arrangement) as arranged:
                return _from_tree(definition, arranged, home, done)
    parts = definition.file_names or ("train", "val")
    if not any((root_of(definition, source) / name).exists() for name in parts):
        raise SuiteError(
            f"{source} does not hold {definition.title}; give the folder that contains"
            f" {_wanted(definition)}."
        )
    with _new_folder(definition.name, home) as folder:
        _refuse_different(definition, source)
        for path in sorted(source.rglob("*")):
            target = folder / path.relative_to(source)
            if path.is_dir() and not path.is_symlink():
                target.mkdir()
            elif path.is_symlink() or path.suffix.lower() in TAKEN:
                link_or_copy(path, target)
        decode_all(folder, done)
    return find_data_set(definition.name, home=home, verify=False)


def _refuse_different(definition: DataSetDefinition, directory: Path) -> None:
    """Verify the data set in ``directory``; raises SuiteError also where it could be trained on in
    the open division."""
    if different := find_data_set(definition.name, directory).contents.different:
        raise SuiteError(
            f"{different}. Get or make the data set again. Runs of the open division can also"
            " train on the present files (--data DIR)."
        )


@contextmanager
def _arranged(
    definition: DataSetDefinition,
    source: Path,
    home: Path | None,
    arrangement: Callable[[DataSetDefinition, Path, Path], None],
) -> Iterator[Path]:
    """A temporary folder, beside the data set's, with the set's tables and pictures."""
    target = data_set_folder(definition.name, home).resolve()
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=target.parent, prefix=f".{definition.name}."
        ) as folder:
            arrangement(definition, source, Path(folder))
            yield Path(folder)


def _take_right(
    definition: DataSetDefinition, source: Path, file: DataFile, paths: Sequence[Path], target: Path
) -> None:
    """Unpack the first of the ``paths`` that is the published file: others below ``source`` may be
    anybody's. Raises SuiteError about the first one where none is."""
    wrong: SuiteError | None = None
    for path in paths:
        try:
            _unpack(path, target, file.size_bytes)
            return _refuse_other(definition, target, file, path)
        except SuiteError as error:
            below = (
                f" This file lies in a folder below {source} and may be part of something else:"
                " give --from the folder of the data set."
            )
            is_asked = path.parent in (source, (source / file.name).parent)
            wrong = wrong or SuiteError(f"{error}{below * (not is_asked)}")
    assert wrong is not None
    raise wrong


def _find_sources(definition: DataSetDefinition, source: Path, name: str) -> list[Path]:
    """Files that may be one of a data set, in a folder or at most two below it, as they were
    published or as programs keep them: without the archive's folder, with dots in its name,
    packed."""
    plain = Path(name).name
    folders = (source, *sorted(source.glob("*/")), *sorted(source.glob("*/*/")))
    places = [
        folder / each for folder in folders for each in (name, plain, plain.replace("-idx", ".idx"))
    ]
    found = [path for place in places for path in (place, Path(f"{place}.gz")) if isfile(path)]  # noqa: PTH113 - in a folder closed to this user, Path.is_file raises
    if found:
        return list(dict.fromkeys(found))
    if pickled := [folder for folder in folders if isfile(folder / "data_batch_1")]:  # noqa: PTH113
        raise SuiteError(
            f"{pickled[0]} holds the data set's Python version (pickle files); give the folder"
            f" with its binary version, {_wanted(definition)}."
        )
    raise SuiteError(
        f"Neither {source} nor a folder in it has {plain} or {plain}.gz; give the folder that"
        " contains the data set's files."
    )


def _unpack(source: Path, target: Path, size_bytes: int) -> None:
    """Copy, decompressing gzip; reads at most one byte more than expected, so that a decompression
    bomb does not fill the disk."""
    try:
        with (
            gzip.open(source) if source.suffix == ".gz" else source.open("rb") as incoming,
            target.open("wb") as outgoing,
        ):
            left = size_bytes + 1
            while left and (chunk := incoming.read(min(left, 2**20))):
                outgoing.write(chunk)
                left -= len(chunk)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SuiteError(
            f"{source} is not a complete gzip file ({error}); expected {size_bytes} bytes of"
            " content. Get the file again."
        ) from error
    except PermissionError as error:
        raise SuiteError(
            f"{error.filename} cannot be read or written: {error.strerror}."
        ) from error


def _refuse_other(definition: DataSetDefinition, path: Path, file: DataFile, source: Path) -> None:
    """Raise SuiteError where a file is not the published one; ``source`` is what it was read
    from."""
    if problem := problem_with(path, file):
        same_size = problem_with(path, file, checksum=False) is None
        raise SuiteError(
            f"{problem.replace(str(path), str(source))} (decompressed content); this is not a file"
            f" of {definition.title}, or it is damaged: get the file again."
            + " The open division trains on it if its labels are valid (--data DIR)."
            * same_size
        )


@contextmanager
def _new_folder(name: str, home: Path | None) -> Iterator[Path]:
    """A temporary folder, renamed to the data set's folder when the block succeeds, and removed
    otherwise."""
    target = data_set_folder(name, home).resolve()  # a link leads to another disk, perhaps
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{name}."))
        try:
            yield folder
            folder.chmod(0o755)
            old = Path(f"{folder}.old")
            if target.is_dir():
                target.rename(old)  # fails for a mount point, before anything is lost
            folder.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError as error:
        raise SuiteError(
            f"{error.filename or target} cannot be read or written: {error.strerror}."
        ) from error
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise SuiteError(
                f"The data set cannot be written to {target}: {error.strerror}."
            ) from error
        free = shutil.disk_usage(nearest_existing(target.parent)).free
        raise SuiteError(
            f"The disk is full: {target} could not be written ({free // 2**20} MiB free). Free some"
            " space and try again."
        ) from error


def _problem_with_archive(path: Path, archive: Archive) -> str | None:
    """Why this file is not the published archive; None when it is."""
    found = sha256(path)
    if found == archive.sha256:
        return None
    return f"{path} has SHA-256 {found}, expected {archive.sha256}"


def _unpack_archive(path: Path, folder: Path, files: Sequence[DataFile]) -> None:
    """Unpack the expected files, each by its full name and size; other members are ignored."""
    try:
        with tarfile.open(path) as archive:
            for file in files:
                member = archive.getmember(file.name)
                stream = (
                    archive.extractfile(member)
                    if member.isfile() and member.size == file.size_bytes
                    else None
                )
                if stream is None:
                    raise SuiteError(
                        f"{path} contains {file.name} with {member.size} bytes, expected a plain"
                        f" file of {file.size_bytes} bytes; get the archive again."
                    )
                target = folder / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with stream, target.open("wb") as out:
                    shutil.copyfileobj(stream, out)
    except KeyError as error:
        raise SuiteError(
            f"{path} does not contain {error.args[0]}; get the archive again."
        ) from error
    except (tarfile.TarError, EOFError) as error:
        raise SuiteError(f"{path} is not a complete archive ({error}); get it again.") from error
