"""Commands that a message tells to type can be pasted."""

import shlex
from pathlib import Path

import pytest

from suite.files.shell_command import shell_command


@pytest.mark.parametrize("name", ["runs/first", "my runs/the first", "it's", "$(reboot)", "a\nb"])
def test_a_path_is_one_word_of_the_command(name: str) -> None:
    assert shlex.split(shell_command("suite finish", Path(name))) == ["suite", "finish", name]
    assert shell_command("suite finish", Path("runs/first")) == "suite finish runs/first"
