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
    where = f"--output {tmp_path}/submissions --archive {tmp_path}/archives/acme.tar"
    answer = suite.done(
        f"package --org acme --availability preview --round {OPEN} --probe {probe} {where}", *runs
    )
    *_, verdict, then = answer.stdout.splitlines()
    assert verdict.endswith(f"{OPEN}/acme: 3 runs, complies")
    assert f"acme.tar. Next: suite submit --check-only {tmp_path}/submissions/{OPEN}/acme" in then
    return tmp_path / f"submissions/{OPEN}/acme"


def test_folder_archive_and_tree_are_judged_alike(
    suite: Run, packaged: Path, tmp_path: Path
) -> None:
    for command, path in (
        ("submit --check-only", packaged),
        ("submit --check-only", tmp_path / "archives/acme.tar"),
        ("check", tmp_path / "submissions"),
    ):
        answer = suite.done(f"{command} {path}")
        assert "3 runs, complies" in answer.stdout
        assert f"{path}" in answer.stdout.splitlines()[-1], (
            "the path is under the one that was given, also where an archive was unpacked"
        )


def test_a_finding_ends_with_one_and_is_plain_in_json(suite: Run, packaged: Path) -> None:
    (packaged / "notes.txt").write_text("by the way")
    answer = suite.refused(f"check {packaged} --json", code=1)
    (submission,) = json.loads(answer.stdout)["submissions"]
    assert not submission["complies"]
    assert [(finding["rule"], finding["file"]) for finding in submission["findings"]] == [
        ("submission-layout", "notes.txt")
    ]


def test_what_cannot_be_read_ends_with_two(suite: Run, packaged: Path, tmp_path: Path) -> None:
    (packaged / "lenet/pytorch/run_2/run.json").write_text("{")
    answer = suite.refused(f"check {packaged}")
    assert "run_2/run.json" in answer.stderr
    (tmp_path / "cut.tar").write_bytes((tmp_path / "archives/acme.tar").read_bytes()[:-20_000])
    answer = suite.refused(f"submit --check-only {tmp_path}/cut.tar")
    assert "is not a whole tar archive" in answer.stderr


def test_where_the_archive_cannot_be_no_submission_is_made(suite: Run, tmp_path: Path) -> None:
    """Else the same command with another --archive would be refused."""
    runs = make_runs(tmp_path / "runs")
    (tmp_path / "file").touch()
    for archive, said in (("file/acme.tar", "cannot be written: "), ("file", "exists")):
        where = f"--output {tmp_path}/submissions --archive {tmp_path}/{archive}"
        answer = suite.refused(f"package --org acme --availability preview {where}", *runs)
        assert f"{archive} {said}" in answer.stderr and not (tmp_path / "submissions").exists()


def test_a_rule_over_submissions_is_explained(suite: Run) -> None:
    answer = suite.done("explain submission-seeds")
    assert "Runs with the same seed show how much the machine varies" in answer.stdout
