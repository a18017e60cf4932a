"""Data sets as data: ``rules/datasets/*.toml``."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalogue import load_all, load_one
from suite.paths import repository_root


@dataclass(frozen=True)
class DataFile:
    """One file of a prepared data set; size and SHA-256 are of the decompressed content."""

    name: str
    size_bytes: int
    sha256: str
    download_size_bytes: int | None = None  # compressed; None where nothing is downloaded


@dataclass(frozen=True)
class DataSetDefinition:
    """A data set; ``mirrors`` are addresses that hold ``<name>.gz`` of every file, none for a data set that is made."""

    name: str
    title: str
    source: str
    classes: int
    train_samples: int
    eval_samples: int
    files: tuple[DataFile, ...]
    mirrors: tuple[str, ...] = ()


def folder(root: Path | None = None) -> Path:
    """Where the data sets are defined."""
    return (root or repository_root()) / "rules" / "datasets"


def load_data_set(name: str, root: Path | None = None) -> DataSetDefinition:
    """The data set of this name; raises SuiteError naming the nearest one when there is none."""
    return load_one(folder(root), DataSetDefinition, "data set", name)


def load_data_sets(root: Path | None = None) -> tuple[DataSetDefinition, ...]:
    """Every data set, by name."""
    return load_all(folder(root), DataSetDefinition)
