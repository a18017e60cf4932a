"""Folders that a stranger filled: links are not followed, depth and size are bounded."""

import os
from pathlib import Path

import pytest

from suite.bundle.disclosures import find_disclosures
from suite.compliance.paths import check_paths
from suite.errors import SuiteError
from suite.files.tree import (
    MAX_BYTES,
    MAX_DEPTH,
    files_below,
    folders_below,
    paths_below,
    refuse_large,
)


def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "file").write_text("")
    (folder / "link").symlink_to(outside)
    (folder / "circle").symlink_to(folder)
    assert paths_below(folder) == [folder / "circle", folder / "link"]


def test_folders_deeper_than_python_can_call_itself_are_not_entered(tmp_path: Path) -> None:
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    try:
        assert len(paths_below(tmp_path)) == MAX_DEPTH
    finally:
        # from the innermost outwards: shutil.rmtree calls itself for every folder
        for _ in range(1500):
            outer = os.open("..", os.O_RDONLY, dir_fd=place)
            os.rmdir("d", dir_fd=outer)
            os.close(place)
            place = outer
        os.close(place)


def test_a_sparse_file_is_refused_before_it_is_read_and_others_are_judged(
    good_bundle: Path, tmp_path: Path
) -> None:
    large = tmp_path / "large"
    large.mkdir()
    (large / "run.json").write_text("{}")
    with (large / "output.txt").open("wb") as stream:
        stream.truncate(2 * MAX_BYTES)
    with pytest.raises(SuiteError, match=r"holds 2 files with 4\.3 GB; .* remove what"):
        refuse_large(large)
    result = check_paths([large, good_bundle])
    assert [verdict.complies for verdict in result.bundles] == [True]
    assert len(result.broken) == 1 and "4.3 GB" in result.broken[0]


def test_links_to_where_this_user_must_not_look_are_links(tmp_path: Path) -> None:
    """A reviewer who is not root gets a submission with a link into somebody's home."""
    locked, folder = tmp_path / "locked", tmp_path / "folder"
    for each in (locked, folder):
        each.mkdir()
    for name in ("run.json", "run_1"):
        (folder / name).symlink_to(locked / "secret")
    folder.chmod(0o755)
    locked.chmod(0)
    child = os.fork()
    if not child:
        try:
            os.chdir(folder)
            if os.geteuid() == 0:
                os.setuid(65534)
            refuse_large(Path())
            os._exit(
                len(
                    [
                        *files_below(Path(), "run.json"),
                        *folders_below(Path()),
                        *find_disclosures(Path(), paths_below(Path())),
                    ]
                )
            )
        finally:
            os._exit(99)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        locked.chmod(0o755)
