"""Scripts for other hosts, run here by sh."""

import subprocess
import sys
from pathlib import Path

import pytest

from suite.launch import remote_shell
from suite.launch.remote_shell import NO_INTERPRETER, NO_SUITE, SSH, module_script, remote_command

MISSING = Path("/no/such/python")


def run(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True)


def test_the_first_interpreter_that_exists_gets_the_argument_unchanged(tmp_path: Path) -> None:
    done = run(module_script((MISSING, Path(sys.executable)), "json.tool", "--help"))
    assert (done.returncode, done.stdout.startswith("usage:")) == (0, True)
    blank = tmp_path / "its own $HOME" / "echo"
    blank.parent.mkdir()
    blank.symlink_to("/bin/echo")
    assert run(module_script((blank,), "module", "told")).stdout == "-m module told\n"
    argument = """{"data": "it's $HOME"}"""
    assert argument in run(module_script((MISSING, Path("/bin/echo")), "module", argument)).stdout


def test_a_missing_interpreter_and_a_missing_checkout_have_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(module_script((MISSING,), "json.tool", "")).returncode == NO_INTERPRETER
    monkeypatch.setattr(remote_shell, "repository_root", lambda: Path("/no/such/checkout"))
    assert run(module_script((Path(sys.executable),), "json.tool", "")).returncode == NO_SUITE


def test_ssh_asks_nothing_and_an_agent_is_called_like_it() -> None:
    assert remote_command("pi2", None, "true") == [*SSH, "pi2", "true"]
    assert "BatchMode=yes" in SSH
    assert remote_command("pi2", "/opt/agent", "true") == ["/opt/agent", "pi2", "true"]
