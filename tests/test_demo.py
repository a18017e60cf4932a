"""The demo: what `make demo` types, command by command, in the environment of PyTorch."""

import shlex
import subprocess
from pathlib import Path

import pytest

from suite.files.paths import home, repository_root
from tests.conftest import Run, environment_of


@pytest.mark.pytorch
def test_every_command_of_the_demo_works_and_ends_with_a_page(suite: Run, tmp_path: Path) -> None:
    environment_of("pytorch")
    printed = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"],
        cwd=repository_root(),
        capture_output=True,
        text=True,
        check=True,
    )
    commands = [
        shlex.split(line.replace("build/demo", str(tmp_path)))
        for line in printed.stdout.splitlines()
        if "/bin/suite " in line
    ]
    assert [words[1] for words in commands] == ["env", "data", "run", "check", "report"]
    for words in commands:
        answer = suite(*words[1:], SUITE_HOME=str(home()))
        assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "site" / "index.html").is_file()
