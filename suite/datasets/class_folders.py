"""Arranges pictures that are published in one folder per class as GLD-23k has them: two tables and
``images/``.

Only for data sets whose pictures are pinned by a digest list: the list says which of the published
pictures belong to the set.
"""

import csv
import filecmp
import shutil
from collections.abc import Sequence
from pathlib import Path

from suite.catalog.data_sets import DataSetDefinition
from suite.catalog.data_sets import folder as definitions_folder
from suite.datasets.digest_lists import CANONICAL_FOLDER, name_in_line, read_list
from suite.errors import SuiteError

SPLITS = ("train", "test")
FOLDERS = (("train",), ("validation", "test"))
"""The published folders with pictures of training and of evaluation."""
COLUMNS = (("user_id", "image_id", "class"), ("image_id", "class"))
ONE_USER = "0"  # GLD-23k's pictures have photographers; those of other sets are not said


def has_class_folders(definition: DataSetDefinition, source: Path) -> bool:
    """Whether ``source`` holds ``train/<class>/`` and ``test/<class>/`` of a pinned set, in place
    of its tables."""
    tabled = any((source / table.name).is_file() for table in definition.tables)
    return (
        definition.pictures is not None
        and not tabled
        and all((source / split).is_dir() for split in SPLITS)
    )


def arrange_class_folders(definition: DataSetDefinition, source: Path, target: Path) -> None:
    """Write the tables and link or copy the listed pictures into ``target``; classes are numbered
    by their names' order. A picture that is in a folder of evaluation is not for training, too.

    Raises SuiteError where a class is missing, or pictures of the list are: their number and the
    first.
    """
    assert definition.pictures is not None and definition.pictures.digest_list is not None
    wanted = {
        Path(name_in_line(line)).stem
        for line in read_list(definitions_folder() / definition.pictures.digest_list)
    }
    (target / CANONICAL_FOLDER).mkdir()
    names = sorted(path.name for path in (source / SPLITS[0]).iterdir() if path.is_dir())
    if len(names) != definition.classes:
        raise SuiteError(
            f"{source / SPLITS[0]} has {len(names)} folders, but {definition.title} needs one for"
            f" each of its {definition.classes} classes; get the folder again."
        )
    for table, splits, columns in reversed(
        tuple(zip(definition.tables, FOLDERS, COLUMNS, strict=True))
    ):
        found = {
            path.stem: (path, label)
            for split in splits
            for label, name in enumerate(names)
            for path in (source / split / name).glob("*.jpg")
            if path.stem in wanted
        }
        for path, _ in found.values():
            link_or_copy(path, target / CANONICAL_FOLDER / path.name)
        rows = sorted((image_id, label) for image_id, (_, label) in found.items())
        write_table(target / table.name, columns, rows)
        wanted -= found.keys()
    if wanted:
        raise SuiteError(
            f"{source} lacks {len(wanted)} of the images of {definition.title} (the first is"
            f" {min(wanted)}.jpg); get the folder again."
        )


def link_or_copy(source: Path, target: Path) -> None:
    """A hard link where the file system has them, else a copy; symbolic links, which may lead
    outside of the tree, are refused, and so is another file of that name."""
    if source.is_symlink():
        raise SuiteError(f"{source} is a symbolic link; replace the link by the file itself.")
    try:
        target.hardlink_to(source)
    except FileExistsError as error:
        if not filecmp.cmp(source, target, shallow=False):
            raise SuiteError(
                f"{source} has the name of another image; rename one of them, also in its table."
            ) from error
    except OSError:
        shutil.copyfile(source, target)


def write_table(path: Path, columns: Sequence[str], rows: Sequence[tuple[str, int]]) -> None:
    """Write a table of image ids and their classes."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        users = (ONE_USER,) * (len(columns) - 2)
        writer.writerows((*users, image_id, label) for image_id, label in rows)
