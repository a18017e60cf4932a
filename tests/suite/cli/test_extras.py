"""A board needs no pandas, Jinja2 or scikit-learn to run and check; what does need them says how to
get them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from suite.cli.app import EXTRAS
from suite.files.paths import HOME_VARIABLE, repository_root

WITHOUT = (
    f"import sys; sys.modules.update(dict.fromkeys({tuple(EXTRAS)!r})); from suite.cli.app import"
    " main; sys.argv[0] = 'suite'; main()"
)


def run_without_extras(home: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", WITHOUT, *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=repository_root(),
        env={HOME_VARIABLE: str(home), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


@pytest.mark.proof
def test_a_run_is_made_and_checked_without_them(
    suite_home: Path, digits: Path, tmp_path: Path
) -> None:
    run = (
        "run",
        "--division",
        "open",
        "--workload",
        "lenet",
        "--framework",
        "fake",
        "--data",
        "digits",
        "--epochs",
        2,
        "--output",
        tmp_path / "run",
    )
    for command in (run, ("check", tmp_path / "run"), ("list", "rules"), ("doctor",)):
        answer = run_without_extras(suite_home, *command)
        assert answer.returncode == 0, answer.stderr


def test_doctor_names_the_extra_that_a_data_set_needs(tmp_path: Path) -> None:
    rows = json.loads(run_without_extras(tmp_path, "doctor", "--json").stdout)["rows"]
    remedies = {row["what"]: row["remedy"] for row in rows}
    assert remedies["data: digits"] == (
        "pip install 'edge-training-suite[digits]', then suite data prepare digits"
    )
    assert "pip" not in remedies["data: mnist"]


@pytest.mark.parametrize(
    ("command", "extra"),
    [(("report", "submissions"), "report"), (("data", "prepare", "digits"), "digits")],
)
def test_a_missing_extra_is_named(command: tuple[str, ...], extra: str, tmp_path: Path) -> None:
    answer = run_without_extras(tmp_path, *command)
    expected = (
        r"error: This command needs packages that are not installed \([\w.]+\): pip install"
        rf" 'edge-training-suite\[{extra}\]'\.\n"
    )
    assert answer.returncode == 2 and re.fullmatch(expected, answer.stderr), answer.stderr
