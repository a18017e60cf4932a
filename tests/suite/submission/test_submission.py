"""Packaging and checking submissions; hostile archives."""

import errno
import io
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from suite.bundle.layout import MANIFEST
from suite.bundle.manifest import seal
from suite.compliance.paths import check_paths
from suite.compliance.submissions import check_submission, check_submissions
from suite.errors import SuiteError
from suite.files.archive import pack_archive, unpack_archive
from suite.submission.package import PackageRequest, package_runs
from tests.faults.edits.editable_bundle import EditableBundle
from tests.open_round import OPEN
from tests.suite.submission.conftest import make_runs


def test_a_packed_submission_complies_without_a_finding(submission: Path) -> None:
    verdict = check_submission(submission)
    assert verdict.complies
    assert verdict.findings == ()
    assert [bundle.findings for bundle in verdict.bundles] == [()] * 3
    assert sorted(path.name for path in (submission / "lenet/pytorch").iterdir()) == [
        "run_1",
        "run_2",
        "run_3",
    ]


def test_an_unreadable_bundle_is_named_and_the_others_are_checked(submission: Path) -> None:
    (submission / "lenet/pytorch/run_2/run.json").write_text("{")
    verdict = check_submission(submission)
    assert not verdict.complies
    assert [finding.check for finding in verdict.bundles[1].findings] == [
        "bundle-readable"
    ] and len(verdict.bundles) == 3
    (sentence,) = verdict.broken
    assert "run_2" in sentence


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"schema": 1}', '{"schema": 2, "organization": "../x"}', "\x00"]
)
def test_a_malformed_declaration_is_one_sentence(content: str, submission: Path) -> None:
    (submission / "declaration.json").write_text(content)
    verdict = check_submission(submission)
    assert not verdict.complies
    (sentence,) = verdict.broken
    assert "declaration.json" in sentence


def test_a_submission_is_never_overwritten(
    submission: Path, offer: PackageRequest, tmp_path: Path
) -> None:
    with pytest.raises(SuiteError, match="exists"):
        package_runs(make_runs(tmp_path / "more"), offer, tmp_path / "submissions")


def test_a_second_system_of_one_organization_has_a_folder_of_its_own(
    submission: Path, offer: PackageRequest, tmp_path: Path
) -> None:
    second = package_runs(make_runs(tmp_path / "more"), replace(offer, system="orin"), tmp_path)
    assert second == tmp_path / OPEN / "acme.orin"
    assert check_submission(second).complies == check_submission(submission).complies
    for name in ("acme-orin", "acme.", "acme.<i>orin"):
        second = second.rename(tmp_path / OPEN / name)
        findings = check_submission(second).findings
        assert "submission-layout" in {finding.rule for finding in findings}, name


def test_runs_of_different_machines_are_refused(offer: PackageRequest, tmp_path: Path) -> None:
    runs = make_runs(tmp_path / "more")
    system = json.loads((runs[1] / "system.json").read_text())
    (runs[1] / "system.json").write_text(json.dumps({**system, "kernel": "another"}))
    (runs[1] / MANIFEST).unlink()
    seal(runs[1])
    with pytest.raises(SuiteError, match=r"not run on the same system .* \(kernel: 'another'"):
        package_runs(runs, offer, tmp_path / "submissions2")
    assert not (tmp_path / "submissions2").exists()


def test_a_board_that_is_known_is_the_submissions_and_a_second_one_is_refused(
    offer: PackageRequest, tmp_path: Path
) -> None:
    runs = make_runs(tmp_path / "more")

    def name_boards(*digests: str | None) -> None:
        for run, digest in zip(runs, digests, strict=True):
            bundle = EditableBundle(run)
            bundle.system["board_digest"] = digest
            bundle.save()

    name_boards(None, "a" * 16, "a" * 16)
    packaged = package_runs(runs, offer, tmp_path / "one")
    assert json.loads((packaged / "system.json").read_text())["board_digest"] == "a" * 16
    assert check_submission(packaged).complies
    name_boards(None, "a" * 16, "b" * 16)
    with pytest.raises(SuiteError, match=r"not run on the same system .* \(board_digest: 'b+'"):
        package_runs(runs, offer, tmp_path / "two")


def test_the_same_submission_gives_the_same_bytes(submission: Path, tmp_path: Path) -> None:
    first, second = (
        pack_archive(submission, tmp_path / "one.tar", base=submission.parent.parent),
        None,
    )
    copy = tmp_path / f"elsewhere/{OPEN}/acme"
    shutil.copytree(submission, copy)
    for path in copy.rglob("*"):
        path.touch()
    second = pack_archive(copy, tmp_path / "two.tar", base=copy.parent.parent)
    assert first.read_bytes() == second.read_bytes()


def test_an_archive_unpacks_to_the_same_submission(submission: Path, tmp_path: Path) -> None:
    target = tmp_path / "unpacked"
    unpack_archive(
        pack_archive(submission, tmp_path / "one.tar", base=submission.parent.parent), target
    )
    assert check_submission(target / f"{OPEN}/acme").complies


