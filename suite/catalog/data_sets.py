"""Data sets as data: ``rules/datasets/*.toml``."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalog.definitions import load_all, load_one
from suite.files.paths import repository_root


@dataclass(frozen=True)
class DataFile:
    """One file of a prepared data set; size and SHA-256 are of the decompressed content.

    Where no SHA-256 of the content was published, the archive's checksum stands for it.
    """

    name: str
    size_bytes: int
    sha256: str | None = None
    download_size_bytes: int | None = None  # compressed; None where nothing is downloaded


@dataclass(frozen=True)
class Archive:
    """A file that holds the whole data set; MD5 is what was published, against damage, not against malice."""

    name: str
    md5: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table that names pictures and their classes."""

    name: str
    md5: str


@dataclass(frozen=True)
class DataSetDefinition:
    """A data set; ``layout`` is how its files lie, and which reader serves it.

    ``mirrors`` are addresses that hold ``<name>.gz`` of every file, ``archive`` is one file with everything; neither is there for a data
    set that is made or that only its owner can provide. Numbers of classes and samples are None where they are what is found.
    """

    name: str
    title: str
    source: str
    layout: str
    classes: int | None = None
    train_samples: int | None = None
    eval_samples: int | None = None
    files: tuple[DataFile, ...] = ()
    mirrors: tuple[str, ...] = ()
    archive: Archive | None = None
    tables: tuple[Table, ...] = ()


def folder(root: Path | None = None) -> Path:
    """Where the data sets are defined."""
    return (root or repository_root()) / "rules" / "datasets"


def load_data_set(name: str, root: Path | None = None) -> DataSetDefinition:
    """The data set of this name; raises SuiteError naming the nearest one when there is none."""
    return load_one(folder(root), DataSetDefinition, "data set", name)


def load_data_sets(root: Path | None = None) -> tuple[DataSetDefinition, ...]:
    """Every data set, by name."""
    return load_all(folder(root), DataSetDefinition)
