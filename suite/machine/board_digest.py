"""Tells boards of one kind apart without naming them: a keyed digest of the board's serial number.

The digest is HMAC-SHA256 of the serial number under a random key of 32 bytes, cut to 16 hexadecimal
digits. The key is drawn once and kept in the suite's folder on the board
(``$SUITE_HOME/board.key``, readable by its owner only); it never leaves the board. So

- two runs of one user on one board have the same digest, and two boards have different ones, even
  with copies of one SD card (serial numbers differ),
- somebody who knows a serial number can neither compute its digest nor try all serial numbers (a
  Raspberry Pi has only 2^32 of them).

Limits: another user, a new installation or a deleted key gives a new digest. Where only root reads
the serial number (most PCs), other users get that of the installation (/etc/machine-id), which
copies of one disk share. The digest tells boards apart for honest submitters; it proves nothing.
"""

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from suite.files import paths
from suite.machine.procfs import read_text

KEY = "board.key"
KEY_BYTES = 32
DIGITS = 16
SERIAL_NUMBERS = (
    "proc/device-tree/serial-number",
    "sys/firmware/devicetree/base/serial-number",  # what the former links to
    "sys/class/dmi/id/product_uuid",  # root only
    "sys/class/dmi/id/board_serial",  # root only
    "etc/machine-id",
)
# Where the vendor set nothing: "Default string", "To be filled by O.E.M.", "N/A", one digit
# repeated, digits in their order, the UUIDs of vendors' sample code (the first in both byte
# orders).
_PLACEHOLDER = re.compile(
    r"(?i)default|to be filled|o\.e\.m|not specified|not applicable|none|invalid|system"
    r" serial|^uninitialized$|^n/?a$|^(.)\1*$"
    r"|^0?123456789(0|abcdef)?$"
    r"|^03000200-0400-0500-0006-000700080009$|^00020003-0004-0005-0006-000700080009$|^12345678-1234-5678-90ab-cddeefaabbcc$"
)


@dataclass(frozen=True)
class BoardDigest:
    """``digest`` and the file that the serial number is from; None with the reason where there is
    none."""

    digest: str | None
    source: str | None
    reason: str | None


def board_digest(root: Path = Path("/"), home: Path | None = None) -> BoardDigest:
    """The digest of the board below ``root``, under the key in ``home`` (default: the suite's
    folder), which is made if it does not exist."""
    for name in SERIAL_NUMBERS:
        serial = read_text(root / name)
        if (
            serial
            and not _PLACEHOLDER.search(re.sub(r"[\s-]", "", serial))
            and not _PLACEHOLDER.search(serial)
        ):
            try:
                key = _key((home or paths.suite_home()) / KEY)
            except OSError as error:
                return BoardDigest(
                    None,
                    None,
                    f"the key of board digests cannot be saved: {error.strerror or error}",
                )
            message = f"edge-training-suite board\0{name}\0{serial}".encode()
            return BoardDigest(
                hmac.new(key, message, hashlib.sha256).hexdigest()[:DIGITS], f"/{name}", None
            )
    return BoardDigest(None, None, "the machine has no serial number that this user can read")


def _key(path: Path) -> bytes:
    """The key in this file, made on first use; a file of another length is replaced. Several
    processes may ask at once: one key wins."""
    with contextlib.suppress(FileNotFoundError):
        found = path.read_bytes()
        if len(found) == KEY_BYTES:
            return found
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)  # readable by its owner only
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(KEY_BYTES))
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # another process was first: its key is the one
        except OSError:  # a USB stick's file system may have no links
            Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)
    return path.read_bytes()
