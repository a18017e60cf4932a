"""Digests of the files that a run is about to read."""

from pathlib import Path

from reference_impls.contract import monotonic_ns
from suite.bundle.data_record import DataRecord
from suite.catalog.data_sets import load_data_set
from suite.datasets.digest_lists import PICTURE_FOLDERS, digest_of_list, lines_of_folder
from suite.datasets.layouts import root_of
from suite.files.digest import file_digest


def digest_data(name: str, directory: Path) -> DataRecord:
    """Read every file of the data set ``name`` in ``directory`` that its definition lists; its
    pictures only if they are pinned.

    Files that are missing are left out: the checker reports them. Raises OSError for a file that
    cannot be read.
    """
    definition, taken_ns = load_data_set(name), monotonic_ns()
    root = root_of(definition, directory)
    names = [
        *(file.name for file in definition.files),
        *(table.name for table in definition.tables),
    ]
    files = tuple(file_digest(root, each) for each in names if (root / each).is_file())
    if definition.pictures is None:
        return DataRecord(name, taken_ns, files)
    lines = lines_of_folder(directory, PICTURE_FOLDERS)
    return DataRecord(name, taken_ns, files, len(lines), digest_of_list(lines))
