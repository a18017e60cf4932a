"""Folders that a stranger filled: links are not followed, depth and size are bounded."""

import os
from pathlib import Path

import pytest

from suite.compliance.paths import check_paths
from suite.errors import SuiteError
from suite.files.tree import MAX_BYTES, MAX_DEPTH, below, refuse_large


def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "file").write_text("")
    (folder / "link").symlink_to(outside)
    (folder / "circle").symlink_to(folder)
    assert below(folder) == [folder / "circle", folder / "link"]


def test_folders_deeper_than_python_can_call_itself_are_not_entered(tmp_path: Path) -> None:
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    try:
        assert len(below(tmp_path)) == MAX_DEPTH
    finally:
        for _ in range(1500):  # from the innermost outwards: shutil.rmtree calls itself for every folder
            outer = os.open("..", os.O_RDONLY, dir_fd=place)
            os.rmdir("d", dir_fd=outer)
            os.close(place)
            place = outer
        os.close(place)


def test_a_sparse_file_is_refused_before_it_is_read_and_others_are_judged(good_bundle: Path, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.mkdir()
    (large / "run.json").write_text("{}")
    with (large / "output.txt").open("wb") as stream:
        stream.truncate(2 * MAX_BYTES)
    with pytest.raises(SuiteError, match=r"holds 2 files with 4\.3 GB; .* take out"):
        refuse_large(large)
    result = check_paths([large, good_bundle])
    assert [verdict.complies for verdict in result.bundles] == [True]
    assert len(result.broken) == 1 and "4.3 GB" in result.broken[0]
