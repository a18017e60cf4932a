"""The signature of a submission: ``FILES.sha256`` lists its files, ``SIGNATURE`` is an SSH
signature of that listing. It says who, not what.

sha256sum -c FILES.sha256 ssh-keygen -Y verify -n edge-training-submission -f ../../ALLOWED_SIGNERS
-I NAME -s SIGNATURE < FILES.sha256
"""

from dataclasses import dataclass
from pathlib import Path

from suite.files.digest import sha256
from suite.files.paths import repository_root
from suite.files.signature import (
    MAX_MESSAGE_BYTES,
    MAX_SIGNATURE_BYTES,
    SignatureState,
    SignatureVerdict,
    sign_message,
    verify_signature,
)
from suite.files.tree import paths_below
from suite.submission.folder_names import AUDITS, LISTING, REVIEWS, SIGNATURE, withdraws

NAMESPACE = "edge-training-submission"
"""Namespace of the signatures (PROTOCOL.sshsig): a signature made for something else is none of a
submission."""
UNLISTED = (LISTING, SIGNATURE, AUDITS, REVIEWS)
"""Files and folders that no listing names: the signature itself, and what reviewers add."""
MAX_DIFFERENCES = 100


@dataclass(frozen=True)
class FileDifference:
    """A file that is not as the listing says."""

    file: str
    expected: str
    observed: str


@dataclass(frozen=True)
class SubmissionSignature:
    """The verdict on a signature, and how the files differ from the signed listing."""

    verdict: SignatureVerdict
    differences: tuple[FileDifference, ...]

    @property
    def signed_by(self) -> str | None:
        """The name in the allowed signers; None if the signature is bad, unknown or could not be
        verified, or a file differs."""
        return (
            None
            if self.differences or self.verdict.state is not SignatureState.KNOWN
            else self.verdict.signer
        )


def allowed_signers() -> Path:
    """The keys of submitters, in OpenSSH's format; a submission cannot bring its own."""
    return repository_root() / "submissions" / "ALLOWED_SIGNERS"


def sign_submission(directory: Path, key: Path) -> None:
    """Write the listing and its signature; raises SuiteError where the key cannot sign."""
    text = "".join(f"{digest}  {name}\n" for name, digest in _digests(directory).items())
    signature = sign_message(text.encode(), key, NAMESPACE)
    (directory / LISTING).write_text(text, encoding="utf-8")
    (directory / SIGNATURE).write_text(signature, encoding="ascii")


def read_signature(directory: Path, allowed: Path) -> SubmissionSignature | None:
    """Verify the signature of an untrusted submission; None if it has neither listing nor
    signature."""
    signature, listing = directory / SIGNATURE, directory / LISTING
    if not any(path.exists() or path.is_symlink() for path in (signature, listing)):
        return None
    for path, most in ((signature, MAX_SIGNATURE_BYTES), (listing, MAX_MESSAGE_BYTES)):
        if path.is_symlink() or not path.is_file():
            return _bad(f"{path.name} is missing")
        if path.stat().st_size > most:
            return _bad(f"{path.name} is larger than {most} bytes")
    content = listing.read_bytes()
    verdict = verify_signature(
        content, signature.read_text(encoding="ascii", errors="replace"), NAMESPACE, allowed
    )
    return SubmissionSignature(
        verdict, _differences(content.decode("utf-8", errors="replace"), directory)
    )


def _bad(reason: str) -> SubmissionSignature:
    return SubmissionSignature(SignatureVerdict(SignatureState.BAD, reason=reason), ())


def _digests(directory: Path) -> dict[str, str]:
    """SHA-256 of every plain file that a signature covers, by its path in the submission, sorted by
    the bytes of the paths."""
    files = {
        path.relative_to(directory).as_posix(): path
        for path in paths_below(directory)
        if not path.is_symlink() and path.is_file()
    }
    return {
        name: sha256(files[name])
        for name in sorted(files, key=lambda name: name.encode("utf-8", "surrogateescape"))
        if name.partition("/")[0] not in UNLISTED
    }


def _differences(text: str, directory: Path) -> tuple[FileDifference, ...]:
    """How the files differ from the listing; withdrawals may be added after signing."""
    present = _digests(directory)
    listed = {
        name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())
    }
    found = [
        FileDifference(
            name, f"a file with SHA-256 {listed[name][:64]}", present.get(name, "no such file")
        )
        for name in listed
        if present.get(name) != listed[name]
    ]
    found += [
        FileDifference(
            name, f"only files that {LISTING} lists", f"a file that {LISTING} does not list"
        )
        for name in present
        if name not in listed and not withdraws(directory / name, directory)
    ]
    return tuple(found[:MAX_DIFFERENCES])
