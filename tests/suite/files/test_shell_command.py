"""Commands that a message tells to type can be pasted."""

import shlex
from pathlib import Path

import pytest

from suite.cli.power_trace import leave_out
from suite.files.shell_command import shell_command


@pytest.mark.parametrize("name", ["runs/first", "my runs/the first", "it's", "$(reboot)", "a\nb"])
def test_a_path_is_one_word_of_the_command(name: str) -> None:
    assert shlex.split(shell_command("suite finish", Path(name))) == ["suite", "finish", name]
    assert shell_command("suite finish", Path("runs/first")) == "suite finish runs/first"


def test_the_command_after_a_meter_was_left_out_can_be_pasted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("suite.api.leave_meter_out", lambda *_, **__: None)
    monkeypatch.setattr("suite.api.energy_figure", lambda _: {"reason": "no meter"})
    leave_out(Path("my run"), "um25c", reason="loose")
    assert capsys.readouterr().out.endswith("Check it: suite check 'my run'\n")
