"""A command does the same whether or not it is read: a reader that ends first, a full disk, closed
streams, an encoding without the characters."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.files.paths import repository_root
from tests.every_case import some

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
FULL = "error: The output could not be written: No space left on device.\n"
RUN = (
    "run --division open --device auto --workload lenet --framework fake --data digits --epochs 1"
    " --baseload 0"
)


@pytest.fixture
def shell(tmp_path: Path, digits: Path) -> Shell:
    """Types a line into bash, in an empty folder; the line has ``SUITE`` for the command, and the
    exit code is that of its last failing part."""

    def call(line: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        home = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "SUITE_HOME": str(digits.parents[1]),
            "PYTHONPATH": str(repository_root()),
        }
        command = f"set -o pipefail; {line}".replace(
            "SUITE", str(Path(sys.executable).with_name("suite"))
        )
        return subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env={**home, **variables},
            capture_output=True,
            text=True,
            timeout=800,
        )

    return call


@pytest.mark.parametrize(
    "words",
    some(["list rules", "list rules --json", "--help", "--version", "explain log-chain"], 2),
)
def test_a_full_disk_is_a_sentence(words: str, shell: Shell) -> None:
    answer = shell(f"SUITE {words} > /dev/full")
    assert (answer.returncode, answer.stderr) == (2, FULL)


@pytest.mark.proof
@pytest.mark.parametrize("words", ["list rules", "run --help"])
def test_a_reader_that_ends_first_is_no_failure(words: str, shell: Shell) -> None:
    answer = shell(f"SUITE {words} | head -1")
    assert (answer.returncode, answer.stderr, answer.stdout.count("\n")) == (0, "", 1)


@pytest.mark.proof
@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&-", "2>&1 | true", "<&- >&- 2>&-"])
def test_the_exit_code_is_the_same_where_nobody_reads_the_sentence(
    redirection: str, shell: Shell
) -> None:
    assert shell(f"SUITE check nowhere {redirection}").returncode == 2


@pytest.mark.proof
def test_a_file_does_not_get_the_number_of_a_closed_stream(shell: Shell, tmp_path: Path) -> None:
    """What is printed would be in the first file that the command opens."""
    assert shell(f"SUITE {RUN} --dry-run <&- >&- 2>&-").returncode == 0
    assert shell("SUITE implementation new theirs --language c <&- >&- 2>&-").returncode == 0
    assert {
        path.name: path.read_bytes()
        for path in (tmp_path / "theirs").iterdir()
        if path.name != "framework.toml"
    } == {
        path.name: path.read_bytes()
        for path in (repository_root() / "examples" / "lenet_c").iterdir()
        if path.is_file() and path.name != "framework.toml"
    }


@pytest.mark.parametrize(
    ("line", "code"),
    some([("2> >(head -1) > /dev/full", 2), ("2>&1 | head -1", 0), ("> /dev/full 2>&1", 2)]),
)
def test_a_run_goes_on_when_its_readers_have_gone(
    line: str, code: int, shell: Shell, tmp_path: Path
) -> None:
    """An hour's training does not end because the pager did, or because the log of a job filled the
    disk."""
    answer = shell(f"SUITE {RUN} --output run {line}")
    assert Bundle(tmp_path / "run").run().status == "finished", answer.stdout
    assert answer.returncode == code


@pytest.mark.proof
def test_a_line_on_standard_error_is_read_while_the_command_goes_on(
    digits: Path, tmp_path: Path
) -> None:
    """Progress that is seen only at the end is none, and a program that waits for a line would wait
    for the end."""
    program = [
        str(Path(sys.executable).with_name("suite")),
        *RUN.split(),
        "--output",
        str(tmp_path / "run"),
    ]
    variables = {**os.environ, "SUITE_HOME": str(digits.parents[1])}
    with subprocess.Popen(
        program, env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        assert "LeNet-5" in process.stderr.readline()
        assert process.poll() is None
        assert not (tmp_path / "run" / MANIFEST).exists()


@pytest.mark.proof
def test_characters_that_an_encoding_lacks_are_their_codes(shell: Shell, tmp_path: Path) -> None:
    answer = shell("SUITE check Müller", PYTHONIOENCODING="ascii")
    assert (answer.returncode, answer.stderr.split(" does")[0]) == (2, r"error: M\xfcller")
    assert json.loads(shell("SUITE check $'a\\xff' --json").stdout)["exit_code"] == 2
