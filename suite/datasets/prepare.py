"""Prepares a data set: verifies it file by file in a temporary folder, then renames the folder, so
that no data set is incomplete."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from os.path import isfile
from pathlib import Path

from suite.catalog.data_sets import Archive, DataFile, DataSetDefinition, load_data_set
from suite.datasets.available import lacks_pictures, leave_out
from suite.datasets.class_folders import arrange_class_folders, has_class_folders, link_or_copy
from suite.datasets.download import Acceptable, Progress, download
from suite.datasets.layouts import (
    IMAGE_SUFFIXES,
    decode_all,
    folders_in,
    problem_with,
    refuse_pickles,
)
from suite.datasets.locate import (
    PreparedDataSet,
    Provenance,
    data_set_folder,
    find_data_set,
    how_to_prepare,
    refuse_linked,
    synthetic_place,
)
from suite.datasets.packed import unpack, unpack_members
from suite.datasets.recipes import make_pictures
from suite.datasets.synthetic import FOLDERS, WRITERS, write_digits
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.durable import DISK_FULL
from suite.files.file_lock import take_lock
from suite.files.paths import nearest_existing

OLD = ".old"
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
    ``<name>.gz``, also under names that programs give them, or out of an archive: ``source``, or
    the published one in it. Images are taken with their tables and folders, and each is decoded
    once (``done`` is called with the number decoded or made, and the total). Images are hard-linked
    where possible, else copied; those of a recipe are made from its photographs.
    """
    definition = load_data_set(name)
    refuse_linked(name, source, home)
    if not source.is_dir() and not (definition.files and source.is_file()):
        raise SuiteError(
            f"{source} is not a folder; give the folder that contains {_wanted(definition)}."
        )
    tabled = any((source / table.name).is_file() for table in definition.tables)
    if definition.recipe is not None and not tabled:
        with _new_folder(name, home) as folder:
            make_pictures(definition, source, folder, done)
            _refuse_different(definition, folder)
    elif not definition.files:
        _from_tree(definition, source, home, done)
    else:
        with _new_folder(name, home) as folder:
            _take_files(definition, source, folder)
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
    wanted: list[tuple[str, Sequence[str], Acceptable]] = []
    if archive := definition.archive:
        as_published = partial(_problem_with_archive, archive=archive)
        wanted.append((archive.name, archive.addresses, as_published))
    for file in definition.files if definition.mirrors else ():
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
            unpack(path, plain, file.size_bytes)
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
    if definition.tables:
        return " and ".join(table.name for table in definition.tables) + " and images/"
    if definition.files:
        return f"{definition.files[0].name}, or an archive of it"
    return "train/ and val/"


def _from_tree(
    definition: DataSetDefinition,
    source: Path,
    home: Path | None,
    done: Callable[[int, int], None],
) -> None:
    """Take over a checked tree; symbolic links, which may lead outside of it, are refused."""
    for differs, arrangement in (
        (has_class_folders, arrange_class_folders),
        (lacks_pictures, leave_out),
    ):
        if differs(definition, source):
            place = data_set_folder(definition.name, home).resolve()
            with _disk_errors(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                made = tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{definition.name}.")
                with made as arranged, _locked(Path(arranged)):
                    arrangement(definition, source, Path(arranged))
                    return _from_tree(definition, Path(arranged), home, done)
    parts = definition.file_names or ("train", "val")
    if not any((source / name).exists() for name in parts):
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


def _refuse_different(definition: DataSetDefinition, directory: Path) -> None:
    """Verify the data set in ``directory``; raises SuiteError also where it could be trained on in
    the open division."""
    if different := find_data_set(definition.name, directory).contents.different:
        raise SuiteError(
            f"{different}. Get or make the data set again. Runs of the open division can also"
            " train on the present files (--data DIR)."
        )


def _take_files(definition: DataSetDefinition, source: Path, folder: Path) -> None:
    """Take files of a known content out of a folder or an archive, which may lie in the folder."""
    packed = source
    if definition.archive is not None and source.is_dir():
        packed = source / definition.archive.name
    try:
        found = {file: _find_sources(definition, source, file.name) for file in definition.files}
        for file, paths in found.items():
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            _take_right(definition, source, file, paths, folder / file.name)
    except SuiteError:
        if not packed.is_file():
            raise
        _take_packed(definition, packed, folder)


def _take_packed(definition: DataSetDefinition, path: Path, folder: Path) -> None:
    sizes = {
        name: file.size_bytes
        for file in definition.files
        for name in (*_names(file.name), Path(file.name).stem)  # of the Python version
    }
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        unpack_members(path, Path(unpacked), sizes)
        try:
            _take_files(definition, Path(unpacked), folder)
        except SuiteError as error:
            raise SuiteError(str(error).replace(unpacked, str(path))) from error


def _take_right(
    definition: DataSetDefinition, source: Path, file: DataFile, paths: Sequence[Path], target: Path
) -> None:
    """Unpack the first of the ``paths`` that is the published file: others below ``source`` may be
    anybody's. Raises SuiteError about the first one where none is."""
    wrong: SuiteError | None = None
    for path in paths:
        try:
            unpack(path, target, file.size_bytes)
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
    places = [folder / each for folder in folders_in(source) for each in _names(name)]
    found = [path for path in places if isfile(path)]  # noqa: PTH113 - in a folder closed to this user, Path.is_file raises
    if found:
        return list(dict.fromkeys(found))
    refuse_pickles(definition, source)
    plain = Path(name).name
    raise SuiteError(
        f"Neither {source} nor a folder in it has {plain} or {plain}.gz; give the folder that"
        " contains the data set's files."
    )


def _names(name: str) -> list[str]:
    plain = Path(name).name
    kept = (name, plain, plain.replace("-idx", ".idx"))
    return [f"{each}{packed}" for each in kept for packed in ("", ".gz")]


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
    otherwise; what a command left that was killed is put right first."""
    target = data_set_folder(name, home).resolve()  # a link leads to another disk, perhaps
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        for left in target.parent.glob(f".{name}.*"):
            with suppress(FileNotFoundError), _locked(left) as is_abandoned:
                if is_abandoned and left.suffix == OLD and not target.exists():
                    left.rename(target)
                elif is_abandoned:
                    shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{name}."))
        try:
            with _locked(folder):
                yield folder
                folder.chmod(0o755)
                old = Path(f"{folder}{OLD}")
                if target.is_dir():
                    target.rename(old)  # fails for a mount point, before anything is lost
                folder.rename(target)
                shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Whether no living command makes the folder; until the end of the block, this one does."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield take_lock(handle)
    finally:
        os.close(handle)


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
    return problem_with(path, DataFile(archive.name, path.stat().st_size, archive.sha256))
