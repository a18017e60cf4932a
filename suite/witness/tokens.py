"""Verifies tokens: signed statements of a lab's witness, and time stamps of an authority (RFC
3161); says what those of a bundle prove, and by whom a run was witnessed."""

import base64
import binascii
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite.files.paths import rules_folder
from suite.files.signature import SignatureState, verify_signature
from suite.witness.record import WitnessRecord, files_digest, receipt_digest, stamp_digest
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


def trust_list() -> Path:
    """The folder of the witnesses that the rulebook knows: ``allowed_signers`` and certificates of
    authorities, ``<name>.pem``."""
    return rules_folder() / "witnesses"


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
            "its statement is about another digest",
        )
    found = verify_signature(
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
        reason = f"its time stamp has {len(response)} bytes, expected 1 to {MAX_RESPONSE_BYTES}"
        return TokenVerdict(SignatureState.BAD, reason=reason)
    if shutil.which(OPENSSL) is None:
        return TokenVerdict(SignatureState.UNVERIFIED, reason=f"{OPENSSL} is missing")
    with tempfile.TemporaryDirectory(prefix="stamp-") as name:
        path = Path(name) / "response.tsr"
        path.write_bytes(response)
        return _verify_file(path, digest, sorted(trusted.glob("*.pem")))


def _verify_file(path: Path, digest: str, authorities: Sequence[Path]) -> TokenVerdict:
    # the token alone: nobody signs the text of a response's status
    shown = _openssl("ts", "-reply", "-in", str(path), "-token_out", "-text")
    found = _STAMPED.search(shown or "")
    if found is None:
        return TokenVerdict(SignatureState.BAD, reason="the authority granted no time stamp")
    month, day, clock, fraction, year = found.groups()
    moment = datetime.strptime(f"{month} {day} {clock} {year}", "%b %d %H:%M:%S %Y").replace(
        tzinfo=timezone.utc
    )
    time_s = moment.timestamp() + float(fraction or 0)

    def is_stamped_by(certificates: Path, *options: str) -> bool:
        about = ("-in", str(path), "-digest", digest)
        # a certificate may expire after it was used
        by = ("-attime", str(int(time_s)), *options, "-CAfile", str(certificates))
        return _openssl("ts", "-verify", *about, *by) is not None

    for authority in authorities:
        if is_stamped_by(authority):
            return TokenVerdict(SignatureState.KNOWN, time_s, authority.stem)
    own = path.with_suffix(".pem")
    token = path.with_suffix(".tst")
    _openssl("ts", "-reply", "-in", str(path), "-token_out", "-out", str(token))
    own.write_text(
        _openssl("pkcs7", "-inform", "DER", "-in", str(token), "-print_certs") or "",
        encoding="utf-8",
    )
    if is_stamped_by(own, "-partial_chain"):
        return TokenVerdict(
            SignatureState.UNKNOWN, time_s, reason="its authority is not in rules/witnesses"
        )
    return TokenVerdict(
        SignatureState.BAD,
        time_s,
        reason="it stamps another digest, its signature is wrong, or it has no certificate",
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


@dataclass(frozen=True)
class WitnessVerdict:
    """The verdicts on receipt, stamp, and stamp over the files; None where the witness did not
    answer, or was not asked."""

    receipt: TokenVerdict | None
    stamp: TokenVerdict | None
    files: TokenVerdict | None

    @property
    def witness(self) -> str | None:
        """The one witness of the rulebook that saw beginning, end and files; None if there is none.
        Says nothing about times and files."""
        if self.receipt is None or self.stamp is None or self.files is None:
            return None
        tokens = (self.receipt, self.stamp, self.files)
        is_known = all(token.state is SignatureState.KNOWN for token in tokens)
        return (
            self.receipt.witness
            if is_known and len({token.witness for token in tokens}) == 1
            else None
        )


def judge_tokens(
    record: WitnessRecord,
    run_id: str,
    request: Mapping[str, Any],
    nonce: Mapping[str, Any] | None,
    trusted: Path,
) -> WitnessVerdict:
    """Verify the tokens of a record against what run.json and the record itself hold."""

    def judge(
        token: Mapping[str, Any] | None, digest: Callable[..., str], *over: Any
    ) -> TokenVerdict | None:
        return None if token is None else verify_token(token, digest(run_id, *over), trusted)

    receipt, stamp, files_stamp = (
        None if answer is None else answer.token
        for answer in (record.receipt, record.stamp, record.files_stamp)
    )
    return WitnessVerdict(
        judge(receipt, receipt_digest, request, nonce),
        judge(stamp, stamp_digest, record.heads, receipt),
        judge(files_stamp, files_digest, record.files, receipt, stamp),
    )
