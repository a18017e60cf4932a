"""Commands that a message tells to type can be pasted."""

import shlex
from pathlib import Path

import pytest

from suite.cli.power_trace import leave_out
from suite.files.shell_command import shell_command, with_sudo


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
    typed = shell_command("suite check", Path("my run").absolute())
    assert capsys.readouterr().out.endswith(f"Check it: {typed}\n") and "my run'" in typed


def test_a_command_for_root_has_this_users_folder_and_the_programs_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For root, sudo sets another home, in which there are no environments and no data sets."""
    home = tmp_path / "jane's suite"
    monkeypatch.setenv("SUITE_HOME", str(home))
    monkeypatch.setattr("sys.argv", ["venv/bin/suite", "sweep", "--vary", "cores=2,4"])
    as_root = ["sudo", "env", f"SUITE_HOME={home}", str(Path("venv/bin/suite").absolute())]
    assert shlex.split(with_sudo()) == [*as_root, "sweep", "--vary", "cores=2,4"]
    assert shlex.split(with_sudo(["power", "restore"])) == [*as_root, "power", "restore"]
