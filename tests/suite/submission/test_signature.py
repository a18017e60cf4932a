"""Signed submissions: who signed, what the signature covers, and that a stranger verifies it with
OpenSSH and sha256sum alone."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from suite.compliance import submission_rule
from suite.compliance.submissions import check_submission
from suite.errors import SuiteError
from suite.files.signature import make_key, public_key
from suite.submission import signature
from suite.submission.folder_names import LISTING, SIGNATURE
from suite.submission.package import PackageRequest, package_runs
from suite.submission.signature import NAMESPACE, sign_submission
from tests.open_round import OPEN
from tests.suite.submission.conftest import make_runs


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key", "acme")
    return tmp_path / "key"


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty list of allowed signers in place of the repository's."""
    path = tmp_path / "ALLOWED_SIGNERS"
    path.write_text("")
    monkeypatch.setattr(submission_rule, "allowed_signers", lambda: path)
    return path


@pytest.fixture
def signed(offer: PackageRequest, key: Path, tmp_path: Path) -> Path:
    return package_runs(
        make_runs(tmp_path / "runs"), replace(offer, sign_with=key), tmp_path / "signed"
    )


def test_a_known_signer_is_named(signed: Path, key: Path, allowed: Path) -> None:
    allowed.write_text(f"acme {public_key(key)}\n")
    verdict = check_submission(signed)
    assert (verdict.complies, verdict.findings, verdict.signed_by) == (True, (), "acme")


def test_an_unknown_signer_is_a_note(signed: Path, allowed: Path) -> None:
    verdict = check_submission(signed)
    assert (verdict.complies, verdict.signed_by) == (True, None)
    (finding,) = verdict.findings
    assert (finding.check, finding.severity.value) == ("submission-signer", "note")


def test_another_organizations_signature_is_a_note(signed: Path, key: Path, allowed: Path) -> None:
    allowed.write_text(f"globex {public_key(key)}\n")
    verdict = check_submission(signed)
    assert (verdict.complies, verdict.signed_by) == (True, "globex")
    assert [finding.observed for finding in verdict.findings] == ["one by globex"]


def test_an_edited_file_is_named_and_nobody_signed_it(
    signed: Path, key: Path, allowed: Path
) -> None:
    allowed.write_text(f"acme {public_key(key)}\n")
    with (signed / "lenet/pytorch/run_2/output.txt").open("a") as stream:
        stream.write("more")
    verdict = check_submission(signed)
    assert (verdict.complies, verdict.signed_by) == (False, None)
    assert [finding.file for finding in verdict.findings] == ["lenet/pytorch/run_2/output.txt"]


PLACES = ("run_2.WITHDRAWN", "run_2/WITHDRAWN", "WITHDRAWN", "../../WITHDRAWN")


@pytest.mark.parametrize("place", PLACES)
def test_a_withdrawal_leaves_the_signature_valid(
    place: str, signed: Path, key: Path, allowed: Path
) -> None:
    allowed.write_text(f"acme {public_key(key)}\n")
    withdrawal = signed / "lenet/pytorch" / place
    withdrawal.write_text("a fan had stopped\n")
    verdict = check_submission(signed)
    assert (verdict.complies, verdict.signed_by) == (True, "acme")
    withdrawal.write_text("\n")
    assert check_submission(signed).signed_by is None


@pytest.mark.parametrize("place", PLACES)
def test_a_signed_withdrawal_is_not_taken_back(
    place: str, signed: Path, key: Path, allowed: Path
) -> None:
    allowed.write_text(f"acme {public_key(key)}\n")
    withdrawal = signed / "lenet/pytorch" / place
    withdrawal.write_text("a fan had stopped\n")
    sign_submission(signed, key)
    assert check_submission(signed).signed_by == "acme"
    withdrawal.unlink()
    assert not check_submission(signed).complies


def test_a_submission_cannot_bring_its_own_list(signed: Path, key: Path, allowed: Path) -> None:
    (signed.parent.parent / "ALLOWED_SIGNERS").write_text(f"acme {public_key(key)}\n")
    assert check_submission(signed).signed_by is None


def test_openssh_and_sha256sum_verify_it(signed: Path, key: Path, tmp_path: Path) -> None:
    """The two commands of docs/submitting.md."""
    (tmp_path / "list").write_text(f"acme {public_key(key)}\n")
    assert subprocess.run(["sha256sum", "--quiet", "-c", LISTING], cwd=signed).returncode == 0
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-n",
        NAMESPACE,
        "-f",
        str(tmp_path / "list"),
        "-I",
        "acme",
        "-s",
        SIGNATURE,
    ]
    answer = subprocess.run(
        command, cwd=signed, input=(signed / LISTING).read_bytes(), capture_output=True
    )
    assert answer.returncode == 0, answer.stderr


def test_a_key_that_cannot_sign_leaves_nothing(offer: PackageRequest, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="There is no SSH key"):
        package_runs(
            make_runs(tmp_path / "runs"),
            replace(offer, sign_with=tmp_path / "none"),
            tmp_path / "signed",
        )
    assert not (tmp_path / "signed" / OPEN / "acme").exists()


@pytest.mark.parametrize("name", [LISTING, SIGNATURE])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"a  b\n" * 1000, b"\x00" * 9_000_000])
def test_hostile_bytes_are_findings(signed: Path, name: str, content: bytes) -> None:
    (signed / name).write_bytes(content)
    assert "submission-signature" in {
        finding.check for finding in check_submission(signed).findings
    }


def test_a_folder_in_place_of_the_signature_is_a_finding(signed: Path) -> None:
    (signed / SIGNATURE).unlink()
    (signed / SIGNATURE).mkdir()
    assert not check_submission(signed).complies
    shutil.rmtree(signed / SIGNATURE)


def test_what_reviewers_add_later_is_not_signed(tmp_path: Path) -> None:
    for name in ("a/run.json", "audits/x/one.json", "reviews/lab.json", "SIGNATURE", "auditsx/y"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert list(signature._digests(tmp_path)) == ["a/run.json", "auditsx/y"]
