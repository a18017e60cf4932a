"""What is wrong with a data set is found before a run, with the file named."""

import os
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from suite.catalog.data_sets import DataFile, load_data_set
from suite.catalog.divisions import Division
from suite.compliance.checker import check_request
from suite.datasets import prepare
from suite.datasets.layouts import decode_all
from suite.datasets.locate import find_data_set
from suite.datasets.synthetic import WRITERS
from suite.errors import SuiteError
from suite.execution.request import RunOptions
from suite.execution.resolve import resolve_options
from suite.files.digest import sha256
from tests.every_case import some

SAMPLES = {"cifar10": 50, "clothing": 10, "gld23k": 203, "imagefolder": 20}


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A generated data set by name; all are made once."""
    made = {
        name: prepare.generate_data_set(name, samples, 0, tmp_path_factory.mktemp(name)).directory
        for name, samples in SAMPLES.items()
    }
    return made.__getitem__


@pytest.fixture
def copy(generated: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a generated data set, to be spoiled."""
    return lambda name: Path(shutil.copytree(generated(name), tmp_path / name))


@pytest.mark.parametrize("name", some(sorted(SAMPLES, key="gld23k".__eq__), 3))
def test_a_generated_data_set_is_whole_and_known_as_generated(
    name: str, generated: Callable[[str], Path]
) -> None:
    found = find_data_set(name, generated(name))
    assert found.is_synthetic
    assert not found.contents.verified
    assert found.contents.train_samples == SAMPLES[name]
    assert found.contents.classes == (load_data_set(name).classes or 10)
    assert decode_all(generated(name), lambda done, of: None) == (
        0 if name == "cifar10" else found.contents.train_samples + found.contents.eval_samples
    )


def test_generating_again_gives_the_same_bytes(
    generated: Callable[[str], Path], tmp_path: Path
) -> None:
    again = prepare.generate_data_set("imagefolder", SAMPLES["imagefolder"], 0, tmp_path).directory
    for path in sorted(generated("imagefolder").rglob("*.jpg")):
        assert (
            again / path.relative_to(generated("imagefolder"))
        ).read_bytes() == path.read_bytes()


BATCHES = "cifar-10-batches-bin"


