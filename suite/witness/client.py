"""Asks a witness over HTTP, within bounded time. A witness that does not answer stops nothing: the
answer says why."""

import base64
import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from suite.errors import SuiteError
from suite.witness.record import WitnessAnswer
from suite.witness.statement import read_statement

AUTHORITY = "rfc3161:"
"""Prefix of the address of a time stamp authority; without it, the address is that of a `suite
witness serve`."""
ATTEMPTS = 3
TIMEOUT_S = 5.0
PAUSE_S = 1.0
MAX_ANSWER_BYTES = 64 * 2**10
_QUERY_START = bytes.fromhex("30390201013031300d060960864801650304020105000420")
_QUERY_END = bytes.fromhex("0101ff")
"""TimeStampReq (RFC 3161, 2.4.1), version 1, SHA-256, certReq true: only the digest between the two
varies."""


def check_address(address: str) -> None:
    """Raise SuiteError unless the address is one that :func:`request_signature` can use."""
    if not address.removeprefix(AUTHORITY).startswith(("http://", "https://")):
        raise SuiteError(
            f"--witness {address[:200]!r} is not an address; use http://HOST:PORT of a machine"
            f" that runs `suite witness serve`, or {AUTHORITY}URL of a time-stamping authority."
        )


def request_signature(
    address: str,
    digest: str,
    attempts: int = ATTEMPTS,
    timeout_s: float = TIMEOUT_S,
    pause_s: float = PAUSE_S,
) -> WitnessAnswer:
    """Ask for a signature over a digest (SHA-256, hexadecimal); a failed attempt is repeated after
    a pause. Raises nothing for a bad witness."""
    reason: str | None = None
    for attempt in range(1, attempts + 1):
        if attempt > 1:
            time.sleep(pause_s)
        asked_ns, token = time.monotonic_ns(), None
        try:
            token = (
                _stamp(address.removeprefix(AUTHORITY), digest, timeout_s)
                if address.startswith(AUTHORITY)
                else _state(address, digest, timeout_s)
            )
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            reason = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
        if token is not None:
            return WitnessAnswer(digest, asked_ns, time.monotonic_ns(), attempt, token, None)
    return WitnessAnswer(
        digest,
        asked_ns,
        time.monotonic_ns(),
        attempts,
        None,
        f"no answer in {attempts} attempts: {reason}"[:300],
    )


def _state(address: str, digest: str, timeout_s: float) -> Mapping[str, Any]:
    """A signed statement of a lab's witness."""
    values = json.loads(
        _post(
            f"{address.rstrip('/')}/statements",
            json.dumps({"digest": digest}).encode(),
            "application/json",
            timeout_s,
        )
    )
    statement = read_statement(values.get("statement")) if isinstance(values, dict) else None
    if (
        statement is None
        or statement.digest != digest
        or not isinstance(values.get("signature"), str)
    ):
        raise ValueError("the answer is not a signed statement about this digest")
    return {"kind": "ssh", "statement": values["statement"], "signature": values["signature"]}


def _stamp(address: str, digest: str, timeout_s: float) -> Mapping[str, Any]:
    """A time stamp of an authority."""
    response = _post(
        address,
        _QUERY_START + bytes.fromhex(digest) + _QUERY_END,
        "application/timestamp-query",
        timeout_s,
    )
    return {"kind": "rfc3161", "response": base64.b64encode(response).decode("ascii")}


def _post(address: str, body: bytes, content_type: str, timeout_s: float) -> bytes:
    """The body of the answer; ``timeout_s`` bounds connecting and each wait for bytes, and the
    whole answer."""
    until_s = time.monotonic() + timeout_s
    request = urllib.request.Request(
        address, data=body, headers={"Content-Type": content_type, "Accept": "*/*"}, method="POST"
    )
    content = b""
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        while chunk := answer.read1(MAX_ANSWER_BYTES):
            content += chunk
            if len(content) > MAX_ANSWER_BYTES or time.monotonic() > until_s:
                raise ValueError(
                    f"the answer is larger than {MAX_ANSWER_BYTES} bytes or takes longer than"
                    f" {timeout_s:g} s"
                )
    return content
