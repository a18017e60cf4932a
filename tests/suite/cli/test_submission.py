"""`suite package`, `suite submit --check-only` and `suite check` on submissions: what they print,
and their exit codes."""

import json
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.open_round import OPEN
from tests.suite.submission.conftest import make_probe, make_runs


@pytest.fixture
def packaged(suite: Run, tmp_path: Path) -> Path:
    """A submission made by the command."""
    runs, probe = make_runs(tmp_path / "runs"), make_probe(tmp_path / "probe.json")
    where = ("--output", tmp_path / "submissions", "--archive", tmp_path / "acme.tar")
    answer = suite(
        "package",
        *runs,
        "--org",
        "acme",
        "--availability",
        "preview",
        "--round",
        OPEN,
        "--probe",
        probe,
        *where,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[-1].endswith(f"{OPEN}/acme: 3 runs, complies")
    return tmp_path / f"submissions/{OPEN}/acme"


def test_folder_archive_and_tree_are_judged_alike(
    suite: Run, packaged: Path, tmp_path: Path
) -> None:
    for command in (
        ("submit", "--check-only", packaged),
        ("submit", "--check-only", tmp_path / "acme.tar"),
        ("check", tmp_path / "submissions"),
    ):
        answer = suite(*command)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert "3 runs, complies" in answer.stdout
        assert f"{command[-1]}" in answer.stdout.splitlines()[-1], (
            "the path is under the one that was given, also where an archive was unpacked"
        )


def test_a_finding_ends_with_one_and_is_plain_in_json(suite: Run, packaged: Path) -> None:
    (packaged / "notes.txt").write_text("by the way")
    answer = suite("check", packaged, "--json")
    assert answer.returncode == 1
    (submission,) = json.loads(answer.stdout)["submissions"]
    assert not submission["complies"]
    assert [(finding["rule"], finding["file"]) for finding in submission["findings"]] == [
        ("submission-layout", "notes.txt")
    ]


def test_what_cannot_be_read_ends_with_two(suite: Run, packaged: Path, tmp_path: Path) -> None:
    (packaged / "lenet/pytorch/run_2/run.json").write_text("{")
    answer = suite("check", packaged)
    assert answer.returncode == 2
    assert "run_2/run.json" in answer.stderr
    assert "Traceback" not in answer.stderr
    (tmp_path / "cut.tar").write_bytes((tmp_path / "acme.tar").read_bytes()[:-20_000])
    answer = suite("submit", "--check-only", tmp_path / "cut.tar")
    assert answer.returncode == 2
    assert "is not a whole tar archive" in answer.stderr


def test_nothing_is_sent_anywhere(suite: Run, packaged: Path) -> None:
    answer = suite("submit", packaged)
    assert answer.returncode == 2
    assert "--check-only" in answer.stderr


def test_a_rule_over_submissions_is_explained(suite: Run) -> None:
    answer = suite("explain", "submission-seeds")
    assert answer.returncode == 0
    assert "measures the spread of the machine, not of training" in answer.stdout
