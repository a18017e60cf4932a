import os
from pathlib import Path

import pytest

from suite.machine import page_cache
from suite.meters.meter import MeteredProcess
from suite.meters.sources import page_cache as source
from suite.meters.sources.page_cache import PageCacheMeter


def test_the_share_of_the_data_that_is_in_memory(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(os.urandom(100_000))
    meter = PageCacheMeter()
    meter.open(MeteredProcess(1, tmp_path))
    (reading,) = meter.read()
    assert (reading.channel, reading.value, reading.unit) == ("resident", 1.0, "ratio")


def test_of_very_many_files_evenly_spread_ones_stand_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_FILES", 5)
    for index in range(20):
        (tmp_path / f"{index:02}").write_bytes(b"x")
    meter = PageCacheMeter()
    meter.open(MeteredProcess(1, tmp_path))
    assert [path.name for path in meter._files] == ["00", "04", "08", "12", "16"]


def test_data_that_the_kernel_would_not_tell_about_are_an_error_not_a_full_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_bytes(b"x")
    monkeypatch.setattr(page_cache.os, "geteuid", lambda: 12345)
    monkeypatch.setattr(page_cache.os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="does not report"):
        PageCacheMeter().open(MeteredProcess(1, tmp_path))


def test_a_folder_without_data_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no data"):
        PageCacheMeter().open(MeteredProcess(1, tmp_path))


def test_what_lies_beside_the_data_set_does_not_count(tmp_path: Path) -> None:
    """The folder of --data may hold other data sets, and their archives."""
    for name in ("images", "archive.tar"):
        (tmp_path / name).write_bytes(b"x")
    meter = PageCacheMeter()
    meter.open(MeteredProcess(1, tmp_path, [f"{tmp_path}/images"]))
    assert meter._files == [tmp_path / "images"]
