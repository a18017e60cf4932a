"""Objections: files of strangers beside a submission. Each wrong one is a sentence that names it;
nothing is followed, nothing is unbounded."""

import os
from pathlib import Path

import pytest

from suite.submission import objections
from suite.submission.objections import (
    Objection,
    ObjectionState,
    objections_folder,
    read_objections,
)
from tests.open_round import OPEN

GOOD = """
schema = 1
date = "2026-11-22"
by = "A. Reader"
run = "lenet/pytorch/run_1"
against = "time_to_target_s"
record = "lenet/pytorch/run_1/log.txt:120"
text = "The second epoch took half as long as the others."
"""
DECIDED = 'decision = "A pause."\ndecided_by = "B. Reviewer"\n'


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """A submission's folder with one run, and the folder of its objections."""
    folder = tmp_path / OPEN / "acme"
    (folder / "lenet/pytorch/run_1").mkdir(parents=True)
    objections_folder(folder).mkdir(parents=True)
    return folder


def refused(submission: Path) -> str:
    """The one sentence about the one file."""
    found = read_objections(submission)
    assert found.by_file == {}
    (sentence,) = found.unreadable
    return sentence


def write(submission: Path, text: str, name: str = "1.toml") -> Path:
    path = objections_folder(submission) / name
    path.write_text(text, encoding="utf-8")
    return path


def test_an_objection_has_64_kib_at_most(submission: Path) -> None:
    full = GOOD + "#" * (64 * 1024 - len(GOOD))
    write(submission, full)
    assert read_objections(submission).unreadable == ()
    write(submission, full + "#")
    assert "is larger than 65536 bytes" in refused(submission)


def test_without_a_folder_there_is_none(tmp_path: Path) -> None:
    assert read_objections(tmp_path) == objections.Objections({}, ())


def test_an_objection_is_read_and_open_by_default(submission: Path) -> None:
    write(submission, GOOD)
    write(
        submission,
        GOOD.replace('run = "lenet/pytorch/run_1"\n', "") + 'state = "dismissed"\n' + DECIDED,
        "2.toml",
    )
    found = read_objections(submission)
    assert found.unreadable == ()
    assert found.by_file["1.toml"] == Objection(
        1,
        "2026-11-22",
        "A. Reader",
        "time_to_target_s",
        "lenet/pytorch/run_1/log.txt:120",
        "The second epoch took half as long as the others.",
        ObjectionState.OPEN,
        "lenet/pytorch/run_1",
    )
    assert (found.by_file["2.toml"].state, found.by_file["2.toml"].run) == (
        ObjectionState.DISMISSED,
        None,
    )


def test_the_folder_is_found_from_inside_the_submission(
    submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(submission, GOOD)
    monkeypatch.chdir(submission)
    assert list(read_objections(Path()).by_file) == ["1.toml"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema = 1", "schema = 2", "schema must be 1"),
        ('"2026-11-22"', '"22.11.2026"', "YYYY-MM-DD"),
        ('"2026-11-22"', '"20261122"', "YYYY-MM-DD"),
        ('"2026-11-22"', "2026-11-22", "expected a string"),
        ('"A. Reader"', '""', "`by` must be text"),
        ('"A. Reader"', f'"{"a" * 201}"', "200 characters"),
        ('"time_to_target_s"', '"it is wrong"', "id of a rule"),
        ("lenet/pytorch/run_1", "lenet/pytorch/run_2", "`run` must be a run"),
        ("lenet/pytorch/run_1", "../acme/run_1", "`run` must be a run"),
        ("lenet/pytorch/run_1", "lenet/pytorch/run_1" + "0" * 5000, "`run` must be a run"),
        ("lenet/pytorch/run_1", "lenet/" + "a" * 190 + "/run_1", "`run` must be a run"),
        ('text = "', f'text = "{"x" * 4001}', "4000 characters"),
        ('text = "', 'remark = "x"\ntext = "', "there is no key 'remark'"),
        ('by = "A. Reader"\n', "", "the key 'by' is missing"),
        ("\nschema", "\nstate = 'upheld'\nschema", "`decision` and `decided_by`"),
        ("\nschema", f"\ndecided_by = '{'x' * 201}'\nschema", "`decided_by` must be text"),
        ("\nschema", "\ndecision = 'so'\nschema", "must not have a decision"),
        ("\nschema", "\nstate = 'settled'\nschema", "expected one of open, upheld, dismissed"),
        ("\nschema", "\nschema = 1\nschema", "not valid TOML"),
        ("\nschema", "\nx = " + "[" * 5000 + "\nschema", "1.toml"),
    ],
)
def test_what_is_no_objection_is_named(old: str, new: str, said: str, submission: Path) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    path = write(submission, text)
    sentence = refused(submission)
    assert (
        str(path) in sentence
        and said in sentence
        and len(sentence) <= objections.MAX_SENTENCE_LENGTH
    )


def test_long_keys_make_no_long_sentence(submission: Path) -> None:
    write(submission, f"{'k' * 60_000} = 1\n")
    assert len(refused(submission)) <= objections.MAX_SENTENCE_LENGTH


def test_only_small_plain_files_are_read(submission: Path, tmp_path: Path) -> None:
    folder = objections_folder(submission)
    (tmp_path / "elsewhere.toml").write_text(GOOD)
    (folder / "link.toml").symlink_to(tmp_path / "elsewhere.toml")
    (folder / "folder.toml").mkdir()
    os.mkfifo(folder / "pipe.toml")
    (folder / "note.txt").write_text("hello")
    (folder / "large.toml").write_text("#" * (objections.MAX_FILE_BYTES + 1))
    (folder / "bytes.toml").write_bytes(b"by = '\xff'")
    found = read_objections(submission)
    assert found.by_file == {}
    assert len(found.unreadable) == 6


def test_a_folder_that_is_a_link_is_not_followed(submission: Path, tmp_path: Path) -> None:
    folder = objections_folder(submission)
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "1.toml").write_text(GOOD)
    folder.symlink_to(tmp_path / "elsewhere")
    assert "through a link" in refused(submission)


def test_the_number_of_files_is_bounded(submission: Path) -> None:
    for number in range(objections.MAX_FILES + 5):
        write(submission, GOOD, f"{number:03}.toml")
    found = read_objections(submission)
    assert len(found.by_file) == objections.MAX_FILES
    assert "more than 100 files" in found.unreadable[0]
