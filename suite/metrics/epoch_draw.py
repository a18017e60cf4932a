"""The draw of the epoch whose training state must be handed in."""

import hashlib


def drawn_epoch(head: str, value: str, epochs: int) -> int:
    """One of the epochs 1 to ``epochs``, from the chain value of rank 0's last log line and a value
    that somebody else gives after sealing.

    SHA-256 of ``head`` and ``value``, one after the other in UTF-8, as a whole number (most
    significant byte first), modulo ``epochs``, plus 1.
    """
    return (
        int.from_bytes(hashlib.sha256((head + value).encode("utf-8")).digest(), "big") % epochs + 1
    )
