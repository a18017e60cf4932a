"""Signatures by SSH keys: made and verified by OpenSSH's ``ssh-keygen -Y`` (version 8.2 or later),
so that no library of cryptography is needed.

Signatures and messages may be hostile: their size is bounded, ssh-keygen gets them as files and
standard input, without a shell, for a bounded time.
"""

import enum
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from suite.errors import SuiteError
from suite.files.names import is_plain_name

MAX_SIGNATURE_BYTES = 16 * 2**10
MAX_MESSAGE_BYTES = 8 * 2**20
LIMIT_S = 20
PROGRAM = "ssh-keygen"
_FIRST_LINE = "-----BEGIN SSH SIGNATURE-----"
_Done = subprocess.CompletedProcess[bytes]


class SignatureState(str, enum.Enum):
    """``known``: valid, by a key of the allowed signers; ``unknown``: valid, by another key;
    ``bad``; ``unverified``: no program to verify it."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    BAD = "bad"
    UNVERIFIED = "unverified"


@dataclass(frozen=True)
class SignatureVerdict:
    """What the verification found; ``signer`` is the name in the allowed signers, None unless the
    state is ``known``. ``reason`` of the others. ``key`` is the fingerprint of the key of a valid
    signature."""

    state: SignatureState
    signer: str | None = None
    reason: str | None = None
    key: str | None = None


def expect_key(key: Path) -> None:
    """Raise SuiteError unless there is such a key, before work whose record it is to sign."""
    if not key.is_file():
        raise SuiteError(
            f"There is no SSH key {key}; make one with `ssh-keygen -t ed25519 -f {key}`."
        )


def sign_message(message: bytes, key: Path, namespace: str) -> str:
    """The armored signature of a message by a private key's file (or a public one's, whose private
    part an agent holds).

    A protected key asks for its passphrase on the terminal. Raises SuiteError where ssh-keygen is
    missing or refuses.
    """
    expect_key(key)
    with _folder(message) as folder:
        path = folder / "message"
        arguments = ["-Y", "sign", "-q", "-f", str(key.absolute()), "-n", namespace, str(path)]
        _succeeded(_run_ssh_keygen(arguments, None, limit_s=None), f"sign with {key}")
        return (folder / "message.sig").read_text(encoding="ascii")


def verify_signature(
    message: bytes, signature: str, namespace: str, allowed_signers: Path
) -> SignatureVerdict:
    """Whether the signature is one of this message, and by whom; ``allowed_signers`` is a file in
    OpenSSH's format and may be missing."""
    if (
        not signature.startswith(_FIRST_LINE)
        or len(signature) > MAX_SIGNATURE_BYTES
        or not signature.isascii()
    ):
        return SignatureVerdict(SignatureState.BAD, reason="the file is not an SSH signature")
    if shutil.which(PROGRAM) is None:
        return SignatureVerdict(SignatureState.UNVERIFIED, reason=f"{PROGRAM} is missing")
    with _folder(message, signature) as folder:
        path = str(folder / "message.sig")
        plain = _run_ssh_keygen(["-Y", "check-novalidate", "-n", namespace, "-s", path], message)
        if plain is None or plain.returncode != 0:
            return _refused(plain)
        key = plain.stdout.decode("ascii", errors="replace").strip().rpartition(" ")[2]
        by = ["-s", path, "-f", str(allowed_signers)]
        for name in _principals(_run_ssh_keygen(["-Y", "find-principals", *by])):
            by_name = ["-Y", "verify", "-n", namespace, *by, "-I", name]
            whole = _run_ssh_keygen(by_name, message)
            if whole is not None and whole.returncode == 0:
                return SignatureVerdict(SignatureState.KNOWN, signer=name, key=key)
    return SignatureVerdict(
        SignatureState.UNKNOWN,
        reason=f"{allowed_signers.name} does not list the key that made this signature under a"
        " usable name (lower-case letters, digits, dots, dashes and underscores; at most 60"
        " characters)",
        key=key,
    )


def make_key(path: Path, comment: str) -> None:
    """Make an Ed25519 key pair without a passphrase at ``path`` and ``path``.pub; raises SuiteError
    where there is no place for it, and where ssh-keygen is missing or refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SuiteError(
            f"The key {path} cannot be written: {error.strerror}; choose another --key."
        ) from error
    done = _run_ssh_keygen(["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])
    _succeeded(done, f"make the key {path}")


def public_key(path: Path) -> str:
    """The public part of a key file, as a line of allowed signers writes it: type and key."""
    return " ".join(_read_key(path, "-y")[:2])


def fingerprint(path: Path) -> str:
    """The fingerprint of a key file, private or public; a protected key needs no passphrase."""
    return _read_key(path, "-l")[1]


def _read_key(path: Path, option: str) -> list[str]:
    done = _succeeded(_run_ssh_keygen([option, "-f", str(path)]), f"read the key {path}")
    return done.stdout.decode("ascii", errors="replace").split()


def _succeeded(done: _Done | None, what: str) -> _Done:
    if done is None:
        raise SuiteError(f"{PROGRAM} is missing; install OpenSSH 8.2 or later.")
    if done.returncode != 0:
        raise SuiteError(f"{PROGRAM} could not {what}: {_decoded(done.stderr)}.")
    return done


def _refused(done: _Done | None) -> SignatureVerdict:
    if done is None:
        return SignatureVerdict(SignatureState.UNVERIFIED, reason=f"{PROGRAM} did not answer")
    if b"nsupported" in done.stderr or b"unknown option" in done.stderr or b"usage:" in done.stderr:
        return SignatureVerdict(
            SignatureState.UNVERIFIED, reason=f"{PROGRAM} cannot verify it: {_decoded(done.stderr)}"
        )
    return SignatureVerdict(SignatureState.BAD, reason="the signature does not match the content")


def _principals(found: _Done | None) -> tuple[str, ...]:
    if found is None or found.returncode != 0:
        return ()
    names = found.stdout.decode("utf-8", errors="replace").splitlines()
    return tuple(name.strip() for name in names if is_plain_name(name.strip()))[:10]


@contextmanager
def _folder(message: bytes, signature: str | None = None) -> Iterator[Path]:
    """A temporary folder with the message and the signature as files."""
    if len(message) > MAX_MESSAGE_BYTES:
        raise SuiteError(f"A message of {len(message)} bytes is too large for a signature.")
    with tempfile.TemporaryDirectory(prefix="signature-") as name:
        (Path(name) / "message").write_bytes(message)
        if signature is not None:
            (Path(name) / "message.sig").write_text(signature, encoding="ascii")
        yield Path(name)


def _run_ssh_keygen(
    arguments: Sequence[str], message: bytes | None = b"", limit_s: float | None = LIMIT_S
) -> _Done | None:
    """Run ssh-keygen; None where it is missing or took too long. Without a message it has the
    terminal, to ask for a passphrase."""
    try:
        return subprocess.run(
            [PROGRAM, *arguments],
            input=message,
            capture_output=True,
            timeout=limit_s,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _decoded(output: bytes) -> str:
    return " ".join(output.decode("utf-8", errors="replace").split())[:200]