@pytest.mark.parametrize("end", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_half_an_archive_is_removed_and_anybody_s_file_stays(
    end: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise end

    folder, target = tmp_path / "folder", tmp_path / "x.tar"
    folder.mkdir()
    (folder / "file").touch()
    monkeypatch.setattr("suite.files.archive.add_file", fail)
    with pytest.raises(type(end)):
        pack_archive(folder, target, base=tmp_path)
    assert not target.exists()
    target.write_text("mine")
    with pytest.raises(FileExistsError):
        pack_archive(folder, target, base=tmp_path)
    assert target.read_text() == "mine"


def test_a_truncated_archive_is_refused(submission: Path, tmp_path: Path) -> None:
    whole = pack_archive(
        submission, tmp_path / "whole.tar", base=submission.parent.parent
    ).read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as archive:
        ends = [member.offset for member in archive]
    for number, size in enumerate(
        [1, 100, *ends[::4], ends[-1] + 600, len(whole.rstrip(b"\0")) + 20]
    ):
        (tmp_path / "cut.tar").write_bytes(whole[:size])
        is_begun = size > tarfile.BLOCKSIZE  # else nothing says that it is one
        said = "not a whole tar archive" if is_begun else "neither a folder nor a tar archive"
        with pytest.raises(SuiteError, match=said):
            unpack_archive(tmp_path / "cut.tar", tmp_path / f"target{number}")


def hostile(path: Path, *members: tarfile.TarInfo) -> Path:
    """An archive of these members, files among them holding as many zeros as they say."""
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(bytes(member.size)) if member.isreg() else None)
    return path


def member(
    name: str, kind: bytes = tarfile.REGTYPE, size: int = 1, target: str = ""
) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, size if kind == tarfile.REGTYPE else 0, target
    return made


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([member("../outside")], "leads out"),
        ([member("/etc/cron.d/x")], "leads out"),
        ([member("a/../../x")], "leads out"),
        ([member("a\\b")], "leads out"),
        ([member("/".join("abcdefghijklmnop"))], "leads out"),
        ([member("x", tarfile.SYMTYPE, target="/etc/passwd")], "not a plain file"),
        ([member("x", tarfile.LNKTYPE, target="/etc/passwd")], "not a plain file"),
        ([member("x", tarfile.FIFOTYPE)], "not a plain file"),
        ([member("x", tarfile.CHRTYPE)], "not a plain file"),
        ([member("x"), member("x")], "twice"),
    ],
    ids=lambda value: (
        value if isinstance(value, str) else "-".join(repr(each.name) for each in value)
    ),
)
def test_a_hostile_archive_is_refused_and_nothing_is_outside(
    members: list[tarfile.TarInfo], message: str, tmp_path: Path
) -> None:
    archive, target = hostile(tmp_path / "bad.tar", *members), tmp_path / "in/target"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SuiteError, match=message):
        unpack_archive(archive, target)
    assert [
        path
        for path in sorted(tmp_path.rglob("*"))
        if path not in before and not path.is_relative_to(tmp_path / "in")
    ] == []


@pytest.mark.parametrize(
    ("limit", "most"), [("MAX_BYTES", 15_000), ("MAX_FILES", 5), ("MAX_DEPTH", 2)]
)
def test_a_bomb_is_not_unpacked(
    limit: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (member(f"d/f{index}", size=3000) for index in range(5))
    bomb = hostile(tmp_path / "bomb.tar", *files)
    monkeypatch.setattr(f"suite.files.archive.{limit}", most)
    unpack_archive(bomb, tmp_path / "whole")
    assert [path.stat().st_size for path in (tmp_path / "whole/d").iterdir()] == [3000] * 5
    monkeypatch.setattr(f"suite.files.archive.{limit}", most - 1)
    with pytest.raises(SuiteError, match="unpacking stopped"):
        unpack_archive(bomb, tmp_path / "target")


def test_a_full_disk_is_no_damage_of_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: object, target: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    archive, target = hostile(tmp_path / "good.tar", member("x")), tmp_path / "target"
    monkeypatch.setattr("suite.files.archive.shutil.copyfileobj", fail)
    with pytest.raises(SuiteError, match=r"^The disk is full: .*good\.tar could not .*target; "):
        unpack_archive(archive, target)


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (b"no tar", "neither a folder nor"),
        (b"\x1f\x8b", "with gzip"),
        (b"PK\x03\x04", "with zip"),
        (b"BZh9", "with bzip2"),
        (b"\xfd7zXZ\x00", "with xz"),
        (b"\x28\xb5\x2f\xfd", "with zstd"),
    ],
)
def test_a_file_that_is_not_an_archive_is_one_sentence(
    head: bytes, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "x.tar").write_bytes(head + bytes(1000))
    with pytest.raises(SuiteError, match=sentence):
        unpack_archive(tmp_path / "x.tar", tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_run_in_two_submissions_is_reported_for_both_because_neither_is_earlier(
    submission: Path, tmp_path: Path
) -> None:
    again = tmp_path / f"submissions/{OPEN}/globex"
    shutil.copytree(submission, again)
    edit_declaration(again, organization="globex")
    for verdict in check_submissions((submission, again)):
        assert {finding.check for finding in verdict.findings} == {
            "submission-duplicates",
            "submission-losses",
        }
        # three runs: id, times between steps and between readings, moment of the digests, losses
        assert len(verdict.findings) == 15


def edit_declaration(path: Path, **values: object) -> None:
    content = json.loads((path / "declaration.json").read_text())
    (path / "declaration.json").write_text(json.dumps({**content, **values}))


def test_folders_and_archives_are_checked_together(submission: Path, tmp_path: Path) -> None:
    archive = pack_archive(submission, tmp_path / "sent.tar", base=submission.parent.parent)
    alone = make_runs(tmp_path / "alone", 1)
    result = check_paths((tmp_path / "submissions", tmp_path / "alone", archive))
    assert [bundle.path for bundle in result.bundles] == alone
    assert len(result.submissions) == 2
    assert {finding.check for _, finding in result.all_findings()} == {
        "submission-duplicates",
        "submission-losses",
    }, "the archive holds the same runs"


def test_a_folder_without_bundles_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="holds no run directory"):
        check_paths((tmp_path,))
