"""Checks the files of a data set, by layout, and counts samples and classes; errors name the file.

These checks are quick enough for every run; :mod:`suite.datasets.layouts` decodes every image.
"""

import csv
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os.path import isfile
from pathlib import Path

from suite.catalog.data_sets import DataFile, DataSetDefinition
from suite.catalog.data_sets import folder as definitions_folder
from suite.datasets.class_folders import SPLITS
from suite.datasets.digest_lists import (
    CANONICAL_FOLDER,
    MADE_LIST,
    compare_list,
    decoded_lines_of,
    digest_of_list,
    lines_of,
    naming_damage,
    read_list,
)
from suite.errors import SuiteError
from suite.files.digest import sha256

CIFAR10_RECORD_BYTES = 1 + 3 * 32 * 32
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png")
_IMAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


@dataclass(frozen=True)
class DataSetContents:
    """Classes and samples of a data set; ``verified`` when checksums prove that it is the published
    one. ``different`` names the first file that has another content."""

    classes: int
    train_samples: int
    eval_samples: int
    verified: bool
    different: str | None = None


def inspect_data_set(
    definition: DataSetDefinition, directory: Path, checksums: bool
) -> DataSetContents:
    """Check every file of a data set; ``checksums`` also reads them completely.

    Raises SuiteError naming the first file that is wrong, the expected value and the value found.
    """
    return LAYOUTS[definition.layout](definition, directory, checksums)


def problem_with(path: Path, file: DataFile, checksum: bool = True) -> str | None:
    """Why this file is not the one in the definition; None when it is."""
    if not path.is_file():
        return f"{path} is missing"
    size = path.stat().st_size
    if size != file.size_bytes:
        return f"{path} has {size} bytes, expected {file.size_bytes}"
    if file.sha256 is None or not checksum:
        return None
    found = sha256(path)
    return None if found == file.sha256 else f"{path} has SHA-256 {found}, expected {file.sha256}"


def root_of(definition: DataSetDefinition, directory: Path) -> Path:
    """The folder that the names of the definition's files are relative to: ``directory``, or the
    one above if it names their own folder."""
    directory = directory.absolute()  # "." has no name
    folders = {Path(file.name).parent.name for file in definition.files} - {""}
    return (
        directory.parent
        if directory.name in folders and not (directory / directory.name).is_dir()
        else directory
    )


def folders_in(directory: Path) -> tuple[Path, ...]:
    """A folder and those of two levels below it."""
    return (directory, *sorted(directory.glob("*/")), *sorted(directory.glob("*/*/")))


def refuse_pickles(definition: DataSetDefinition, directory: Path) -> None:
    """Raise SuiteError where a folder holds CIFAR-10's Python version."""
    names = ("data_batch_1", "cifar-10-python.tar.gz") if definition.layout == "cifar10" else ()
    for folder in folders_in(directory):
        if any(isfile(folder / name) for name in names):  # noqa: PTH113 - see prepare._find_sources
            raise SuiteError(
                f"{folder} holds the data set's Python version (pickle files); the suite takes its"
                " binary version, cifar-10-binary.tar.gz."
            )


def _idx(definition: DataSetDefinition, directory: Path, checksums: bool) -> DataSetContents:
    different = _different(definition, directory, checksums)
    # a definition with checksums of its files has these too
    assert definition.classes and definition.train_samples and definition.eval_samples
    counts = (definition.classes, definition.train_samples, definition.eval_samples)
    return DataSetContents(*counts, different is None, different)


def _different(definition: DataSetDefinition, root: Path, checksums: bool) -> str | None:
    """What is wrong with the content of the first file whose SHA-256 is another one; raises
    SuiteError for a file that is missing or has another size."""
    for file in definition.files:
        if problem := problem_with(root / file.name, file, checksum=False):
            if not (root / file.name).is_file():
                refuse_pickles(definition, root)
            raise SuiteError(problem)
    problems = (problem_with(root / file.name, file, checksums) for file in definition.files)
    return next(filter(None, problems), None)


