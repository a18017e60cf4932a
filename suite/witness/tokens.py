"""Verifies tokens: signed statements of a lab's witness, and time stamps of an authority (RFC
3161)."""

import base64
import binascii
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite.files.paths import rules_folder
from suite.files.signature import SignatureState, verify
from suite.witness.statement import NAMESPACE, read_statement

ALLOWED_SIGNERS = "allowed_signers"
MAX_RESPONSE_BYTES = 32 * 2**10
LIMIT_S = 20
OPENSSL = "openssl"
_STAMPED = re.compile(
    r"^Time stamp: (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d)(\.\d{1,9})? (\d{4}) GMT$", re.MULTILINE
)


@dataclass(frozen=True)
class TokenVerdict:
    """What a token proves: ``time_s`` (Unix time by the witness's clock; None if it names none),
    and whose signature it carries.

    ``witness`` is the name in the trust list where the state is ``known``, else the name that the
    token gives itself; None if it gives none.
    """

    state: SignatureState
    time_s: float | None = None
    witness: str | None = None
    reason: str | None = None


def trust_list(root: Path | None = None) -> Path:
    """The folder of the witnesses that the rulebook knows: ``allowed_signers`` and certificates of
    authorities, ``<name>.pem``."""
    return rules_folder(root) / "witnesses"


def verify_token(token: Mapping[str, Any], digest: str, trusted: Path) -> TokenVerdict:
    """Whether an untrusted token is a signature over ``digest`` (SHA-256, hexadecimal), whose, and
    of what time."""
    if token.get("kind") == "ssh":
        return _verify_statement(token, digest, trusted)
    if token.get("kind") == "rfc3161":
        return _verify_response(token, digest, trusted)
    return TokenVerdict(
        SignatureState.BAD, reason="it is neither a signed statement nor a time stamp"
    )


def _verify_statement(token: Mapping[str, Any], digest: str, trusted: Path) -> TokenVerdict:
    statement, signature = read_statement(token.get("statement")), token.get("signature")
    if statement is None or not isinstance(signature, str):
        return TokenVerdict(SignatureState.BAD, reason="its statement cannot be read")
    if statement.digest != digest:
        return TokenVerdict(
            SignatureState.BAD,
            statement.time_s,
            statement.witness,
            "it is a statement about something else",
        )
    found = verify(
        str(token["statement"]).encode("utf-8", errors="surrogatepass"),
        signature,
        NAMESPACE,
        trusted / ALLOWED_SIGNERS,
    )
    return TokenVerdict(
        found.state, statement.time_s, found.signer or statement.witness[:100], found.reason
    )


def _verify_response(token: Mapping[str, Any], digest: str, trusted: Path) -> TokenVerdict:
    try:
        response = base64.b64decode(str(token.get("response")), validate=True)
    except (binascii.Error, ValueError):
        return TokenVerdict(SignatureState.BAD, reason="its time stamp is not base64")
    if not 0 < len(response) <= MAX_RESPONSE_BYTES:
        return TokenVerdict(SignatureState.BAD, reason=f"its time stamp has {len(response)} bytes")
    if shutil.which(OPENSSL) is None:
        return TokenVerdict(SignatureState.UNVERIFIED, reason=f"{OPENSSL} is missing")
    with tempfile.TemporaryDirectory(prefix="stamp-") as name:
        path = Path(name) / "response.tsr"
        path.write_bytes(response)
        return _verify_file(path, digest, sorted(trusted.glob("*.pem")))


def _verify_file(path: Path, digest: str, authorities: Sequence[Path]) -> TokenVerdict:
    shown = _openssl("ts", "-reply", "-in", str(path), "-text")
    found = _STAMPED.search(shown or "")
    if found is None:
        return TokenVerdict(SignatureState.BAD, reason="it is not a time stamp that was granted")
    month, day, clock, fraction, year = found.groups()
    moment = datetime.strptime(f"{month} {day} {clock} {year}", "%b %d %H:%M:%S %Y").replace(
        tzinfo=timezone.utc
    )
    time_s = moment.timestamp() + float(fraction or 0)
    for authority in authorities:
        if (
            _openssl(
                "ts", "-verify", "-in", str(path), "-digest", digest, "-CAfile", str(authority)
            )
            is not None
        ):
            return TokenVerdict(SignatureState.KNOWN, time_s, authority.stem)
    own = path.with_suffix(".pem")
    token = path.with_suffix(".tst")
    _openssl("ts", "-reply", "-in", str(path), "-token_out", "-out", str(token))
    own.write_text(
        _openssl("pkcs7", "-inform", "DER", "-in", str(token), "-print_certs") or "",
        encoding="utf-8",
    )
    if (
        _openssl(
            "ts",
            "-verify",
            "-in",
            str(path),
            "-digest",
            digest,
            "-partial_chain",
            "-CAfile",
            str(own),
        )
        is not None
    ):
        return TokenVerdict(
            SignatureState.UNKNOWN, time_s, reason="its authority is not in rules/witnesses"
        )
    return TokenVerdict(
        SignatureState.BAD,
        time_s,
        reason="it does not fit what was stamped, or carries no certificate",
    )


def _openssl(*arguments: str) -> str | None:
    """The output of openssl; None where it fails or takes too long."""
    try:
        done = subprocess.run(
            [OPENSSL, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", errors="replace") if done.returncode == 0 else None
