"""`suite env create --dry-run` says what would be installed, from where, and how large it is; it makes nothing."""

import json
import re
from pathlib import Path

import pytest

from suite.cli.app import app
from suite.files.paths import HOME_VARIABLE
from suite.launch import recipe


@pytest.fixture(autouse=True)
def on_a_board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr(recipe.this_platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(recipe, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(recipe.this_platform, "python_version_tuple", lambda: ("3", "11", "2"))
    monkeypatch.setattr("suite.launch.environments._version", lambda framework, python: (3, 11))


def test_a_rehearsal_states_packages_downloads_and_disk(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    app(["env", "create", "pytorch", "--dry-run"], standalone_mode=False)
    output = capsys.readouterr().out
    first = r"PyTorch for Python 3.11 on aarch64 without an NVIDIA GPU: \d+ packages of the lock .*, \d+ MB to download, \d+ MB on disk\n"
    assert re.match(first, output)
    assert "  torch==2.9.1\n" in output and "nvidia-" not in output and "+cpu" not in output
    assert not (tmp_path / "home").exists()


def test_a_rehearsal_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    app(["env", "create", "pytorch", "--dry-run", "--json"], standalone_mode=False)
    values = json.loads(capsys.readouterr().out)
    assert values["locked"] and 100e6 < values["download_bytes"] < values["disk_bytes"]
    assert "torch==2.9.1" in values["packages"] and values["index"] is None