def test_a_file_beside_the_folders_of_the_classes_is_left_out(
    copy: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy("imagefolder")
    for split in ("train", "val"):
        (folder / split / ".DS_Store").write_bytes(b"Bud1")
    (folder / "prepared.json").unlink()
    taken = prepare.from_directory("imagefolder", folder, tmp_path / "home")
    for found in (taken, find_data_set("imagefolder", folder)):
        assert (found.contents.classes, found.contents.train_samples) == (10, 20)


def test_damage_in_the_middle_of_an_image_is_found_by_decoding(copy: Callable[[str], Path]) -> None:
    folder = copy("imagefolder")
    path = next((folder / "train/class1").iterdir())
    content = path.read_bytes()
    path.write_bytes(content[:200] + b"\xff\xd9" * 100 + content[400:])
    find_data_set("imagefolder", folder, verify=False)
    with pytest.raises(SuiteError, match=path.name):
        decode_all(folder, lambda done, of: None)


def test_a_tree_with_a_link_is_not_taken_over(copy: Callable[[str], Path], tmp_path: Path) -> None:
    folder = copy("imagefolder")
    (folder / "train/class1/more.jpg").symlink_to(next((folder / "train/class2").iterdir()))
    with pytest.raises(SuiteError, match="is a symbolic link"):
        prepare.from_directory("imagefolder", folder, tmp_path / "home")


def test_a_tree_is_taken_over_completely(copy: Callable[[str], Path], tmp_path: Path) -> None:
    folder = copy("gld23k")
    (folder / "prepared.json").unlink()
    taken = prepare.from_directory("gld23k", folder, tmp_path / "home")
    assert (taken.contents.train_samples, taken.contents.eval_samples, taken.is_synthetic) == (
        203,
        203,
        False,
    )
    assert not taken.contents.verified  # its tables are not the published ones


def test_pictures_that_nobody_can_get_are_left_out(
    copy: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy("gld23k")
    (folder / "prepared.json").unlink()
    tables = {path: path.read_bytes() for path in folder.glob("*.csv")}
    for name in ("train000001", "train000005", "test000002"):
        (folder / "images" / f"{name}.jpg").unlink()
    taken = prepare.from_directory("gld23k", folder, tmp_path / "home")
    assert (taken.contents.train_samples, taken.contents.eval_samples) == (201, 202)
    kept = (taken.directory / "mini_gld_train_split.csv").read_text()
    assert "train000001" not in kept and kept.startswith("user_id,image_id,class\n")
    assert {path: path.read_bytes() for path in tables} == tables, "the folder stays as it was"
    options = RunOptions(
        Division.OPEN, "generic", "mobilenetv3", "pytorch", data=f"gld23k={taken.directory}"
    )
    request = resolve_options(options)
    findings = check_request(request.training, request.workload)
    assert request.training.data.train_samples == 201
    assert "data-as-defined" not in {finding.rule for finding in findings}
    closed = request.training._replace(division=Division.CLOSED.value)
    findings = check_request(closed, request.workload)
    assert {"data-as-defined", "closed-data"} <= {finding.rule for finding in findings}


def test_a_table_without_any_picture_is_refused(
    copy: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = copy("gld23k")
    for path in (folder / "images").glob("test*.jpg"):
        path.unlink()
    with pytest.raises(SuiteError, match=r"has none of the 203 images that mini_gld_test\.csv"):
        prepare.from_directory("gld23k", folder, tmp_path / "home")


def pack(folder: Path, target: Path) -> None:
    """A tar archive of the folder."""
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder / BATCHES, BATCHES)


@pytest.fixture
def definition(
    copy: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with an archive that is, for this test, the published one."""
    folder = copy("cifar10")
    source = tmp_path / "download"
    source.mkdir()
    pack(folder, source / "cifar-10-binary.tar.gz")
    published = load_data_set("cifar10")
    assert published.archive is not None
    archive = replace(published.archive, sha256=sha256(source / "cifar-10-binary.tar.gz"))
    files = tuple(
        DataFile(file.name, path.stat().st_size, sha256(path))
        for file in published.files
        if (path := folder / file.name)
    )
    small = replace(published, archive=archive, files=files)
    for module in ("suite.datasets.prepare", "suite.datasets.locate"):
        monkeypatch.setattr(f"{module}.load_data_set", lambda name: small)
    return source


def test_what_came_out_of_the_published_archive_is_verified_until_it_changes(
    definition: Path, tmp_path: Path
) -> None:
    taken = prepare.from_directory("cifar10", definition, tmp_path / "home")
    assert taken.contents.verified
    path = taken.directory / BATCHES / "test_batch.bin"
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)
    assert not find_data_set("cifar10", home=tmp_path / "home").contents.verified


def test_a_damaged_archive_is_refused_without_the_files_beside_it(
    definition: Path, tmp_path: Path
) -> None:
    archive = definition / "cifar-10-binary.tar.gz"
    os.truncate(archive, archive.stat().st_size // 2)
    with pytest.raises(SuiteError, match=f"^{archive} is not a whole .* archive"):
        prepare.from_directory("cifar10", definition, tmp_path / "home")
    assert not (tmp_path / "home/data/cifar10").exists()
    shutil.copytree(tmp_path / "cifar10" / BATCHES, definition / BATCHES)
    assert prepare.from_directory("cifar10", definition, tmp_path / "home").contents.verified


def test_every_layout_can_be_generated() -> None:
    from suite.datasets.layouts import LAYOUTS

    assert LAYOUTS.keys() == WRITERS.keys()
