"""Data sets of which some pictures can no longer be had: the tables without the rows of pictures
that are missing.

Only for data sets whose pictures are not pinned: nobody has all of them.
"""

import csv
from pathlib import Path

from suite.catalog.data_sets import DataSetDefinition
from suite.datasets.class_folders import SPLITS, link_or_copy
from suite.datasets.digest_lists import CANONICAL_FOLDER
from suite.datasets.layouts import check_images, picture_folder, read_table
from suite.errors import SuiteError


def lacks_pictures(definition: DataSetDefinition, source: Path) -> bool:
    """Whether the tables in ``source`` name pictures that are missing there, and nothing pins
    them."""
    return definition.pictures is None and any(
        not (picture_folder(source, split) / f"{image_id}.jpg").exists()
        for table, split in zip(definition.tables, SPLITS, strict=False)
        if (source / table.name).is_file()
        for image_id in read_table(source / table.name, definition.classes or 0)
    )


def leave_out(definition: DataSetDefinition, source: Path, target: Path) -> None:
    """Write the tables without the rows of missing pictures, and link or copy the others, into
    ``target``. Raises SuiteError where a table has no picture, or one is damaged."""
    (target / CANONICAL_FOLDER).mkdir()
    for table, split in zip(definition.tables, SPLITS, strict=True):
        named, pictures = (
            read_table(source / table.name, definition.classes or 0),
            picture_folder(source, split),
        )
        found = {name for name in named if (pictures / f"{name}.jpg").exists()}
        if not found:
            raise SuiteError(
                f"{pictures} has none of the {len(named)} images that {table.name} names; give"
                " the folder that contains them."
            )
        check_images([pictures / f"{name}.jpg" for name in sorted(found)])
        for name in found:
            link_or_copy(pictures / f"{name}.jpg", target / CANONICAL_FOLDER / f"{name}.jpg")
        with (
            (source / table.name).open(encoding="utf-8", newline="") as stream,
            (target / table.name).open("w", encoding="utf-8", newline="") as kept,
        ):
            rows = csv.DictReader(stream)
            writer = csv.DictWriter(kept, rows.fieldnames or (), lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for row in rows if row["image_id"] in found)
