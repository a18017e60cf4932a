"""Whatever the files of an extension's folder hold, they are judged: findings, no exception."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.bundle.manifest import seal
from suite.compliance.paths import check_paths
from tests.faults.edits.file_edits import change_json
from tests.hostile_folder import HostileFolder
from tests.in_extensions import modules_named

FOLDERS: dict[str, HostileFolder] = {
    kind: module.HOSTILE for kind, module in modules_named("hostile").items()
}
NO_RECORDS = (b"", bytes(range(256)), b"[1, 2]", b"{}", b"[" * 3000)
"""Contents that are no record of any kind."""


@pytest.fixture(scope="module")
def _good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("folders")
    return {kind: of.make(folder / kind) for kind, of in FOLDERS.items()}


@pytest.fixture
def copy_of(_good: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A fresh copy of a good folder, by the name of its extension."""
    return lambda name: Path(shutil.copytree(_good[name], tmp_path / "x"))


@pytest.mark.parametrize(
    ("kind", "name", "content"),
    [
        pytest.param(kind, name, content, id=f"{name}-{number}")
        for kind, of in FOLDERS.items()
        for name in of.files
        for number, content in enumerate((*NO_RECORDS, *of.contents))
    ],
)
def test_a_file_with_other_content_is_a_finding(
    kind: str, name: str, content: bytes, copy_of: Callable[[str], Path]
) -> None:
    folder = copy_of(kind)
    (folder / name).write_bytes(content)
    assert_judged(folder)


@pytest.mark.parametrize(
    ("kind", "setting", "key", "value"),
    [
        (kind, of.setting, key, value)
        for kind, of in FOLDERS.items()
        for key, values in of.values.items()
        for value in values
    ],
)
def test_an_impossible_setting_is_a_finding(
    kind: str, setting: str, key: str, value: object, copy_of: Callable[[str], Path]
) -> None:
    folder = copy_of(kind)
    change_json(folder / setting, lambda content: content.update({key: value}))
    assert_judged(folder)


def assert_judged(folder: Path) -> None:
    seal(folder)
    result = check_paths([folder])
    assert not result.complies and list(result.all_findings())


@pytest.mark.parametrize(("kind", "name"), [(kind, of.table) for kind, of in FOLDERS.items()])
def test_a_link_is_not_followed(
    kind: str, name: str, copy_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder, elsewhere = copy_of(kind), tmp_path / "elsewhere.csv"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    result = check_paths([folder])
    assert not result.complies
    assert any(
        finding.check == "record-recomputes" and f"{Path(name).name} is missing" in finding.observed
        for _, finding in result.all_findings()
    )
