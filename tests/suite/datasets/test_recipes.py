"""Data sets that are made from photographs: the same pictures on every machine, proved by their
files or by their pixels."""

import csv
from dataclasses import replace
from functools import partialmethod
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from suite.bundle.data_record import DataRecord
from suite.catalog.data_sets import (
    DataSetDefinition,
    ImageTable,
    Pictures,
    PictureShape,
    load_data_set,
)
from suite.catalog.data_sets import folder as definitions_folder
from suite.compliance.rules.data import proves_pictures
from suite.datasets import recipes
from suite.datasets.digest_lists import (
    MADE_LIST,
    decoded_lines_of,
    digest_of_list,
    lines_of,
    read_list,
)
from suite.datasets.layouts import inspect_data_set, table_pictures
from suite.datasets.locate import PreparedDataSet, find_data_set
from suite.datasets.prepare import from_directory
from suite.datasets.recipes import crop_of, make_pictures
from suite.errors import SuiteError
from suite.execution import preparation
from suite.execution.preparation import digest_data
from suite.files.digest import file_digest

NAME = "photographs"
KINDS = ("boot", "cap")
MADE, EVALUATED = 16, 3


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Six photographs of two kinds, over the folders of training and evaluation."""
    random = np.random.RandomState(1)
    for number in range(6):
        folder = tmp_path / "published" / ("train" if number < 4 else "test") / KINDS[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        coarse = random.randint(0, 255, (5, 4, 3)).astype(np.uint8)
        photograph = Image.fromarray(coarse).resize((40, 53), Image.Resampling.BICUBIC)
        photograph.save(folder / f"photograph-{number}.jpg")
    return tmp_path / "published"


@pytest.fixture
def definition(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DataSetDefinition:
    """Sixteen pictures of three classes, pinned as they are made here."""
    lines = lines_of({f"images/{path.name}": path for path in published.rglob("*.jpg")})
    (tmp_path / "sources.sha256").write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setattr(recipes, "definitions_folder", lambda: tmp_path)
    full = load_data_set(NAME)
    assert full.recipe is not None
    recipe = replace(
        full.recipe,
        photographs=Pictures(digest_of_list(lines), "sources.sha256"),
        shapes=(PictureShape(80, 60, 50), PictureShape(60, 80, 50)),
        size_bytes=MADE * 10_000,
    )
    small = replace(
        full,
        classes=3,
        train_samples=MADE - EVALUATED,
        eval_samples=EVALUATED,
        recipe=recipe,
    )
    made = tmp_path / "made"
    made.mkdir()
    make_pictures(small, published, made, lambda done, of: None)
    pictures = table_pictures(small, made)
    pinned = replace(
        small,
        tables=tuple(
            ImageTable(each.name, file_digest(made, each.name).md5) for each in small.tables
        ),
        pictures=Pictures(
            digest_of_list(lines_of(pictures)),
            decoded_sha256=digest_of_list(decoded_lines_of(pictures)),
        ),
    )
    for module in ("suite.datasets.prepare", "suite.datasets.locate", preparation.__name__):
        monkeypatch.setattr(f"{module}.load_data_set", lambda name: pinned)
    return pinned


@pytest.fixture
def prepared(definition: DataSetDefinition, published: Path, tmp_path: Path) -> PreparedDataSet:
    """The data set, made from its photographs."""
    return from_directory(NAME, published, tmp_path / "home")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_as_many_pictures_as_defined_in_the_sizes_of_the_recipe(prepared: PreparedDataSet) -> None:
    assert prepared.contents.verified
    train, test = (_rows(prepared.directory / t.name) for t in prepared.definition.tables)
    made = {f"photograph-{number}": 3 if number in (0, 1, 2, 4) else 2 for number in range(6)}
    label = dict(
        zip((f"photograph-{number}" for number in (0, 2, 4, 1, 3, 5)), "001122", strict=True)
    )
    assert [tuple(row.values()) for row in test] == [
        (f"photograph-{number}-0", label[f"photograph-{number}"]) for number in (0, 4, 3)
    ], "the first picture of each class's first photograph"
    assert {(row["image_id"], row["class"]) for row in (*train, *test)} == {
        (f"{name}-{number}", label[name]) for name, count in made.items() for number in range(count)
    }
    assert len(train) == MADE - EVALUATED
    pictures = [Image.open(path) for path in sorted((prepared.directory / "images").iterdir())]
    assert len(pictures) == MADE
    assert {picture.size for picture in pictures} == {(80, 60), (60, 80)}


def test_the_arrangement_of_the_photographs_in_splits_does_not_matter(
    prepared: PreparedDataSet, published: Path, tmp_path: Path
) -> None:
    for kind in KINDS:
        for path in (published / "test" / kind).iterdir():
            path.rename(published / "train" / kind / path.name)
    assert from_directory(NAME, published, tmp_path / "again").contents.verified


def test_numbers_of_a_crop_follow_from_the_picture_s_name() -> None:
    """Written down, so that a change of the recipe's arithmetic does not pass."""
    recipe = load_data_set(NAME).recipe
    assert recipe is not None
    crops = [crop_of(f"a-{number}", 400, 533, recipe) for number in range(3)]
    assert [(crop.shape.width, crop.shape.height) for crop in crops] == [
        (600, 800),
        (800, 600),
        (800, 600),
    ]
    assert [crop.box for crop in crops] == [
        (16, 14, 375, 493),
        (60, 275, 396, 527),
        (19, 169, 339, 409),
    ]
    assert [crop.is_mirrored for crop in crops] == [False, False, True]


