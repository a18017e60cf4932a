"""A data set is verified whole or not there at all."""

import errno
import gzip
import io
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suite.catalog.data_sets import DataFile, DataSetDefinition, load_data_set, load_data_sets
from suite.catalog.divisions import Division
from suite.cli import data
from suite.datasets import prepare
from suite.datasets.locate import data_set_folder, find_data_set, synthetic_place
from suite.datasets.synthetic import images, labels_of
from suite.errors import SuiteError
from suite.execution.preparation import digest_data
from suite.execution.request import RunOptions
from suite.execution.resolve import resolve_options
from suite.files.digest import sha256


@pytest.fixture
def digits_files(tmp_path: Path) -> Path:
    """The digits' files, plain, in a folder of a person's own."""
    return prepare.make_data_set("digits", tmp_path / "elsewhere").directory


@pytest.mark.parametrize("option", [{"samples": 5}, {"seed": 2}], ids=str)
def test_options_of_generated_data_are_refused_with_other_data(option: dict[str, int]) -> None:
    with pytest.raises(SuiteError, match="--samples and --seed belong to --synthetic"):
        data.prepare("digits", **option)  # type: ignore[arg-type]


@pytest.mark.parametrize("definition", load_data_sets(), ids=lambda definition: definition.name)
def test_what_was_published_is_pinned_by_a_checksum(definition: DataSetDefinition) -> None:
    by_content = [len(file.sha256 or "") == 64 for file in definition.files]
    by_archive = [len(definition.archive.md5) == 32] if definition.archive else []
    by_table = [len(table.md5) == 32 for table in definition.tables]
    pinned = [*by_content, *by_archive, *by_table]
    assert all(pinned) and bool(pinned) == (definition.name != "imagefolder")


def test_the_digits_are_the_same_bytes_everywhere(tmp_path: Path) -> None:
    prepared = prepare.make_data_set("digits", tmp_path)
    assert find_data_set("digits", home=tmp_path, verify=True) == prepared


def test_both_digests_of_a_file_are_of_the_same_bytes(tmp_path: Path) -> None:
    prepared = prepare.make_data_set("digits", tmp_path)
    taken = {file.name: file for file in digest_data("digits", prepared.directory).files}
    assert {file.name: (file.sha256, file.md5) for file in prepared.definition.files} == {
        name: (file.sha256, file.md5) for name, file in taken.items()
    }


def test_a_disk_that_reads_no_more_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error")

    prepared = prepare.make_data_set("digits", tmp_path)
    monkeypatch.setattr("suite.datasets.layouts.sha256", fail)
    with pytest.raises(SuiteError, match=f"^{prepared.directory} cannot be read: Input/output"):
        find_data_set("digits", home=tmp_path)


def test_a_folder_that_was_meant_and_is_none_is_not_a_missing_data_set(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"mnits is not a folder; give the folder that holds"):
        find_data_set("mnist", tmp_path / "mnits", tmp_path)


def test_data_that_were_not_generated_are_said_how_to_generate(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="suite data prepare mnist --synthetic"):
        find_data_set("mnist", synthetic_place("mnist", tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("", bytes(368), "has 368 bytes, expected 367"),
        (".gz", gzip.compress(bytes(367), mtime=0)[:-20], "not a complete gzip file"),
        (".gz", b"<html>not found</html>", "not a complete gzip file"),
        (".zip", b"", "Neither "),
    ],
)
def test_a_broken_file_is_named_and_nothing_is_prepared(
    name: str, content: bytes, words: str, digits_files: Path, tmp_path: Path
) -> None:
    labels = digits_files / "t10k-labels-idx1-ubyte"
    labels.unlink()
    labels.with_name(f"{labels.name}{name}").write_bytes(content)
    with pytest.raises(SuiteError, match=words) as caught:
        prepare.from_directory("digits", digits_files, tmp_path / "home")
    assert "t10k-labels-idx1-ubyte" in str(caught.value)
    assert list((tmp_path / "home" / "data").iterdir()) == []


def test_a_bomb_is_cut_off(digits_files: Path, tmp_path: Path) -> None:
    """A gzip file that unpacks to far more than the definition says writes one byte too many and is
    refused."""
    labels = digits_files / "t10k-labels-idx1-ubyte"
    labels.unlink()
    with gzip.open(f"{labels}.gz", "wb") as stream:
        stream.write(b"\0" * 50_000_000)
    with pytest.raises(SuiteError, match="has 368 bytes, expected 367"):
        prepare.from_directory("digits", digits_files, tmp_path / "home")


