"""`suite submissions status`: exit codes, lines for a person, rows for a program, and texts of
strangers."""

import json
import shutil
from pathlib import Path

import pytest

from suite.cli.json_output import json_formats
from tests.conftest import Run
from tests.open_round import OPEN
from tests.suite.submission.conftest import offer, submission  # noqa: F401 - fixtures
from tests.suite.submission.test_objections import GOOD


@pytest.fixture
def tree(submission: Path) -> Path:  # noqa: F811
    """A folder of submissions with a good one."""
    return submission.parents[1]


def test_json_has_the_keys_of_its_format(suite: Run, tree: Path) -> None:
    folder = tree / f"{OPEN}/OBJECTIONS/acme"
    folder.mkdir(parents=True)
    (folder / "1.toml").write_text(GOOD)
    (tree / f"{OPEN}/acme/lenet/pytorch/run_2.WITHDRAWN").write_text("A pause.")
    answer = suite.typed(f"submissions status {tree} --json")
    printed = json.loads(answer.stdout)
    assert (answer.returncode, printed["format"]) == (0, "submissions-status/1")
    (row,) = printed["rows"]
    assert set(row) == set(json_formats()["submissions-status"].keys)
    assert (row["round"], row["organization"], row["complies"]) == (OPEN, "acme", True)
    assert [(each["file"], each["state"], each["against"]) for each in row["objections"]] == [
        ("1.toml", "open", "time_to_target_s")
    ]
    assert row["withdrawals"] == [{"where": "lenet/pytorch/run_2", "reason": "A pause."}]
    assert {"no-audit", "unsigned", "objection"} <= {point["kind"] for point in row["to_review"]}
    assert all(
        set(point) == {"kind", "where", "sentence", "rule", "severity"}
        for point in row["to_review"]
    )


def test_a_submission_that_does_not_comply_ends_with_one_beside_a_good_one(
    suite: Run, tree: Path
) -> None:
    shutil.copytree(tree / f"{OPEN}/acme", tree / f"{OPEN}/bcme")
    (tree / f"{OPEN}/bcme/notes.txt").write_text("by the way")
    answer = suite.refused(f"submissions status {tree}", code=1)
    assert f"{tree}/{OPEN}/acme: " in answer.stdout
    assert "  violates   submission-layout (" in answer.stdout
    assert f"  next       suite check {tree}/{OPEN}/bcme names the files\n" in answer.stdout
    assert "submissions: 2; " in answer.stdout


def test_what_cannot_be_judged_ends_with_two_and_the_others_are_shown(
    suite: Run, tree: Path
) -> None:
    shutil.copytree(tree / f"{OPEN}/acme", tree / f"{OPEN}/zcme")
    (tree / f"{OPEN}/zcme/declaration.json").write_text("{")
    answer = suite.refused(f"submissions status {tree}")
    assert (
        f"{OPEN}/zcme: could not be judged; 0 runs" in answer.stdout
        and f"{OPEN}/acme: " in answer.stdout
    )
    assert (
        answer.stderr.startswith("error: Could not judge: ")
        and len(answer.stderr.splitlines()) == 1
    )


def test_an_objection_that_cannot_be_read_ends_with_two(suite: Run, tree: Path) -> None:
    folder = tree / f"{OPEN}/OBJECTIONS/acme"
    folder.mkdir(parents=True)
    (folder / "1.toml").write_text("by = 3")
    answer = suite.refused(f"submissions status {tree} --json")
    assert "1.toml" in answer.stderr
    assert "1.toml" in json.loads(answer.stdout)["rows"][0]["could_not_judge"][0]


def test_texts_of_strangers_print_no_control_characters(suite: Run, tree: Path) -> None:
    folder = tree / f"{OPEN}/OBJECTIONS/acme"
    folder.mkdir(parents=True)
    (folder / "a\nb\x1b[2J.toml").write_text(GOOD.replace("A. Reader", "A\\u001b[2J\\nReader"))
    (folder / "c\n::error::d.toml").write_text("x = 1")
    (tree / f"{OPEN}/acme/WITHDRAWN").write_text("\x1b]0;title\x07\nmore")
    answer = suite.refused(f"submissions status {tree}")
    assert not [
        letter
        for letter in answer.stdout + answer.stderr
        if not letter.isprintable() and letter != "\n"
    ]
    assert not [
        line for line in (answer.stdout + answer.stderr).splitlines() if line.startswith("::")
    ]


@pytest.mark.parametrize(
    ("folder", "said"), [("nowhere", "does not exist"), ("runs", "holds no submission")]
)
def test_a_folder_without_submissions_is_a_mistake(
    folder: str, said: str, suite: Run, tree: Path, tmp_path: Path
) -> None:
    answer = suite.refused(f"submissions status {tmp_path}/{folder}")
    assert said in answer.stderr


def test_an_archive_has_no_files_that_a_review_could_open(suite: Run, tmp_path: Path) -> None:
    """Unpacked for the checker only, it had no points to review."""
    (tmp_path / "acme.tar").touch()
    answer = suite.refused(f"submissions status {tmp_path}/acme.tar")
    assert f"tar xf {tmp_path}/acme.tar" in answer.stderr
