"""Evidence that others add to runs: a record and, in a file beside it, its maker's SSH signature.

ssh-keygen -Y verify -n edge-training-evidence -f ALLOWED_SIGNERS -I NAME -s FILE.sig < FILE
"""

from pathlib import Path

from suite.files.signature import (
    MAX_MESSAGE_BYTES,
    MAX_SIGNATURE_BYTES,
    SignatureState,
    SignatureVerdict,
    sign_message,
    verify_signature,
)

NAMESPACE = "edge-training-evidence"
SUFFIX = ".sig"


def signature_of(record: Path) -> Path:
    """The file of a record's signature."""
    return record.with_name(record.name + SUFFIX)


def sign_evidence(record: Path, key: Path) -> None:
    """Sign a record; raises SuiteError where the key cannot sign."""
    signature = sign_message(record.read_bytes(), key, NAMESPACE)
    signature_of(record).write_text(signature, encoding="ascii")


def maker_of(record: Path, allowed: Path) -> SignatureVerdict:
    """Who signed an untrusted record, by the allowed signers; an unsigned one is by nobody that is
    known."""
    path = signature_of(record)
    if path.is_symlink() or not path.is_file():
        return SignatureVerdict(SignatureState.UNKNOWN, reason="it is not signed")
    for file, most in ((path, MAX_SIGNATURE_BYTES), (record, MAX_MESSAGE_BYTES)):
        if file.stat().st_size > most:
            return SignatureVerdict(SignatureState.BAD, reason=f"{file.name} is too large")
    text = path.read_text(encoding="ascii", errors="replace")
    return verify_signature(record.read_bytes(), text, NAMESPACE, allowed)
