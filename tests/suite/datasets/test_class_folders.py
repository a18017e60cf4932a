"""Data sets whose pictures are published in folders of classes: arranged as tables and images/, and
pinned one by one."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from suite.catalog.data_sets import (
    DataSetDefinition,
    ImageTable,
    Pictures,
    load_data_set,
    load_data_sets,
)
from suite.catalog.data_sets import folder as definitions_folder
from suite.datasets import class_folders, layouts
from suite.datasets.class_folders import arrange_class_folders, has_class_folders, link_or_copy
from suite.datasets.digest_lists import digest_of_list, lines_of, read_list
from suite.datasets.prepare import from_directory
from suite.errors import SuiteError
from suite.files.digest import file_digest

CLASSES = ("boot", "cap", "coat")


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Four training and two evaluation pictures of each class."""
    for label, name in enumerate(CLASSES):
        for number in range(6):
            folder = tmp_path / "published" / ("train" if number < 4 else "test") / name
            folder.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (24, 32), (80 * label, 40 * number, 0)).save(
                folder / f"picture-{number}{label}.jpg"
            )
    return tmp_path / "published"


@pytest.fixture
def definition(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> DataSetDefinition:
    """A definition that pins all of them but the last, which is of the evaluation."""
    lines = lines_of({f"images/{path.name}": path for path in published.rglob("*.jpg")})[:-1]
    (tmp_path / "clothing.sha256").write_text("".join(f"{line}\n" for line in lines))
    for module in (layouts, class_folders):
        monkeypatch.setattr(module, "definitions_folder", lambda: tmp_path)
    pictures = Pictures(digest_of_list(lines), "clothing.sha256")
    plain = replace(
        load_data_set("clothing"), classes=3, train_samples=12, eval_samples=5, pictures=pictures
    )
    (tmp_path / "arranged").mkdir()
    arrange_class_folders(plain, published, tmp_path / "arranged")
    return replace(
        plain,
        tables=tuple(
            ImageTable(table.name, file_digest(tmp_path / "arranged", table.name).md5)
            for table in plain.tables
        ),
    )


def test_tables_name_listed_pictures_and_number_the_classes(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    rows = list(csv.DictReader((tmp_path / "arranged" / "mini_gld_train_split.csv").open()))
    assert len(rows) == 12 and {row["class"] for row in rows} == {"0", "1", "2"}
    for row in rows:
        assert (
            published / "train" / CLASSES[int(row["class"])] / f"{row['image_id']}.jpg"
        ).is_file()
    assert len(list(csv.DictReader((tmp_path / "arranged" / "mini_gld_test.csv").open()))) == 5, (
        "the picture that is not listed is left out"
    )


def test_pictures_of_validation_are_for_evaluation_and_for_nothing_else(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    """Where a copy of the folder has them in train/, too."""
    shutil.copytree(published / "train" / "cap", published / "validation" / "cap")
    (tmp_path / "again").mkdir()
    arrange_class_folders(definition, published, tmp_path / "again")
    train, test = (
        {row["image_id"] for row in csv.DictReader((tmp_path / "again" / table.name).open())}
        for table in definition.tables
    )
    assert (len(train), len(test)) == (8, 9) and not train & test
    assert test > {path.stem for path in (published / "validation" / "cap").iterdir()}


def test_a_published_folder_is_prepared_and_verified(
    definition: DataSetDefinition, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("prepare", "locate"):
        monkeypatch.setattr(f"suite.datasets.{module}.load_data_set", lambda name: definition)
    prepared = from_directory("clothing", published, tmp_path / "home")
    assert prepared.contents.train_samples == 12
    assert prepared.contents.eval_samples == 5
    assert prepared.contents.verified
    assert [path.name for path in (tmp_path / "home" / "data").iterdir()] == ["clothing"], (
        "nothing temporary is left"
    )


def test_a_missing_picture_is_counted_and_named(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    gone = sorted((published / "train" / "cap").glob("*.jpg"))[0]
    gone.unlink()
    (tmp_path / "again").mkdir()
    with pytest.raises(
        SuiteError,
        match=rf"lacks 1 of the images of .* \(the first is {gone.name}\); get the folder again",
    ):
        arrange_class_folders(definition, published, tmp_path / "again")


def test_a_missing_class_is_said(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    shutil.rmtree(published / "train" / "cap")
    (tmp_path / "again").mkdir()
    with pytest.raises(
        SuiteError, match=r"has 2 folders, but .* needs one for each of its 3 classes"
    ):
        arrange_class_folders(definition, published, tmp_path / "again")


def test_a_link_out_of_the_folder_is_refused(
    definition: DataSetDefinition, published: Path, tmp_path: Path
) -> None:
    picture = sorted((published / "test" / "boot").glob("*.jpg"))[0]
    shutil.move(picture, tmp_path / "elsewhere.jpg")
    picture.symlink_to(tmp_path / "elsewhere.jpg")
    (tmp_path / "again").mkdir()
    with pytest.raises(SuiteError, match="is a symbolic link"):
        arrange_class_folders(definition, published, tmp_path / "again")


def test_another_picture_of_the_same_name_is_refused_and_the_first_stays(tmp_path: Path) -> None:
    """The first may be a hard link to a person's own file."""
    for folder in ("train", "test", "images"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "1.jpg").write_text(folder)
    target = tmp_path / "images" / "1.jpg"
    target.unlink()
    for _ in range(2):  # both tables may name one picture
        link_or_copy(tmp_path / "train" / "1.jpg", target)
    with pytest.raises(SuiteError, match=r"test/1\.jpg has the name of another image; rename"):
        link_or_copy(tmp_path / "test" / "1.jpg", target)
    assert (tmp_path / "train" / "1.jpg").read_text() == target.read_text() == "train"


def test_a_folder_with_tables_is_taken_as_it_is(
    definition: DataSetDefinition, published: Path
) -> None:
    assert has_class_folders(definition, published)
    (published / "mini_gld_test.csv").touch()
    assert not has_class_folders(definition, published)


@pytest.mark.parametrize(
    "name",
    [found.name for found in load_data_sets() if found.pictures and found.pictures.digest_list],
)
def test_a_definition_pins_the_list_beside_it(name: str) -> None:
    found = load_data_set(name)
    assert found.pictures is not None and found.pictures.digest_list is not None
    lines = read_list(definitions_folder() / found.pictures.digest_list)
    assert digest_of_list(lines) == found.pictures.sha256
    assert len(lines) == (found.train_samples or 0) + (found.eval_samples or 0)
