"""Scripts for other hosts, run here by sh."""

import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suite.launch import remote_shell
from suite.launch.remote_shell import (
    NO_INTERPRETER,
    NO_SUITE,
    SSH,
    allow_open_files,
    module_script,
    remote_command,
)

MISSING = Path("/no/such/python")


def run(script: str, shell: str = "sh") -> "subprocess.CompletedProcess[str]":
    return subprocess.run([shell, "-c", script], capture_output=True, text=True)


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


def test_no_login_shell_reads_the_script() -> None:
    """fish and csh have other loops and conditions: they get two words and one in quotes."""
    argument = r"""{"data": "it's $HOME!now\\\\here\""}"""
    script = module_script((Path("/bin/echo"),), "module", argument)
    words = shlex.split(script)
    assert (words[:3], len(words)) == (["exec", "sh", "-c"], 4)
    for shell in filter(shutil.which, ("bash", "dash", "fish", "tcsh", "zsh")):
        assert run(script, shell).stdout == f"-m module {argument}\n", shell


def test_a_path_that_cannot_be_used_has_a_reason() -> None:
    assert run(module_script((MISSING,), "json.tool", "")).stderr.endswith(
        "No such file or directory\n"
    )


def test_ssh_asks_nothing_and_an_agent_is_called_like_it() -> None:
    assert remote_command("pi2", None, "true") == [*SSH, "pi2", "true"]
    assert "BatchMode=yes" in SSH and "-T" in SSH, "RequestTTY force would end lines with CR LF"
    assert remote_command("pi2", "/opt/agent", "true") == ["/opt/agent", "pi2", "true"]


@pytest.mark.parametrize(
    ("soft", "hard", "hosts", "then"),
    [
        (1024, 2**20, 4, None),
        (1024, 2**20, 256, 4352),
        (1024, resource.RLIM_INFINITY, 256, 4352),
        (1024, 4096, 256, 4096),
        (64, 64, 256, 64),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 256, None),
    ],
)
def test_the_limit_of_open_files_is_raised_for_many_hosts(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, hosts: int, then: int | None
) -> None:
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, to: limits.append(to))
    allow_open_files(hosts)
    assert limits == ([] if then is None else [(then, hard)])
