"""The real page cache of this machine."""

import mmap
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from suite.machine import page_cache
from suite.machine.page_cache import (
    DropMethod,
    Residency,
    data_files,
    drop_page_cache,
    fill_page_cache,
    residency,
)
from suite.machine.storage import disk_of, mount_of

PAGE = mmap.PAGESIZE
NO_ROOT = Path("/nonexistent")  # a machine whose drop_caches cannot be written


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files of odd sizes on a disk, written to it."""
    mount = mount_of(tmp_path)
    if mount is None or disk_of(mount) is None:
        pytest.skip("the temporary folder is on no disk: its files are always in memory")
    for name, size in {"a": 64 * PAGE, "b": 10 * PAGE + 123, "c": 1, "empty": 0}.items():
        (tmp_path / name).write_bytes(os.urandom(size))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/d").write_bytes(os.urandom(3 * PAGE))
    (tmp_path / "link").symlink_to("a")
    os.sync()
    return tmp_path


def test_files_that_were_just_written_are_in_memory_and_links_do_not_count_twice(
    data: Path,
) -> None:
    found = residency(data_files(data))
    assert found.size_bytes == found.resident_bytes == 64 * PAGE + 10 * PAGE + 123 + 1 + 3 * PAGE


def test_less_than_a_hundredth_in_memory_is_cold() -> None:
    found = [Residency(size_bytes, 10).is_cold for size_bytes in (1000, 1001)]
    assert [*found, Residency(9, None).is_cold] == [False, True, None]


def test_without_root_the_cache_is_emptied_file_by_file(data: Path) -> None:
    before = residency(data_files(data))
    method, after = drop_page_cache(data_files(data), NO_ROOT)
    assert method is DropMethod.PER_FILE
    assert (before.resident_bytes, after.resident_bytes) == (before.size_bytes, 0)
    assert after.is_cold is True


def test_what_is_read_again_is_in_memory_again_to_the_page(data: Path) -> None:
    drop_page_cache(data_files(data), NO_ROOT)
    handle = os.open(data / "a", os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_RANDOM)  # no reading ahead
    for page in (0, 7, 63):
        os.pread(handle, 1, page * PAGE)
    os.close(handle)
    assert residency([data / "a"]).resident_bytes == 3 * PAGE


def test_a_page_that_a_program_has_mapped_stays_and_the_cache_is_not_called_cold(
    data: Path,
) -> None:
    with (
        (data / "a").open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ) as mapped,
    ):
        assert sum(mapped[page * PAGE] for page in range(64)) >= 0  # touched
        _, after = drop_page_cache(data_files(data), NO_ROOT)
    assert after.is_cold is False
    assert after.resident_bytes == 64 * PAGE


def test_what_is_not_yet_written_is_written_before_the_cache_is_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel keeps dirty pages."""
    done: list[str] = []
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(page_cache.os, "sync", lambda: done.append("written"))
    monkeypatch.setattr(page_cache.os, "posix_fadvise", lambda *_: done.append("dropped"))
    drop_page_cache(data_files(tmp_path), NO_ROOT)
    assert done == ["written", "dropped", "dropped"]


@pytest.mark.parametrize(
    ("user", "is_writable", "is_known"),
    [("root", False, True), ("owner", False, True), ("other", True, True), ("other", False, False)],
)
def test_the_kernel_tells_residency_to_root_to_the_owner_and_to_who_may_write(
    user: str, is_writable: bool, is_known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    owner = path.stat().st_uid
    number = {"root": 0, "owner": owner, "other": owner + 1}[user]
    monkeypatch.setattr(page_cache.os, "geteuid", lambda: number)
    monkeypatch.setattr(page_cache.os, "access", lambda path, mode: is_writable)
    assert (residency([path]).reason is None) is is_known


def test_as_root_the_kernel_is_asked_to_drop_what_is_clean(data: Path, tree) -> None:
    root = tree({"proc/sys/vm/drop_caches": "0"})
    assert drop_page_cache(data_files(data), root)[0] is DropMethod.WHOLE_MACHINE
    assert (root / "proc/sys/vm/drop_caches").read_text() == "1\n"


@pytest.mark.proof
@pytest.mark.skipif(
    shutil.which("vmtouch") is None, reason="vmtouch is not installed (make prove calculations)"
)
def test_it_agrees_with_vmtouch(data: Path) -> None:
    drop_page_cache(data_files(data), NO_ROOT)
    (data / "b").read_bytes()
    answer = subprocess.run(
        ["vmtouch", *map(str, data_files(data))], capture_output=True, text=True, check=True
    ).stdout
    pages = int(answer.split("Resident Pages:")[1].split("/")[0])
    resident_bytes = residency(data_files(data)).resident_bytes
    assert resident_bytes is not None
    assert -(-resident_bytes // PAGE) == pages


def test_filling_reads_every_file_whole(data: Path) -> None:
    drop_page_cache(data_files(data), NO_ROOT)
    assert fill_page_cache(data_files(data)).resident_bytes == sum(
        path.stat().st_size for path in data_files(data)
    )