def test_a_disk_that_takes_no_more_is_one_sentence(digits_files: Path, tmp_path: Path) -> None:
    """The kernel really refuses the write: the child may make no file larger than 100 kB."""
    script = (
        "import sys, signal\nfrom pathlib import Path\nfrom suite.datasets import prepare\nfrom"
        " suite.errors import SuiteError\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ntry:"
        " prepare.from_directory('digits', Path(sys.argv[1]), Path(sys.argv[2]))\nexcept SuiteError"
        " as error: print(error)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, str(digits_files), str(tmp_path / "home")],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        env={**os.environ},
    )
    assert answer.stdout.startswith("The disk is full"), answer.stderr
    assert list((tmp_path / "home" / "data").iterdir()) == []


def test_a_folder_that_is_closed_to_this_user_is_passed_over(
    digits_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As lost+found in the root of a disk."""
    (digits_files / "lost+found").mkdir(mode=0)
    digits_files.chmod(0o755)
    monkeypatch.chdir(digits_files)
    definition, name = load_data_set("digits"), "t10k-labels-idx1-ubyte"
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            found = prepare._find_sources(definition, Path(), name)
            os._exit(0 if found == [Path(name)] else 1)
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_this_user_may_not_read_is_named(tmp_path: Path) -> None:
    said = r"^/media/usb/1\.jpg cannot be read or written: Permission denied\.$"
    with pytest.raises(SuiteError, match=said), prepare._disk_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied", "/media/usb/1.jpg")


def test_a_link_to_another_disk_is_kept_and_the_set_made_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "disk" / "digits").mkdir(parents=True)
    (tmp_path / "disk" / "digits" / "old").touch()
    link = data_set_folder("digits", tmp_path)
    link.symlink_to(tmp_path / "disk" / "digits")
    for _ in range(2):
        assert prepare.make_data_set("digits", tmp_path).contents.verified
        assert link.is_symlink() and not (link / "old").exists()
        assert [path.name for path in (tmp_path / "disk").iterdir()] == ["digits"]


@pytest.mark.parametrize("where", ["", "below"])
def test_a_folder_is_not_replaced_by_what_is_taken_from_it(
    where: str, digits_files: Path, tmp_path: Path
) -> None:
    """Where the data set's folder is a link to a person's own."""
    own = tmp_path / "own"
    (own / where).parent.mkdir(parents=True, exist_ok=True)
    digits_files.rename(own / where)
    (own / "notes.txt").touch()
    link = data_set_folder("digits", tmp_path / "home")
    link.parent.mkdir(parents=True)
    link.symlink_to(own)
    with pytest.raises(SuiteError, match=f"{link} is a link to {own}, .*; remove the link, or "):
        prepare.from_directory("digits", own / where, tmp_path / "home")
    assert (own / "notes.txt").is_file()
    link.unlink()
    assert prepare.from_directory("digits", own / where, tmp_path / "home").contents.verified


def test_a_set_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its folder is a mount point."""

    def refuse(path: Path, target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy", str(path))

    prepared = prepare.make_data_set("digits", tmp_path)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(SuiteError, match=r"cannot be written to .*: Device or resource busy"):
        prepare.make_data_set("digits", tmp_path)
    assert find_data_set("digits", home=tmp_path) == prepared
    assert list((tmp_path / "data").iterdir()) == [prepared.directory]


def test_what_a_killed_command_left_is_put_right_and_that_of_a_living_one_stays(
    tmp_path: Path,
) -> None:
    data = prepare.make_data_set("digits", tmp_path).directory
    old = data.with_name(".digits.abc.old")
    data.rename(old)
    half, living = (data.with_name(f".digits.{name}") for name in ("half", "living"))
    for folder in (half, living):
        folder.mkdir()
    with (
        prepare._locked(living),
        pytest.raises(SuiteError),
        prepare._new_folder("digits", tmp_path),
    ):
        raise OSError("full")
    assert data.is_dir() and living.is_dir() and not half.exists() and not old.exists()


@pytest.mark.real
def test_real_mnist_is_what_the_definition_says(mnist: Path, tmp_path: Path) -> None:
    assert prepare.from_directory("mnist", mnist, tmp_path).contents.train_samples == 60000


def test_files_are_found_as_programs_keep_them(digits_files: Path, tmp_path: Path) -> None:
    """With dots in their names, packed or not, in MNIST/raw."""
    raw = tmp_path / "downloads" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for index, file in enumerate(load_data_set("digits").files):
        content = (digits_files / file.name).read_bytes()
        name = file.name.replace("-idx", ".idx")
        if index % 2:
            (raw / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (raw / name).write_bytes(content)
    prepared = prepare.from_directory("digits", tmp_path / "downloads", tmp_path / "home")
    assert prepared.contents.verified


def packed(archive: Path, contents: dict[str, bytes]) -> Path:
    """The archive, a .zip or a .tar.gz, with members of these contents."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as zipped:
            for name, content in contents.items():
                zipped.writestr(name, content)
        return archive
    with tarfile.open(archive, "w:gz") as tarred:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tarred.addfile(member, io.BytesIO(content))
    return archive


def of_digits(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["zip", "tgz", "tar.gz"])
@pytest.mark.parametrize("is_gzipped", [False, True])
@pytest.mark.parametrize("folder", ["", "../MNIST/a/b/raw/"])
def test_files_are_taken_out_of_an_archive(
    kind: str, is_gzipped: bool, folder: str, digits_files: Path, tmp_path: Path
) -> None:
    contents = {"__MACOSX/._t10k-labels-idx1-ubyte": b"?", "notes.txt": b"mine"} | {
        f"{folder}{name}{'.gz' * is_gzipped}": gzip.compress(content) if is_gzipped else content
        for name, content in of_digits(digits_files).items()
    }
    archive = packed(tmp_path / f"digits.{kind}", contents)
    prepared = prepare.from_directory("digits", archive, tmp_path / "home")
    assert prepared.contents.verified
    assert {path.name for path in prepared.directory.iterdir()} == set(of_digits(digits_files))


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t10k-labels-idx1-ubyte": bytes(50_000_000)}, "idx1-ubyte has 368 bytes, expected 367"),
        ({"t10k-labels-idx1-ubyte": bytes(367)}, "/t10k-labels-idx1-ubyte has SHA-256 "),
        (None, " is not a whole .zip or .tar.gz archive "),
    ],
)
def test_a_bad_archive_is_named_and_nothing_is_prepared(
    kind: str, change: dict[str, bytes] | None, words: str, digits_files: Path, tmp_path: Path
) -> None:
    archive = packed(tmp_path / f"digits.{kind}", of_digits(digits_files) | (change or {}))
    if change is None:
        os.truncate(archive, archive.stat().st_size // 2)
    with pytest.raises(SuiteError, match=words) as caught:
        prepare.from_directory("digits", archive, tmp_path / "home")
    assert str(caught.value).startswith(str(archive))
    assert list((tmp_path / "home" / "data").iterdir()) == []


def test_an_archive_of_pictures_is_not_taken(tmp_path: Path) -> None:
    archive = packed(tmp_path / "pictures.zip", {"train/cat/1.jpg": b""})
    with pytest.raises(SuiteError, match=r"pictures\.zip is not a folder; give the folder"):
        prepare.from_directory("imagefolder", archive, tmp_path / "home")


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small CIFAR-10 of known content, as the archive holds it."""
    made = prepare.generate_data_set("cifar10", 100, 1, tmp_path / "made").directory
    (made / "prepared.json").unlink()
    files = tuple(
        DataFile(each.name, path.stat().st_size, sha256(path))
        for each in load_data_set("cifar10").files
        if (path := made / each.name)
    )
    small = replace(load_data_set("cifar10"), files=files, train_samples=100, eval_samples=20)
    for module in ("prepare", "locate"):
        monkeypatch.setattr(f"suite.datasets.{module}.load_data_set", lambda name: small)
    return made / "cifar-10-batches-bin"


def test_records_are_taken_from_their_folder_and_the_one_above(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(records)
    for number, source in enumerate((records, records.parent, Path())):
        assert find_data_set("cifar10", source).contents.verified
        prepared = prepare.from_directory("cifar10", source, tmp_path / f"home{number}")
        assert prepared.contents.verified and prepared.contents.different is None


def cut(records: Path) -> None:
    os.truncate(records / "data_batch_1.bin", 3073)


def keep_pickles(records: Path) -> None:
    for path in records.iterdir():
        path.rename(path.with_suffix(""))


def brighten(records: Path) -> None:
    path = records / "data_batch_1.bin"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)


def keep_pickles_beside(records: Path) -> None:
    keep_pickles(records)
    records.rename(records.with_name("cifar-10-batches-py"))


def keep_packed_pickles(records: Path) -> None:
    shutil.rmtree(records)
    (records.parent / "cifar-10-python.tar.gz").touch()


def number_to_200(records: Path) -> None:
    path = records / "data_batch_1.bin"
    path.write_bytes(b"\xc8" + path.read_bytes()[1:])


PYTHON = "data set's Python version.*binary version"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (number_to_200, "open division trains on it if its labels are valid"),
        (keep_packed_pickles, f"cifar10-synthetic holds the {PYTHON}"),
        (keep_pickles_beside, f"cifar-10-batches-py holds the {PYTHON}"),
        (brighten, "data_batch_1.bin has SHA-256 .*open division"),
        (cut, "data_batch_1.bin has 3073 bytes, expected .* get the file again.$"),
        (keep_pickles, f"cifar-10-batches-bin holds the {PYTHON}"),
    ],
)
def test_records_of_another_content_are_named(
    change: Callable[[Path], None], said: str, records: Path, tmp_path: Path
) -> None:
    change(records)
    with pytest.raises(SuiteError, match=said):
        prepare.from_directory("cifar10", records.parent, tmp_path / "home")
    assert not data_set_folder("cifar10", tmp_path / "home").exists()


def test_an_archive_with_the_python_version_is_named_as_such(tmp_path: Path) -> None:
    batches = {f"cifar-10-batches-py/data_batch_{number}": b"pickle" for number in range(1, 6)}
    archive = packed(tmp_path / "cifar-10-python.tar.gz", batches)
    with pytest.raises(SuiteError, match=f"^{archive} holds the {PYTHON}"):
        prepare.from_directory("cifar10", archive, tmp_path / "home")


@pytest.mark.parametrize("change", [keep_pickles, keep_pickles_beside, keep_packed_pickles])
def test_data_that_are_the_python_version_are_named_as_such(
    change: Callable[[Path], None], records: Path
) -> None:
    change(records)
    with pytest.raises(SuiteError, match=f" does not hold CIFAR-10: .* holds the {PYTHON}"):
        find_data_set("cifar10", records.parent)


def test_other_records_train_in_the_open_division_alone(records: Path) -> None:
    brighten(records)
    found = find_data_set("cifar10", records.parent).contents
    assert not found.verified and "data_batch_1.bin has SHA-256" in str(found.different)
    options = RunOptions(Division.OPEN, "auto", "vgg11", "pytorch", data=str(records.parent))
    assert resolve_options(options).training.data.verified is False
    with pytest.raises(SuiteError, match=r"data_batch_1.bin .* not the published CIFAR-10"):
        resolve_options(replace(options, division=Division.CLOSED))


def test_generated_samples_are_learnable_and_their_numbers_follow_from_the_training_s(
    tmp_path: Path,
) -> None:
    for samples, evaluated in ((60, 12), (10, 10)):
        made = prepare.generate_data_set("mnist", samples, 1, tmp_path / str(samples)).contents
        assert (made.train_samples, made.eval_samples, made.verified) == (samples, evaluated, False)
    with pytest.raises(SuiteError, match="generate at least 10 samples"):
        prepare.generate_data_set("mnist", 9, 1, tmp_path)
    labels = labels_of(23, 5, 1, 0)
    assert sorted(np.bincount(labels)) == [4, 4, 5, 5, 5] and labels.tolist() != sorted(labels)
    pictures = [images(np.repeat([0, 1], 64), (8, 8, 1), 1, part) for part in (0, 1)]
    means = [[part[:64].mean(axis=0), part[64:].mean(axis=0)] for part in pictures]
    own, other = (np.abs(means[0][0] - means[1][label]).mean() for label in (0, 1))
    assert own < other / 2 and not np.array_equal(*pictures), "the same pattern, other noise"


def test_a_stranger_s_file_below_the_folder_is_passed_over_and_named_where_it_is_all(
    tmp_path: Path,
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "t10k-labels-idx1-ubyte").write_bytes(b"mine")
    (file,) = [each for each in load_data_set("mnist").files if each.name.startswith("t10k-labels")]
    paths = prepare._find_sources(load_data_set("mnist"), tmp_path, file.name)
    with pytest.raises(
        SuiteError, match=f"This file lies in a folder below {tmp_path} and may be part of"
    ):
        prepare._take_right(load_data_set("mnist"), tmp_path, file, paths, tmp_path / "taken")
    deep = tmp_path / "a" / "b" / "c" / "data_batch_1"
    deep.parent.mkdir()
    deep.touch()
    with pytest.raises(SuiteError, match=r"has data_batch_1\.bin"):
        prepare._find_sources(load_data_set("cifar10"), tmp_path, "data_batch_1.bin")
