"""The demo: what `make demo` types, command by command, in the environment of PyTorch."""

import subprocess
from pathlib import Path

import pytest

from suite.files.paths import repository_root, suite_home
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
        line.replace("build/demo", str(tmp_path)).partition("/bin/suite ")[2]
        for line in printed.stdout.splitlines()
        if "/bin/suite " in line
    ]
    assert [each.split()[0] for each in commands] == ["env", "data", "run", "check", "report"]
    for command in commands:
        suite.done(command, SUITE_HOME=str(suite_home()))
    assert (tmp_path / "site" / "index.html").is_file()
