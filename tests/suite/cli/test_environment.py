"""`suite env create --dry-run` says what would be installed, from where, and how large it is, or
what --interpreter has; it makes nothing."""

import json
import re
import sys
from pathlib import Path

import pytest

from suite.cli.app import app
from suite.errors import SuiteError
from suite.files.paths import HOME_VARIABLE
from suite.launch import recipe


@pytest.fixture(autouse=True)
def on_a_board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr(recipe.this_platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(recipe, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(recipe.this_platform, "python_version_tuple", lambda: ("3", "11", "2"))
    monkeypatch.setattr("suite.launch.environments._version", lambda python: (3, 11))


def test_a_rehearsal_states_packages_downloads_and_disk(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    app(["env", "create", "pytorch", "--dry-run"], standalone_mode=False)
    output = capsys.readouterr().out
    first = (
        r"PyTorch for Python 3.11 on aarch64 without an NVIDIA GPU: \d+ packages of the lock .*,"
        r" \d+ MB to download, \d+ MB on disk\n"
    )
    assert re.match(first, output)
    assert "  torch==2.9.1\n" in output and "nvidia-" not in output and "+cpu" not in output
    assert not (tmp_path / "home").exists()


def test_a_rehearsal_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    app(["env", "create", "pytorch", "--dry-run", "--json"], standalone_mode=False)
    values = json.loads(capsys.readouterr().out)
    assert values["locked"] and 100e6 < values["download_bytes"] < values["disk_bytes"]
    assert "torch==2.9.1" in values["packages"] and values["index"] is None


@pytest.fixture
def old_pytorch(tmp_path: Path) -> Path:
    """What answers as a Python with an older PyTorch does."""
    path = tmp_path / "python"
    packages = json.dumps(
        [{"name": "torch", "version": "1.10.0"}, {"name": "torchvision", "version": "0.11.1"}]
    )
    path.write_text(f"#!/bin/sh\ntest $1 = -c || echo '{packages}'\n")
    path.chmod(0o755)
    return path


def test_a_rehearsal_with_an_interpreter_says_what_it_has_and_installs_nothing(
    old_pytorch: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    app(
        ["env", "create", "pytorch", "--interpreter", str(old_pytorch), "--dry-run"],
        standalone_mode=False,
    )
    said = capsys.readouterr().out.splitlines()
    assert (
        f"PyTorch would run with {old_pytorch}; nothing would be installed" in said[0]
        and "to download" not in said[0]
    )
    assert said[1].startswith("note: torch there: 1.10.0; the requirements name 2.9.1.")
    assert not (tmp_path / "home").exists()
    app(["env", "create", "pytorch", "--interpreter", str(old_pytorch)], standalone_mode=False)
    assert capsys.readouterr().out.splitlines() == [f"PyTorch runs in {old_pytorch}", *said[1:]]
    app(["env", "create", "pytorch", "--dry-run"], standalone_mode=False)
    assert f"PyTorch already runs in {old_pytorch}; --force would" in capsys.readouterr().err


def test_a_rehearsal_for_what_needs_no_environment_says_that_nothing_is_installed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app(["env", "create", "fake", "--dry-run"], standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.out.endswith(f"would run with {sys.executable}; nothing would be installed.\n")
    assert printed.err == ""


def test_a_rehearsal_with_an_interpreter_in_json(
    old_pytorch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app(
        ["env", "create", "pytorch", "--interpreter", str(old_pytorch), "--dry-run", "--json"],
        standalone_mode=False,
    )
    values = json.loads(capsys.readouterr().out)
    assert (
        values["interpreter"],
        values["packages"],
        values["download_bytes"],
        values["disk_bytes"],
    ) == (str(old_pytorch), [], 0, 0)
    assert values["other_versions"][0] == {
        "package": "torch",
        "required": "2.9.1",
        "found": "1.10.0",
    }


@pytest.mark.parametrize("more", [(), ("--dry-run",)], ids=["to do it", "rehearsed"])
@pytest.mark.parametrize("interpreter", ["/bin/true", "/bin/false", "nowhere"])
def test_a_wrong_interpreter_is_refused_rehearsed_or_not(
    interpreter: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(
        SuiteError,
        match=(
            f"{interpreter} (does not work as a Python|cannot `import torch`|is not an interpreter)"
        ),
    ):
        app(
            ["env", "create", "pytorch", "--interpreter", interpreter, *more], standalone_mode=False
        )
    assert not (tmp_path / "home").exists()
