"""Digest lists: pictures pinned one by one, and what is missing or changed."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from suite.catalog.data_sets import DataSetDefinition, ImageTable, Pictures, load_data_set
from suite.compliance.rules.data import proves_pictures
from suite.datasets import layouts
from suite.datasets.digest_lists import (
    ListDifference,
    compare_list,
    digest_of_list,
    read_list,
)
from suite.datasets.layouts import inspect_data_set
from suite.datasets.prepare import generate_data_set
from suite.errors import SuiteError
from suite.execution import preparation
from suite.execution.preparation import digest_data
from suite.files.digest import file_digest
from tools.pin_pictures import pin


@pytest.fixture(scope="module")
def _landmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_data_set("gld23k", 203, 1, tmp_path_factory.mktemp("home")).directory


@pytest.fixture
def landmarks(_landmarks: Path, tmp_path: Path) -> Path:
    """Generated pictures in GLD-23k's layout."""
    return Path(shutil.copytree(_landmarks, tmp_path / "landmarks"))


@pytest.fixture
def pinned(landmarks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSetDefinition:
    """A definition that pins these tables and pictures."""
    found = load_data_set("gld23k")
    tables = tuple(
        ImageTable(table.name, file_digest(landmarks, table.name).md5) for table in found.tables
    )
    definition = replace(found, tables=tables)
    assert 'digest_list = "gld23k.sha256"' in pin(definition, landmarks, tmp_path / "gld23k.sha256")
    monkeypatch.setattr(layouts, "definitions_folder", lambda: tmp_path)
    return replace(
        definition,
        pictures=Pictures(digest_of_list(read_list(tmp_path / "gld23k.sha256")), "gld23k.sha256"),
    )


def test_pictures_as_pinned_are_verified(landmarks: Path, pinned: DataSetDefinition) -> None:
    assert inspect_data_set(pinned, landmarks, True).verified
    assert not inspect_data_set(replace(pinned, pictures=None), landmarks, True).verified, (
        "tables alone prove no picture"
    )


@pytest.mark.parametrize(("read", "unread"), [("images", "train"), ("train", "test")])
def test_the_picture_that_is_digested_is_the_one_that_the_readers_open(
    read: str,
    unread: str,
    landmarks: Path,
    pinned: DataSetDefinition,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The published picture in a folder from which it is not read proves nothing."""
    monkeypatch.setattr(preparation, "load_data_set", lambda name: pinned)
    (landmarks / "images").rename(landmarks / read)
    shutil.copytree(landmarks / read, landmarks / unread)
    assert inspect_data_set(pinned, landmarks, True).verified
    Image.new("RGB", (8, 8)).save(sorted((landmarks / read).glob("train*.jpg"))[3])
    assert not inspect_data_set(pinned, landmarks, True).verified
    record = digest_data("gld23k", landmarks)
    assert pinned.pictures is not None and not proves_pictures(pinned.pictures, record)


@pytest.mark.parametrize("more", ["images/more.jpg", "images/._train000001.jpg", "train/more.jpg"])
def test_a_picture_that_no_table_names_is_not_digested(
    more: str, landmarks: Path, pinned: DataSetDefinition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "load_data_set", lambda name: pinned)
    (landmarks / more).parent.mkdir(exist_ok=True)
    (landmarks / more).write_bytes(b"\0")
    assert inspect_data_set(pinned, landmarks, True).verified
    record = digest_data("gld23k", landmarks)
    assert pinned.pictures is not None and proves_pictures(pinned.pictures, record)


def test_a_picture_that_was_coded_anew_is_named(landmarks: Path, pinned: DataSetDefinition) -> None:
    image = sorted((landmarks / "images").glob("*.jpg"))[3]
    image.write_bytes(image.read_bytes() + b"\0")
    contents = inspect_data_set(pinned, landmarks, True)
    assert not contents.verified
    assert re.search(
        r"lacks 0 of the .* from the published ones .*: 1; the first one missing or different is"
        rf" images/{image.name}",
        contents.different or "",
    )


def test_another_list_is_refused(
    landmarks: Path, pinned: DataSetDefinition, tmp_path: Path
) -> None:
    lines = (tmp_path / "gld23k.sha256").read_text().splitlines(keepends=True)
    (tmp_path / "gld23k.sha256").write_text("".join(lines[1:]))
    with pytest.raises(SuiteError, match=r"is not the list that gld23k\.toml pins"):
        inspect_data_set(pinned, landmarks, True)


def test_a_set_with_holes_is_not_pinned(
    landmarks: Path, pinned: DataSetDefinition, tmp_path: Path
) -> None:
    for image in sorted((landmarks / "images").glob("train*.jpg"))[:2]:
        image.unlink()
    with pytest.raises(SuiteError, match=r"2 of \d+ images are missing: images/train"):
        pin(pinned, landmarks, tmp_path / "more.sha256")
    assert not (tmp_path / "more.sha256").exists()


def test_other_tables_are_not_pinned(landmarks: Path, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="is not the published table"):
        pin(load_data_set("gld23k"), landmarks, tmp_path / "more.sha256")


def test_missing_and_changed_pictures_are_told_apart() -> None:
    lines = [
        f"{digit * 64}  images/{name}.jpg"
        for digit, name in (("a", "one"), ("b", "two"), ("c", "three"), ("e", "four"))
    ]
    found = [lines[0], lines[1].replace("b", "d"), lines[3]]
    wanted = [line[66:] for line in lines]
    assert compare_list(lines[:3], found, wanted) == ListDifference(
        ("images/three.jpg",), ("images/four.jpg", "images/two.jpg")
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x\n",
        f"{'a' * 64}  ../up.jpg\n",
        f"{'a' * 64}  images/b.jpg\n{'a' * 64}  images/a.jpg\n",
    ],
)
def test_a_malformed_list_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.sha256").write_text(text)
    if text:
        with pytest.raises(SuiteError):
            read_list(tmp_path / "list.sha256")
    else:
        assert read_list(tmp_path / "list.sha256") == ()


def test_the_harness_digests_tables_but_not_pictures_that_nobody_pinned(landmarks: Path) -> None:
    record = digest_data("gld23k", landmarks)
    assert [file.name for file in record.files] == ["mini_gld_train_split.csv", "mini_gld_test.csv"]
    assert (record.pictures, record.pictures_sha256) == (0, None)
    assert len(list((landmarks / "images").iterdir())) > 203
