"""A prepared data set is found and counted, and its definition says how to prepare it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suite.catalog.data_sets import DataFile, DataSetDefinition, load_data_set
from suite.datasets.layouts import (
    DataSetContents,
    check_images,
    inspect_data_set,
    problem_with,
    read_table,
)
from suite.errors import SuiteError
from suite.files.digest import sha256

RECORD = 3073
JPEG, PNG = b"\xff\xd8 a \xff\xd9", b"\x89PNG\r\n\x1a\n a IEND"


def pictures(folder: Path, names: str) -> None:
    for name in names.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(PNG if name.lower().endswith("png") else JPEG)


def test_folders_of_classes_are_counted_by_their_pictures(tmp_path: Path) -> None:
    """``val`` where there is one, else ``test``; other files are none."""
    definition = load_data_set("imagefolder")
    pictures(tmp_path, "train/a/1.jpg train/a/2.JPEG train/b/3.PNG train/b/notes.txt")
    with pytest.raises(SuiteError, match="has no folder val or test"):
        inspect_data_set(definition, tmp_path, True)
    pictures(tmp_path, "test/a/1.jpg test/b/2.jpg test/b/3.jpg test/b/4.png")
    assert inspect_data_set(definition, tmp_path, True) == DataSetContents(2, 3, 4, False)
    for names, words in (
        ("val/a/1.jpg", r"classes of training and evaluation differ: \['b'\]"),
        ("val/b/notes.txt", r"classes without images: \['b'\]"),
    ):
        pictures(tmp_path, names)
        with pytest.raises(SuiteError, match=words):
            inspect_data_set(definition, tmp_path, True)
    pictures(tmp_path, "val/b/1.jpg")
    assert inspect_data_set(definition, tmp_path, True).eval_samples == 2
    pictures(tmp_path / "one", "train/a/1.jpg val/a/1.jpg")
    with pytest.raises(SuiteError, match="needs at least two classes"):
        inspect_data_set(definition, tmp_path / "one", True)


def test_a_picture_has_its_beginning_and_its_end(tmp_path: Path) -> None:
    path = tmp_path / "1.jpg"
    for content in (JPEG, JPEG + bytes(62), PNG):
        path.write_bytes(content)
        check_images([path])
    cut = (JPEG + bytes(63), JPEG[1:], JPEG[:-1], PNG[:-1], PNG[1:], PNG[:8] + JPEG[-2:], b"")
    for content in cut:
        path.write_bytes(content)
        with pytest.raises(SuiteError, match=r"1.jpg is damaged \(named\): it is not"):
            check_images([path], " (named)")
    with pytest.raises(SuiteError, match=r"2.jpg cannot be read \(named\): No such file"):
        check_images([tmp_path / "2.jpg"], " (named)")


def batches(folder: Path, labels: dict[str, list[int]]) -> DataSetDefinition:
    """Files of CIFAR-10's records with these labels, and their definition of three classes."""
    files = []
    for name, of_file in labels.items():
        records = np.zeros((len(of_file), RECORD), np.uint8)
        records[:, 0], records[:, 1] = of_file, 9
        (folder / name).write_bytes(records.tobytes())
        files.append(DataFile(name, records.size, sha256(folder / name)))
    return replace(load_data_set("cifar10"), classes=3, files=tuple(files))


def test_records_are_counted_and_each_class_must_occur_in_both_parts(tmp_path: Path) -> None:
    good = {"data_batch_1": [2, 0], "data_batch_2": [1, 1, 1], "test_batch": [0, 1, 2, 2]}
    definition = batches(tmp_path, good)
    assert inspect_data_set(definition, tmp_path, True) == DataSetContents(3, 5, 4, True)
    for changed, words in (
        ({"data_batch_2": [1, 3]}, r"data_batch_2 has labels 1 to 3, expected 0 to 2"),
        ({"data_batch_1": [0, 0]}, r"data_batch_1 and .* of 2 classes, expected 3"),
        ({"test_batch": [0, 2]}, r"test_batch and .* of 2 classes, expected 3"),
    ):
        definition = batches(tmp_path, {**good, **changed})
        with pytest.raises(SuiteError, match=words):
            inspect_data_set(definition, tmp_path, True)
        inspect_data_set(definition, tmp_path, False)


def test_the_first_file_of_another_content_is_named(tmp_path: Path) -> None:
    definition = batches(tmp_path, {"data_batch_1": [0, 1, 2], "test_batch": [0, 1, 2]})
    for name in ("test_batch", "data_batch_1"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-1] + b"x")
        found = inspect_data_set(definition, tmp_path, True)
        assert f"{name} has SHA-256" in str(found.different) and not found.verified
    assert inspect_data_set(definition, tmp_path, False).verified, "nothing was read"
    first = definition.files[0]
    assert problem_with(tmp_path / first.name, replace(first, sha256=None)) is None
    assert "has 9219 bytes, expected 1" in str(
        problem_with(tmp_path / first.name, replace(first, size_bytes=1))
    )
    assert "none is missing" in str(problem_with(tmp_path / "none", first))


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("a_-1,2", None),
        (f"{'x' * 100},0", None),
        (f"{'x' * 101},0", "names the image"),
        ("../../etc/passwd,0", "names the image '../../etc/passwd'; only letters"),
        (",0", "names the image ''"),
        ("a,3", "has the class '3', expected a number from 0 to 2"),
        ("a,-1", "has the class '-1'"),
        ("a,\u0662", "has the class '\u0662'"),
        ("a", "has the class ''"),
    ],
)
def test_a_row_of_a_table_is_a_file_s_name_and_a_class(
    row: str, words: str | None, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f"image_id,class\nfirst,0\n{row}\n", encoding="utf-8")
    if words is None:
        assert read_table(tmp_path / "t.csv", 3) == ["first", row.split(",")[0]]
    else:
        with pytest.raises(SuiteError, match=f"t.csv:3 {words}"):
            read_table(tmp_path / "t.csv", 3)


def test_a_table_names_images_in_utf_8(tmp_path: Path) -> None:
    for content, words in (
        (b"image_id,class\n", "names no image"),
        (b"picture,class\na,0\n", "t.csv:2 names the image ''"),
        (b"image_id,class\n\xff,0\n", "t.csv cannot be read"),
    ):
        (tmp_path / "t.csv").write_bytes(content)
        with pytest.raises(SuiteError, match=words):
            read_table(tmp_path / "t.csv", 3)
