"""Pins the pictures of a data set: ``python -m tools.pin_pictures gld23k DIR`` writes
rules/datasets/gld23k.sha256 from a downloaded set.

DIR has the published tables and ``images/`` (or ``train/`` and ``test/``). The tables are compared
with their published MD5 first. Pictures that the tables name and DIR lacks are counted and named: a
list with holes pins no data set, so it is written only if none is missing.

For a data set that is made, DIR has its photographs: the pictures are made in a temporary folder,
and what the definition pins is printed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from suite.catalog.data_sets import DataSetDefinition, folder, load_data_set
from suite.datasets.digest_lists import (
    decoded_lines_of,
    digest_of_list,
    lines_of,
    name_in_line,
)
from suite.datasets.layouts import table_pictures
from suite.datasets.recipes import make_pictures
from suite.errors import SuiteError
from suite.files.digest import file_digest

MAX_NAMES = 20


def pin(definition: DataSetDefinition, directory: Path, output: Path) -> str:
    """Write the digest list; returns the lines for the definition. Raises SuiteError for other
    tables and for missing pictures."""
    for table in definition.tables:
        found = (
            file_digest(directory, table.name).md5
            if (directory / table.name).is_file()
            else "no such file"
        )
        if found != table.md5:
            raise SuiteError(
                f"{directory / table.name} is not the published table: MD5 {found}, expected"
                f" {table.md5}."
            )
    pictures = table_pictures(definition, directory)
    lines = lines_of(pictures)
    missing = sorted(pictures.keys() - {name_in_line(line) for line in lines})
    if missing:
        more = f" and {len(missing) - MAX_NAMES} more" if len(missing) > MAX_NAMES else ""
        raise SuiteError(
            f"{directory}: {len(missing)} of {len(pictures)} images are missing:"
            f" {', '.join(missing[:MAX_NAMES])}{more}; nothing was written."
        )
    output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return f'[pictures]\ndigest_list = "{output.name}"\nsha256 = "{digest_of_list(lines)}"\n'


def pin_made(definition: DataSetDefinition, photographs: Path) -> str:
    """Make the pictures; returns the lines for the definition."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        made = Path(folder)
        make_pictures(definition, photographs, made, lambda done, of: None)
        tables = "".join(
            f'[[tables]]\nname = "{table.name}"\nmd5 = "{file_digest(made, table.name).md5}"\n\n'
            for table in definition.tables
        )
        pictures = table_pictures(definition, made)
        files, pixels = lines_of(pictures), decoded_lines_of(pictures)
        size_bytes = sum(path.stat().st_size for path in made.rglob("*.jpg"))
    return (
        f'{tables}[pictures]\nsha256 = "{digest_of_list(files)}"\n'
        f'decoded_sha256 = "{digest_of_list(pixels)}"\n\n[recipe]\nsize_bytes = {size_bytes}\n'
    )


def main() -> int:
    """Pin the pictures; 1, with a sentence, if that is not possible."""
    parser = argparse.ArgumentParser(prog="python -m tools.pin_pictures", description=__doc__)
    parser.add_argument("name", help="data set with tables, like gld23k")
    parser.add_argument("directory", type=Path, help="folder with tables and images")
    options = parser.parse_args()
    try:
        definition = load_data_set(options.name)
        if definition.recipe is not None:
            sys.stdout.write(pin_made(definition, options.directory))
        else:
            list_path = folder() / f"{definition.name}.sha256"
            sys.stdout.write(pin(definition, options.directory, list_path))
    except SuiteError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
