"""Takes what identifies a board or its owner out of texts: serial numbers, addresses, names of host
and users, paths of people."""

import getpass
import platform
import re
from collections import Counter
from pathlib import Path

from suite.files.name_forms import is_telling
from suite.machine.board_digest import SERIAL_NUMBERS
from suite.machine.procfs import read_text

FURTHER_NUMBERS = (
    "sys/class/dmi/id/product_serial",
    "sys/class/dmi/id/chassis_serial",
    "sys/class/dmi/id/board_asset_tag",
)
MIN_SECRET = 6
"""Shorter serial numbers (0, None) are placeholders, and would be found everywhere."""
_PATTERNS = (
    (
        "serial numbers",
        re.compile(r"(?im)^([^\n:=]*serial[^\n:=]*[:=][ \t]*)(?!<)\S[^\n]*$"),
        r"\1<serial number>",
    ),
    (
        "UUIDs",
        re.compile(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
        "<uuid>",
    ),
    (
        "MAC addresses",
        re.compile(r"(?i)(?<![0-9a-f:])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}(?![0-9a-f:])"),
        "<mac>",
    ),
    ("MAC addresses", re.compile(r"(?i)\b(enx|wlx|wwx)[0-9a-f]{12}\b"), r"\1<mac>"),
    (
        "IP addresses",
        re.compile(
            r"(?<![\d.])(?!127\.)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])"
        ),
        "<ip>",
    ),
    (
        "IP addresses",
        re.compile(
            r"(?i)(?<![0-9a-z:])(?:fe80:|f[cd][0-9a-f]{2}:|2[0-9a-f]{3}:)(?:[0-9a-f]{0,4}:){1,6}[0-9a-f]{0,4}(?![0-9a-z:])"
        ),
        "<ip>",
    ),
    (
        "paths of people",
        re.compile(r"(?:/home|/Users|/media|/run/user)/[^\s\"',;)]+|/root/[^\s\"',;)]+"),
        "<path>",
    ),
)


class Sanitiser:
    """Replaces what identifies the machine below ``root``, this host and this user; ``removed``
    counts the replacements by kind."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.removed: Counter[str] = Counter()
        numbers = {
            value
            for name in (*SERIAL_NUMBERS, *FURTHER_NUMBERS)
            if (value := read_text(root / name)) and len(value) >= MIN_SECRET
        }
        host = read_text(root / "etc/hostname") or platform.node()
        board = " ".join(
            read_text(root / "proc/device-tree" / name) or "" for name in ("compatible", "model")
        ).lower()
        names = {
            "names of the host": {host, host.split(".")[0], platform.node()},
            "names of the user": {_user()},
        }
        self._secrets = [
            ("serial numbers", re.compile(re.escape(number), re.IGNORECASE), "<serial number>")
            for number in sorted(numbers)
        ]
        for kind, found in names.items():
            kept = sorted(name for name in found if is_telling(name) and name.lower() not in board)
            self._secrets += [
                (
                    kind,
                    re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE),
                    "<name>",
                )
                for name in kept
            ]

    def clean(self, content: str) -> str:
        """The text without what identifies; everything else stays as it is."""
        for kind, pattern, replacement in (*self._secrets, *_PATTERNS):
            content, count = pattern.subn(replacement, content)
            self.removed[kind] += count
        return content


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no entry in the list of users
        return ""
