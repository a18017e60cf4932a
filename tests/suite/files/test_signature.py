"""SSH signatures: by whom, over what, and what hostile ones end in."""

import os
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.files.signature import (
    MAX_SIGNATURE_BYTES,
    SignatureState,
    fingerprint,
    make_key,
    public_key,
    sign_message,
    verify_signature,
)

NAMESPACE = "tests"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    make_key(tmp_path / "key", "acme")
    return tmp_path / "key"


@pytest.fixture
def allowed(key: Path, tmp_path: Path) -> Path:
    path = tmp_path / "ALLOWED_SIGNERS"
    path.write_text(f'# keys\nacme namespaces="{NAMESPACE}" {public_key(key)}\n')
    return path


def test_without_a_list_every_key_is_unknown(key: Path, tmp_path: Path) -> None:
    verdict = verify_signature(
        b"text", sign_message(b"text", key, NAMESPACE), NAMESPACE, tmp_path / "missing"
    )
    assert verdict.state is SignatureState.UNKNOWN


@pytest.mark.parametrize("file", ["key", "key.pub"])
def test_a_valid_signature_tells_its_key(
    file: str, key: Path, allowed: Path, tmp_path: Path
) -> None:
    """By the file of the private or of the public part, whether anybody knows the key or not."""
    signature, by = sign_message(b"text", key, NAMESPACE), fingerprint(tmp_path / file)
    for signers in (allowed, tmp_path / "missing"):
        assert verify_signature(b"text", signature, NAMESPACE, signers).key == by
    assert verify_signature(b"texT", signature, NAMESPACE, allowed).key is None


def test_another_text_or_namespace_is_bad(key: Path, allowed: Path) -> None:
    signature = sign_message(b"text", key, NAMESPACE)
    assert verify_signature(b"texT", signature, NAMESPACE, allowed).state is SignatureState.BAD
    assert verify_signature(b"text", signature, "another", allowed).state is SignatureState.BAD


HOSTILE = (
    "",
    "acme",
    "\x00",
    "-----BEGIN SSH SIGNATURE-----",
    "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
    "-----BEGIN SSH SIGNATURE-----\n" + "A" * MAX_SIGNATURE_BYTES,
    "-----BEGIN SSH SIGNATURE-----\né\n-----END SSH SIGNATURE-----\n",
    "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQAAADP/////\n-----END SSH SIGNATURE-----\n",
)


@pytest.mark.parametrize("signature", HOSTILE)
def test_a_malformed_signature_is_bad(signature: str, allowed: Path) -> None:
    assert verify_signature(b"text", signature, NAMESPACE, allowed).state is SignatureState.BAD


def test_a_truncated_signature_is_bad(key: Path, allowed: Path) -> None:
    lines = sign_message(b"text", key, NAMESPACE).splitlines()
    for kept in range(len(lines) - 1):
        assert (
            verify_signature(
                b"text", "\n".join([*lines[:kept], lines[-1]]), NAMESPACE, allowed
            ).state
            is SignatureState.BAD
        )


def test_without_ssh_keygen_nothing_is_verified(
    key: Path, allowed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = sign_message(b"text", key, NAMESPACE)
    monkeypatch.setenv("PATH", str(tmp_path))
    verdict = verify_signature(b"text", signature, NAMESPACE, allowed)
    assert (verdict.state, verdict.reason) == (SignatureState.UNVERIFIED, "ssh-keygen is missing")
    with pytest.raises(SuiteError, match="OpenSSH"):
        sign_message(b"text", key, NAMESPACE)


def test_an_old_ssh_keygen_verifies_nothing(
    key: Path, allowed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature, old = sign_message(b"text", key, NAMESPACE), tmp_path / "bin" / "ssh-keygen"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'unknown option -- Y' >&2\nexit 1\n")  # OpenSSH 7.6 says so
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    assert (
        verify_signature(b"text", signature, NAMESPACE, allowed).state is SignatureState.UNVERIFIED
    )


def test_a_file_that_is_no_key_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    with pytest.raises(SuiteError, match="could not sign"):
        sign_message(b"text", tmp_path / "key", NAMESPACE)