def test_pictures_of_another_encoder_are_proved_by_their_pixels(
    prepared: PreparedDataSet,
    definition: DataSetDefinition,
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = digest_data(NAME, prepared.directory)
    assert record.pictures_decoded_sha256 is None, "nothing is decoded where the files are pinned"
    # an encoder that chooses its own Huffman codes
    monkeypatch.setattr(Image.Image, "save", partialmethod(Image.Image.save, optimize=True))
    elsewhere = from_directory(NAME, published, tmp_path / "elsewhere")
    assert elsewhere.contents.verified
    record = digest_data(NAME, elsewhere.directory)
    assert definition.pictures is not None
    assert record.pictures_sha256 != definition.pictures.sha256
    assert record.pictures_decoded_sha256 == definition.pictures.decoded_sha256
    assert proves_pictures(definition.pictures, record)


def test_other_pixels_are_named_and_refused(
    prepared: PreparedDataSet, definition: DataSetDefinition, tmp_path: Path
) -> None:
    path = sorted((prepared.directory / "images").iterdir())[3]
    Image.new("RGB", (80, 60)).save(path)
    contents = inspect_data_set(definition, prepared.directory, True)
    assert not contents.verified
    assert f"the first one missing or different is images/{path.name}" in str(contents.different)
    record = digest_data(NAME, prepared.directory)
    assert definition.pictures is not None and not proves_pictures(definition.pictures, record)
    with pytest.raises(SuiteError, match=f": 1; .*{path.name}. Get or make the data set again"):
        from_directory(NAME, prepared.directory, tmp_path / "elsewhere")
    (prepared.directory / MADE_LIST).unlink()
    assert "another JPEG library" in str(
        inspect_data_set(definition, prepared.directory, True).different
    )


def test_a_damaged_picture_is_named(
    prepared: PreparedDataSet, definition: DataSetDefinition, tmp_path: Path
) -> None:
    """Also where its damage, in the middle, is found while the pixels are compared."""
    path = sorted((prepared.directory / "images").iterdir())[3]
    content = path.read_bytes()
    path.write_bytes(content[:200] + b"\xff\xd9" * 100 + content[400:])
    with pytest.raises(SuiteError, match=f"^{path} is damaged: .*; prepare the data set"):
        find_data_set(NAME, home=tmp_path / "home")
    with pytest.raises(SuiteError, match=f"{path} is damaged: .*; get the image again"):
        from_directory(NAME, prepared.directory, tmp_path / "elsewhere")
    with pytest.raises(SuiteError, match=f"^{path} is damaged: .*; get the image again"):
        digest_data(NAME, prepared.directory)


@pytest.mark.parametrize("place", [0, 1])
def test_another_table_is_named_and_refused(
    place: int, prepared: PreparedDataSet, definition: DataSetDefinition, tmp_path: Path
) -> None:
    table = definition.tables[place]
    path = prepared.directory / table.name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    contents = inspect_data_set(definition, prepared.directory, True)
    said = f"{path} has MD5 {file_digest(path.parent, path.name).md5}, expected {table.md5}"
    assert (contents.verified, contents.different) == (False, said)
    with pytest.raises(SuiteError, match=f"{said}. Get or make the data set again"):
        from_directory(NAME, prepared.directory, tmp_path / "elsewhere")


def test_photographs_that_lost_their_folders_make_another_set(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    """The classes follow from the folders: the same pictures, other tables."""
    (tmp_path / "flat").mkdir()
    for path in published.rglob("*.jpg"):
        path.rename(tmp_path / "flat" / path.name)
    with pytest.raises(SuiteError, match=r"mini_gld_train_split\.csv has MD5"):
        from_directory(NAME, tmp_path / "flat", tmp_path / "home")
    assert list((tmp_path / "home" / "data").iterdir()) == []


def test_a_set_that_was_made_is_taken_over_as_it_is(
    prepared: PreparedDataSet, tmp_path: Path
) -> None:
    taken = from_directory(NAME, prepared.directory, tmp_path / "elsewhere")
    assert taken.contents.verified
    assert (taken.directory / MADE_LIST).read_text() == (prepared.directory / MADE_LIST).read_text()


def test_photographs_that_are_missing_or_changed_are_counted_and_the_first_is_named(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    Image.new("RGB", (40, 53)).save(published / "train/boot/photograph-2.jpg")
    with pytest.raises(SuiteError, match=r"lacks 0 .* is 1\. .* is photograph-2\.jpg"):
        from_directory(NAME, published, tmp_path / "home")
    (published / "train/cap/photograph-1.jpg").unlink()
    with pytest.raises(SuiteError, match=r"lacks 1 .* is 1\. .* is photograph-1\.jpg"):
        from_directory(NAME, published, tmp_path / "home")
    assert list((tmp_path / "home" / "data").iterdir()) == []


def test_a_full_disk_is_said_before_anything_is_made(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    assert definition.recipe is not None
    large = replace(definition, recipe=replace(definition.recipe, size_bytes=10**18))
    with pytest.raises(SuiteError, match=r"needs 1000000000\.0 GB, .* set SUITE_HOME"):
        make_pictures(large, published, tmp_path, lambda done, of: None)


def test_an_interruption_leaves_nothing(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    def interrupt(done: int, of: int) -> None:
        assert of == MADE
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_directory(NAME, published, tmp_path / "home", interrupt)
    assert list((tmp_path / "home" / "data").iterdir()) == []


def test_the_definition_pins_its_photographs() -> None:
    recipe = load_data_set(NAME).recipe
    assert recipe is not None and recipe.photographs.digest_list is not None
    lines = read_list(definitions_folder() / recipe.photographs.digest_list)
    assert len(lines) == 3781 and digest_of_list(lines) == recipe.photographs.sha256
    assert sum(shape.percent for shape in recipe.shapes) == 100


def test_a_record_of_an_older_round_has_no_pixels() -> None:
    pinned = load_data_set(NAME).pictures
    assert pinned is not None
    assert proves_pictures(pinned, DataRecord(NAME, 1, (), 25_110, pinned.sha256))
    assert not proves_pictures(pinned, DataRecord(NAME, 1, (), 25_110, "0" * 64))
    assert not proves_pictures(
        replace(pinned, decoded_sha256=None), DataRecord(NAME, 1, (), 25_110, "0" * 64)
    )
