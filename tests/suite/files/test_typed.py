"""Commands that a message tells to type can be pasted."""

import shlex
from pathlib import Path

import pytest

from suite.files.typed import typed


@pytest.mark.parametrize("name", ["runs/first", "my runs/the first", "it's", "$(reboot)", "a\nb"])
def test_a_path_is_one_word_of_the_command(name: str) -> None:
    assert shlex.split(typed("suite finish", Path(name))) == ["suite", "finish", name]
    assert typed("suite finish", Path("runs/first")) == "suite finish runs/first"