def _cifar10(definition: DataSetDefinition, directory: Path, checksums: bool) -> DataSetContents:
    root = root_of(definition, directory)
    training = [file for file in definition.files if "data_batch" in file.name]
    evaluation = [file for file in definition.files if file not in training]
    different = _different(definition, root, checksums)
    if checksums:
        for files in (training, evaluation):
            _check_labels([root / file.name for file in files], definition.classes or 0)
    train, evaluated = (
        sum(file.size_bytes for file in files) // CIFAR10_RECORD_BYTES
        for files in (training, evaluation)
    )
    return DataSetContents(definition.classes or 0, train, evaluated, different is None, different)


def _check_labels(paths: Sequence[Path], classes: int) -> None:
    """The first byte of every record is a class, and every class occurs."""
    import numpy as np  # start-up: loads numpy

    found: set[int] = set()
    for path in paths:
        labels = set(np.fromfile(path, np.uint8)[::CIFAR10_RECORD_BYTES].tolist())
        if max(labels, default=0) >= classes:
            raise SuiteError(
                f"{path} has labels {min(labels)} to {max(labels)}, expected 0 to {classes - 1}"
            )
        found |= labels
    if len(found) != classes:
        raise SuiteError(
            f"{paths[0]} and the other files of this folder have samples of {len(found)} classes,"
            f" expected {classes}"
        )


def _gld23k(definition: DataSetDefinition, directory: Path, checksums: bool) -> DataSetContents:
    """Tables and pictures; verified when the tables are the published ones and every picture is the
    one that the definition pins."""
    counts = []
    for table, split in zip(definition.tables, SPLITS, strict=True):
        path = directory / table.name
        rows = read_table(path, definition.classes or 0)
        folder = picture_folder(directory, split)
        check_images([folder / f"{image_id}.jpg" for image_id in rows], f" ({path.name} names it)")
        counts.append(len(rows))
    classes = definition.classes or 0
    if definition.pictures is None:
        return DataSetContents(classes, counts[0], counts[1], False)
    different = _different_table(definition, directory)
    if different is None and checksums:
        different = _different_pictures(definition, directory)
    return DataSetContents(classes, counts[0], counts[1], different is None, different)


def _different_table(definition: DataSetDefinition, directory: Path) -> str | None:
    """How the first table that is not the published one differs."""
    for table in definition.tables:
        path = directory / table.name
        found = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        if found != table.md5:
            return f"{path} has MD5 {found}, expected {table.md5}"
    return None


def picture_folder(directory: Path, split: str) -> Path:
    """The folder of a table's pictures."""
    return next(
        (directory / name for name in (CANONICAL_FOLDER, split) if (directory / name).is_dir()),
        directory / CANONICAL_FOLDER,
    )


def table_pictures(definition: DataSetDefinition, directory: Path) -> dict[str, Path]:
    """The pictures that the tables of a data set name, by their names in a digest list, each where
    the readers open it. Raises SuiteError for a malformed table."""
    return {
        f"{CANONICAL_FOLDER}/{image_id}.jpg": folder / f"{image_id}.jpg"
        for table, split in zip(definition.tables, SPLITS, strict=True)
        for folder in [picture_folder(directory, split)]
        for image_id in read_table(directory / table.name, definition.classes or 0)
    }


def _different_pictures(definition: DataSetDefinition, directory: Path) -> str | None:
    """How the pictures that the tables name differ from those that are pinned: their number, and
    the first; None if they do not."""
    assert definition.pictures is not None
    pictures, pinned = table_pictures(definition, directory), definition.pictures
    found = lines_of(pictures)
    if pinned.decoded_sha256 is not None and (
        digest_of_list(found) == pinned.sha256
        or digest_of_list(decoded_lines_of(pictures)) == pinned.decoded_sha256
    ):
        return None
    listed = _pinned_lines(definition, directory)
    if listed is None:
        return (
            f"{directory} has images that differ from the published ones of {definition.title},"
            " because another JPEG library made them"
        )
    different = compare_list(listed, found, pictures)
    wrong = (*different.missing, *different.changed)
    return (
        f"{directory} lacks {len(different.missing)} of the {len(pictures)} images; images that"
        f" differ from the published ones (re-encoded, for example): {len(different.changed)}; the"
        f" first one missing or different is {wrong[0]}"
        if wrong
        else None
    )


