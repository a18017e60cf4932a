"""Data sets, each defined in ``rules/datasets/*.toml``."""

from dataclasses import dataclass

from suite.catalog.definitions import Definitions


@dataclass(frozen=True)
class DataFile:
    """One file of a prepared data set; ``size_bytes``, ``sha256`` and ``md5`` are those of the
    decompressed content.

    The digests are None where none was published.
    SHA-256 verifies; a record whose MD5 differs although its SHA-256 does not was not made from the
    file.
    """

    name: str
    size_bytes: int
    sha256: str | None = None
    md5: str | None = None
    download_size_bytes: int | None = None  # compressed; None for files that are not downloaded


@dataclass(frozen=True)
class Archive:
    """A file with the whole data set. MD5 detects damage, SHA-256 also tampering."""

    name: str
    md5: str
    sha256: str
    addresses: tuple[str, ...]


@dataclass(frozen=True)
class ImageTable:
    """A table of images and their classes."""

    name: str
    md5: str


@dataclass(frozen=True)
class Pictures:
    """The pictures of a data set: ``sha256`` is that of one line for each, with its SHA-256 and its
    name (suite.datasets.digest_lists).

    ``digest_list`` is the file beside the definition with these lines; None for pictures that are
    made, whose lines are written beside them. ``decoded_sha256`` is the same for the pictures'
    pixels: another JPEG encoder may write other files with equal pixels.
    """

    sha256: str
    digest_list: str | None = None
    decoded_sha256: str | None = None


@dataclass(frozen=True)
class PictureShape:
    """A size of pictures, and the share of them that have it."""

    width: int
    height: int
    percent: int


@dataclass(frozen=True)
class DataSetRecipe:
    """How the pictures of a data set are made from ``photographs`` (suite.datasets.recipes).

    A picture is a crop that has at least ``smallest_crop_percent`` of the largest one's sides; it
    is coded as JPEG with ``quality``. ``size_bytes`` is the size of all pictures.
    """

    source: str
    photographs: Pictures
    shapes: tuple[PictureShape, ...]
    smallest_crop_percent: int
    quality: int
    size_bytes: int


@dataclass(frozen=True)
class DataSetDefinition:
    """A data set. ``layout`` names the arrangement of its files and thereby the reader.

    ``mirrors`` are addresses with ``<name>.gz`` of every file, ``archive`` is one file with
    everything; a data set that is generated or that users must provide has neither. Numbers of
    classes and samples are None where they are counted in the files. ``pictures`` pins the pictures
    that ``tables`` name; None: their digests are not known. ``recipe`` says how they are made, None
    where they are published. ``mistaken_for`` are names of other data sets whose files have the
    same names.
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
    tables: tuple[ImageTable, ...] = ()
    pictures: Pictures | None = None
    recipe: DataSetRecipe | None = None
    mistaken_for: tuple[str, ...] = ()

    @property
    def can_be_downloaded(self) -> bool:
        """Whether its publisher's files have addresses."""
        return bool(self.mirrors) or self.archive is not None

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of its files and tables."""
        return (*(file.name for file in self.files), *(table.name for table in self.tables))


DEFINITIONS = Definitions("datasets", DataSetDefinition, "data set", "data-sets")
folder, load_data_set, load_data_sets = DEFINITIONS.folder, DEFINITIONS.load, DEFINITIONS.load_all
