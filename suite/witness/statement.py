"""What a lab's witness signs: a digest that it was shown, its own time, and the digest of its
journal's line before."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite.files.canonical import canonical_json
from suite.files.signature import sign_message

NAMESPACE = "edge-training-witness"
"""Namespace of the signatures (PROTOCOL.sshsig): a signature made for something else is none of a
witness."""
MAX_STATEMENT_LENGTH = 2000
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class Statement:
    """``digest`` was shown to ``witness`` at ``time_s`` (Unix time, UTC), as number ``serial`` of
    its journal.

    ``previous`` is the SHA-256 of the journal's line before; 64 zeros for the first.
    """

    witness: str
    serial: int
    time_s: float
    digest: str
    previous: str

    def text(self) -> str:
        """The signed text: canonical JSON, the time in UTC with microseconds."""
        stamped = datetime.fromtimestamp(self.time_s, timezone.utc).strftime(_TIME)
        values = {name: value for name, value in asdict(self).items() if name != "time_s"}
        return canonical_json({**values, "time": stamped})

    def token(self, key: Path) -> dict[str, Any]:
        """The signed statement as a witness returns it."""
        text = self.text()
        return {
            "kind": "ssh",
            "statement": text,
            "signature": sign_message(text.encode(), key, NAMESPACE),
        }


def read_statement(text: object) -> Statement | None:
    """The statement in untrusted text; None if it is none."""
    if not isinstance(text, str) or len(text) > MAX_STATEMENT_LENGTH:
        return None
    try:
        values = json.loads(text)
        stamped = datetime.strptime(values.pop("time"), _TIME).replace(tzinfo=timezone.utc)
        read = Statement(**values, time_s=stamped.timestamp())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None
    texts = (read.witness, read.digest, read.previous)
    return (
        read
        if all(isinstance(value, str) for value in texts) and isinstance(read.serial, int)
        else None
    )
