"""Sizes of memory as people write them. GB is 10^9 bytes, GiB is 2^30."""

import re

from suite.errors import SuiteError

UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def parse_size(text: str) -> int:
    """Bytes of ``2GB``, ``1.5 GB``, ``800MiB``. Raises SuiteError for anything else, and for 0."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", text)
    unit = UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None:
        raise SuiteError(
            f"{text!r} is not a size of memory",
            "write a number and a unit: 2GB, 1.5GB or 800MB (GB is 10^9 bytes; GiB is 2^30)",
        )
    size = round(float(found[1]) * unit)
    if size < 1:
        raise SuiteError(f"{text} holds nothing", "give a size above 0, such as 64MB or 2GB")
    return size


def write_size(size_bytes: float) -> str:
    """The size in GB or MB with three digits: ``1.45 GB``, ``353 MB``."""
    if abs(size_bytes) >= 999.5e6:  # which are not 1000 MB
        return f"{size_bytes / 1e9:.3g} GB" if size_bytes < 1e11 else f"{size_bytes / 1e9:.0f} GB"
    return f"{size_bytes / 1e6:.3g} MB" if size_bytes < 1e8 else f"{size_bytes / 1e6:.0f} MB"
