"""A witness for a lab: signs the digests that runs show it, with its own clock, and keeps a journal
of every statement.

``GET /`` names the witness and its public key. ``POST /statements`` with ``{"digest":
"<SHA-256>"}`` returns a signed statement.
"""

import json
import os
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from suite.errors import SuiteError
from suite.files.canonical import canonical_json, sha256_of_text
from suite.files.names import is_plain_name
from suite.files.signature import make_key, public_key
from suite.witness.statement import NAMESPACE, Statement

MAX_BODY_BYTES = 1024
SOCKET_TIMEOUT_S = 10
FIRST = "0" * 64
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Journal:
    """An append-only file with one line per statement; each statement holds the SHA-256 of the line
    before. Lines are on the disk when :meth:`append` returns; of one that raises, nothing is kept.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
            self._stream = path.open("ab", buffering=0)
            # the power went while the line was written: it stays, and the next one refers to it
            if lines[-1]:
                self._stream.write(b"\n")
                lines.append(b"")
        except OSError as error:
            raise SuiteError(
                f"The journal {path} cannot be written: {error.strerror}; choose another --journal."
            ) from error
        self.serial = len(lines) - 1
        self.previous = (
            sha256_of_text(lines[-2].decode("utf-8", errors="replace")) if self.serial else FIRST
        )

    def append(self, token: dict[str, Any]) -> None:
        """Add a line."""
        line, handle = canonical_json(token), self._stream.fileno()
        left, size = f"{line}\n".encode(), os.fstat(handle).st_size
        try:
            while left:  # a full disk takes a part
                left = left[self._stream.write(left) :]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
        self.serial, self.previous = self.serial + 1, sha256_of_text(line)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


class Witness:
    """Signs one statement after the other with ``key``; ``clock`` gives Unix time."""

    def __init__(
        self, name: str, key: Path, journal: Path, clock: Callable[[], float] = time.time
    ) -> None:
        if not is_plain_name(name):
            raise SuiteError(
                f"--name {name[:100]!r} must have 1 to 60 characters: lower-case letters, digits,"
                " '.', '-' and '_'; the first must be a letter or digit."
            )
        if not key.exists():
            make_key(key, name)
        self.name, self.public_key = name, public_key(key)
        self._key, self._clock, self._lock, self._journal = (
            key,
            clock,
            threading.Lock(),
            Journal(journal),
        )

    @property
    def trust_line(self) -> str:
        """The line by which rules/witnesses/allowed_signers knows this witness."""
        return f'{self.name} namespaces="{NAMESPACE}" {self.public_key}'

    def state(self, digest: str) -> dict[str, Any]:
        """Sign that ``digest`` was shown now, and enter it in the journal."""
        with self._lock:
            token = Statement(
                self.name, self._journal.serial + 1, self._clock(), digest, self._journal.previous
            ).token(self._key)
            self._journal.append(token)
            return token

    def close(self) -> None:
        """Close the journal."""
        with self._lock:
            self._journal.close()


class WitnessServer(ThreadingHTTPServer):
    """The witness at an address; ``port`` 0 takes a free one."""

    daemon_threads = True

    def __init__(self, witness: Witness, host: str, port: int) -> None:
        self.witness = witness
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise SuiteError(
                f"Port {port} of {host} cannot be used: {error.strerror}; choose another --port."
            ) from error


class _Handler(BaseHTTPRequestHandler):
    server: WitnessServer
    timeout = SOCKET_TIMEOUT_S

    def do_GET(self) -> None:
        """Name the witness."""
        if self.path == "/":
            self._answer(
                200, {"witness": self.server.witness.name, "key": self.server.witness.public_key}
            )
        else:
            self._answer(404, {"error": "use GET / or POST /statements"})

    def do_POST(self) -> None:
        """Sign a digest."""
        digest = self._digest()
        if self.path != "/statements" or digest is None:
            self._answer(
                400, {"error": 'POST {"digest": "<SHA-256, 64 hexadecimal digits>"} to /statements'}
            )
            return
        try:
            self._answer(200, self.server.witness.state(digest))
        except (SuiteError, OSError) as error:
            self._answer(500, {"error": str(error)})

    def _digest(self) -> str | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return None
        try:
            digest = json.loads(self.rfile.read(int(length)))["digest"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return digest if isinstance(digest, str) and _DIGEST.fullmatch(digest) else None

    def _answer(self, status: int, values: dict[str, Any]) -> None:
        body = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """The journal is the log."""
