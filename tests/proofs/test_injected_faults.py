"""The faults of `make prove injected-faults` are faults of the product as it is now."""

import json
import subprocess
from pathlib import Path

import pytest

from proofs.injected_faults import __main__ as campaign
from proofs.proof import find_proof
from suite.errors import COULD_NOT, SuiteError
from suite.files.paths import repository_root


def test_every_fault_can_be_made() -> None:
    assert campaign.stale(campaign.faults()) == []


def test_every_fault_is_another_one_and_in_the_room_of_its_file() -> None:
    made: dict[tuple[str, str], str] = {}
    for fault in campaign.faults():
        text = (repository_root() / fault.file).read_text(encoding="utf-8")
        change = fault.file, text.replace(fault.old, fault.new)
        assert made.setdefault(change, fault.id) == fault.id
        assert fault.file.startswith(fault.room), fault.id


def test_faults_whose_text_is_gone_are_named_before_any_test_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = json.loads(campaign.FAULTS.read_text(encoding="utf-8"))[:4]
    fields[0]["old"] = "a text that no file has"
    fields[1]["old"] = "\n"
    fields[2]["file"] = "suite/a_file_that_was_moved.py"
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    monkeypatch.setattr(campaign, "FAULTS", path)
    assert campaign.main([]) == COULD_NOT
    gone = ", ".join(fault["id"] for fault in fields[:3])
    assert capsys.readouterr().err == (
        f"error: the texts of these faults do not occur once in their files: {gone}; mend them in"
        f" {path}.\n"
    )


def test_an_unknown_fault_is_named_before_any_test_is_run() -> None:
    with pytest.raises(SuiteError, match="There is no fault F999 in "):
        campaign.main(["F01", "F999"])


def test_what_a_campaign_keeps_is_in_the_folder_that_its_proof_continues() -> None:
    """The time of earlier tries is added only there."""
    kept = find_proof("injected-faults").kept
    assert campaign.KEPT.parent == campaign.COVERAGE.parent == kept


def test_what_was_found_is_kept_for_the_files_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test that is added, before it is committed, may notice more."""
    test = tmp_path / "test_more.py"
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "a test"]):
        test.touch()
        own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", tmp_path, *own, *words], check=True)
    monkeypatch.setattr(campaign, "repository_root", lambda: tmp_path)
    monkeypatch.setattr(campaign, "current_commit", lambda: "0a791b5a+changes")
    found = set()
    for text in ("", "one\n", "another\n"):
        test.write_text(text)
        found.add(campaign.checkout())
    assert len(found) == 3


@pytest.mark.parametrize("breaks_without", [False, True])
def test_tests_that_break_down_without_the_fault_too_have_not_noticed_it(
    breaks_without: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: pytest ends with an internal error, and names no test."""
    (tmp_path / "tests").mkdir()
    source = tmp_path / "module.py"
    source.write_text("right = True\n")
    fault = campaign.Fault("F99", "", "", source.name, "True", "False", "")

    def run_tests(*_: object) -> subprocess.CompletedProcess[str]:
        breaks = breaks_without or "False" in source.read_text()
        return subprocess.CompletedProcess([], 3 if breaks else 0, "", "")

    monkeypatch.setattr(campaign, "run_tests", run_tests)
    monkeypatch.setattr(campaign, "tests_at", lambda *_: [])
    if not breaks_without:
        found = campaign._noticed(fault, tmp_path, tmp_path / "coverage")
        assert found == (campaign.BY_TESTS, campaign.COLLECTION)
        return
    with pytest.raises(SuiteError, match="fault F99 cannot be run, not even without it"):
        campaign._noticed(fault, tmp_path, tmp_path / "coverage")


@pytest.mark.parametrize(
    ("printed", "first"), [("FAILED tests/a.py::b - c\n", "tests/a.py::b"), ("", "")]
)
def test_the_coverage_of_tests_that_fail_without_a_fault_is_not_kept(
    printed: str, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the same command runs all of them again once the failing one is mended."""
    ran = subprocess.CompletedProcess([], int(bool(first)), printed, "")

    def run_all(copy: Path, collected: Path) -> subprocess.CompletedProcess[str]:
        collected.touch()
        return ran

    monkeypatch.setattr(campaign, "run_all", run_all)
    monkeypatch.setattr(campaign, "run_tests", lambda *_: ran)
    kept = tmp_path / "kept"
    assert campaign._fails_without_fault(tmp_path / "checkout", kept) == first
    assert kept.exists() == (not first)