def _pinned_lines(definition: DataSetDefinition, directory: Path) -> Sequence[str] | None:
    """The digest list that the definition pins; None where pictures were made and the list beside
    them is another one."""
    assert definition.pictures is not None
    name = definition.pictures.digest_list
    path = directory / MADE_LIST if name is None else definitions_folder() / name
    listed = read_list(path) if name is not None or path.is_file() else ()
    if digest_of_list(listed) == definition.pictures.sha256:
        return listed
    if name is None:
        return None
    raise SuiteError(
        f"{path} is not the list that {definition.name}.toml pins; take both files from one"
        " version of the suite"
    )


def read_table(path: Path, classes: int) -> list[str]:
    """The image ids of a table; they become file names, so only letters, digits, - and _ are
    allowed."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [
                (row.get("image_id") or "", row.get("class") or "")
                for row in csv.DictReader(stream)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SuiteError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    for line, (image_id, label) in enumerate(rows, start=2):
        if not _IMAGE_ID.fullmatch(image_id):
            raise SuiteError(
                f"{path}:{line} names the image {image_id[:60]!r}; only letters, digits, - and _"
                " are allowed"
            )
        if not (label.isascii() and label.isdigit() and int(label) < classes):
            raise SuiteError(
                f"{path}:{line} has the class {label[:60]!r}, expected a number from 0 to"
                f" {classes - 1}"
            )
    if not rows:
        raise SuiteError(f"{path} names no image")
    return [image_id for image_id, _ in rows]


def _imagefolder(
    definition: DataSetDefinition, directory: Path, checksums: bool
) -> DataSetContents:
    splits = []
    for names in (("train",), ("val", "test")):
        folder = next((directory / name for name in names if (directory / name).is_dir()), None)
        if folder is None:
            raise SuiteError(f"{directory} has no folder {' or '.join(names)}")
        splits.append(
            {
                path.name: sorted(
                    file for file in path.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES
                )
                for path in folder.iterdir()
                if path.is_dir()
            }
        )
    training, evaluation = splits
    if training.keys() != evaluation.keys():
        raise SuiteError(
            f"{directory}: the classes of training and evaluation differ:"
            f" {sorted(training.keys() ^ evaluation.keys())[:5]}"
        )
    empty = [name for split in splits for name, files in split.items() if not files]
    if empty or len(training) < 2:
        raise SuiteError(
            f"{directory} needs at least two classes, each with images"
            f" ({', '.join(IMAGE_SUFFIXES)}); classes without images: {sorted(set(empty))[:5]}"
        )
    for split in splits:
        check_images([file for files in split.values() for file in files])
    train_samples, eval_samples = (sum(map(len, split.values())) for split in splits)
    return DataSetContents(len(training), train_samples, eval_samples, False)


LAYOUTS: dict[str, Callable[[DataSetDefinition, Path, bool], DataSetContents]] = {
    "idx": _idx,
    "cifar10": _cifar10,
    "gld23k": _gld23k,
    "imagefolder": _imagefolder,
}


def check_images(paths: Sequence[Path], named_by: str = "") -> None:
    """Check that every image exists, starts like JPEG or PNG, and is not truncated; raises
    SuiteError naming the first that fails."""
    for path in paths:
        try:
            with path.open("rb") as stream:
                head = stream.read(8)
                stream.seek(max(0, path.stat().st_size - 64))
                tail = stream.read()
        except OSError as error:
            raise SuiteError(f"{path} cannot be read{named_by}: {error.strerror}") from error
        if not (head.startswith(b"\xff\xd8") and b"\xff\xd9" in tail) and not (
            head == b"\x89PNG\r\n\x1a\n" and b"IEND" in tail
        ):
            raise SuiteError(f"{path} is damaged{named_by}: it is not a complete JPEG or PNG image")


def decode_all(directory: Path, progress: Callable[[int, int], None]) -> int:
    """Decode every image below the folder and return their number; raises SuiteError naming the
    first that is damaged.

    ``progress`` is called with the number of decoded images and the total.
    """
    from PIL import Image  # start-up: loads Pillow

    paths = sorted(
        path
        for path in directory.rglob("*")
        if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()
    )
    for done, path in enumerate(paths):
        progress(done, len(paths))
        with naming_damage(path), Image.open(path) as image:
            image.load()
    return len(paths)
