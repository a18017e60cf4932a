"""Kept outputs: what a rich input comes to, whole, in tests/kept/<name>.json.

Where such a test fails and the change is meant, `KEEP=1 pytest FILE` writes its files again, and
the reviewer reads their diff; `rm tests/kept/*.json; KEEP=1 pytest -m kept tests` writes all.
Nothing of the machine that the tests run on may be in them.
"""

import enum
import fcntl
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite import __version__
from suite.files.paths import repository_root
from tests.every_case import in_ci

FOLDER, WIDTH, SHOWN = Path(__file__).parent / "kept", 150, 8
DIGITS, CLOSE, ZERO = 9, 1e-7, 1e-12
"""Significant digits that are kept; by how much less floats may differ: libraries of mathematics
round their last bits in their own way."""
LONG, WORDS, TOLD = 7, 5, re.compile(r"\S*[<>&=@$\"]\S*|\d+(?:\.\d+)?")
DIGEST = re.compile(r"(?<![.\w])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}\b")
ABSENT = "(absent)"


def kept(name: str, value: Any, part: str | None = None) -> None:
    """Compare a value with the kept file of this name, or with one part of it. A missing file
    fails; a missing part, as of a new rule or device, is written, and fails in CI."""
    path, found = FOLDER / f"{name}.json", plain(value)
    if os.environ.get("KEEP") == "1":
        _write(path, found, part)
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else ABSENT
    if part is not None and held != ABSENT:
        if part not in held and not in_ci():
            _write(path, found, part)
            return
        held = held.get(part, ABSENT)
    differing = [
        f"  {where or '(all)'}: {expected!r:.200} expected, {got!r:.200} found"
        for where, expected, got in differences(held, found)
    ]
    if differing:
        more = f"\n  and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
        told = "\n".join(differing[:SHOWN]) + more
        pytest.fail(
            f"tests/kept/{path.name} {part or ''} differs:\n{told}\nIf this change is meant:"
            " `KEEP=1 pytest FILE` writes the file again; read its diff before you commit",
            pytrace=False,
        )


def plain(value: Any) -> Any:
    """As JSON holds it: floats rounded, dataclasses and mappings as objects, all else as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {_lasting(str(name)): plain(each) for name, each in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [
            plain(each) for each in (sorted(value) if isinstance(value, set | frozenset) else value)
        ]
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}") + 0.0 if abs(value) > ZERO else 0.0
    return value if value is None or isinstance(value, bool | int) else _lasting(str(value))


def _lasting(text: str) -> str:
    """Without digests, the suite's version and the checkout's folder, which change with what is
    none of the output's business."""
    text = text.replace(str(repository_root()), "CHECKOUT").replace(__version__, "VERSION")
    return DIGEST.sub("DIGEST", text)


def differences(expected: Any, found: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Place, expected and found value of all that differs; the order within lists counts."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in sorted({*expected, *found}):
            below = expected.get(name, ABSENT), found.get(name, ABSENT)
            yield from differences(*below, f"{where}.{name}" if where else name)
    elif isinstance(expected, list) and isinstance(found, list):
        for place, pair in enumerate(zip_longest(expected, found, fillvalue=ABSENT)):
            yield from differences(*pair, f"{where}[{place}]")
    elif type(expected) is float or type(found) is float:
        numbers = {type(expected), type(found)} <= {int, float}
        if not numbers or not math.isclose(expected, found, rel_tol=CLOSE, abs_tol=ZERO):
            yield where, expected, found
    elif type(expected) is not type(found) or expected != found:
        yield where, expected, found


def _write(path: Path, value: Any, part: str | None) -> None:
    """Workers may write parts of one file at once."""
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if part is not None:
            others = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            value = {**others, part: value}
        part_file = path.with_suffix(".part")
        part_file.write_text(_laid_out(value) + "\n", encoding="utf-8")
        part_file.replace(path)  # another worker may read it


def _laid_out(value: Any, indent: str = "") -> str:
    """JSON with sorted keys; what fits into a line is in one."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(indent + line) <= WIDTH or not isinstance(value, dict | list):
        return line
    deeper, opening, closing = indent + " ", *("[]" if isinstance(value, list) else "{}")
    if isinstance(value, list):
        inner = [_laid_out(each, deeper) for each in value]
    else:
        names = {name: json.dumps(name, ensure_ascii=False) for name in sorted(value)}
        inner = [f"{names[name]}: {_laid_out(value[name], deeper)}" for name in names]
    return f"{opening}\n{deeper}" + f",\n{deeper}".join(inner) + f"\n{indent}{closing}"


def in_short(value: Any) -> Any:
    """Without what is unknown; of sentences the first words, numbers and what is to be escaped:
    a better wording changes little."""
    if isinstance(value, dict):
        return {name: in_short(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [in_short(each) for each in value]
    value = _lasting(value) if isinstance(value, str) else value
    if isinstance(value, str) and value.count(" ") > LONG:
        first, rest = value.split()[:WORDS], " ".join(value.split()[WORDS:])
        return " ".join([*first, "...", *TOLD.findall(rest)])
    return value
