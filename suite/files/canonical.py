"""Canonical JSON: one text for equal values, so that a digest of it can be recomputed by
anybody."""

import hashlib
import json
from typing import Any


def canonical_json(value: Any) -> str:
    """Keys sorted, no spaces, no escapes of letters; numbers as Python's json module writes them.
    Raises ValueError for NaN and infinity."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def sha256_of_text(text: str) -> str:
    """SHA-256 of the text's UTF-8 bytes, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def sha256_of_lines(*lines: str) -> str:
    """SHA-256 of the lines, each ended by a line feed: ``printf '%s\\n' A B | sha256sum``."""
    return sha256_of_text("".join(f"{line}\n" for line in lines))
