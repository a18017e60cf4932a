"""Results replace files, and nothing but files: root's `--output /dev/null` would make a file of
the device."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.files.durable import publish, refuse_no_place
from suite.files.json_file import read_json, write_json


def published(path: Path) -> None:
    with publish(path) as temporary:
        temporary.write_text("{}")


@pytest.mark.parametrize(
    "write", [published, lambda path: write_json(path, {})], ids=["publish", "write_json"]
)
def test_a_pipe_and_a_folder_stay_what_they_were(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match="device or pipe"):
            write(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "folder").is_dir()
    assert len(list(tmp_path.iterdir())) == 2


class WrittenMeanwhile(dict[str, int]):
    """Values, and another process that writes the same file while they are written."""

    def __init__(self, path: Path) -> None:
        super().__init__(mine=1)
        self._path = path

    def items(self) -> Any:
        write_json(self._path, {"others": 2})
        return super().items()


def test_two_processes_write_one_record_and_the_last_ones_stays(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, WrittenMeanwhile(path))
    assert read_json(path) == {"mine": 1} and list(tmp_path.iterdir()) == [path]


def test_bytes_are_on_the_storage_medium_before_the_file_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    monkeypatch.setattr("os.fsync", lambda handle: seen.append((tmp_path / "record").exists()))
    published(tmp_path / "record")
    assert seen == [False] and (tmp_path / "record").exists()


def test_a_place_that_cannot_be_written_is_found_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (
        tmp_path / "nowhere/record.json",
        tmp_path / "file/record.json",
        tmp_path,
        Path("/dev/null"),
    ):
        with pytest.raises(OSError):
            refuse_no_place(path)
    refuse_no_place(tmp_path / "file")
    refuse_no_place(tmp_path / "new.json")
