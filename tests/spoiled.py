"""What is read of a tree of files of which one is spoiled, as it differs from the tree as it is."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from suite.errors import SuiteError
from tests.kept_outputs import differences, in_short, plain

NUMBER = re.compile(rb"\d+")
SPOILS: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda content: None,
    "negative": lambda content: b"-7\n",
    "larger": lambda content: NUMBER.sub(lambda found: b"%d" % (int(found[0]) * 3 + 1), content),
    "text": lambda content: b"=<b>&\xff\n",
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "huge": lambda content: NUMBER.sub(rb"\g<0>000000000", content),
    "twice": lambda content: content + content,
}


def spoiled(root: Path, read: Callable[[], Any], names: Iterable[str], ways: int) -> dict[str, Any]:
    """By file below ``root`` and spoil: what ``read`` returns otherwise. Each file is spoiled in
    ``ways`` ways, in turn, and put back."""

    def told() -> Any:
        try:
            value = plain(read())
        except (SuiteError, OSError, ValueError, LookupError) as error:
            value = f"{type(error).__name__}: {error}"
        return in_short(json.loads(json.dumps(value).replace(str(root), "ROOT")))

    base, found = told(), {}
    for place, name in enumerate(names):
        path, kinds = root / name, [*SPOILS]
        content = path.read_bytes()
        for way in range(ways):
            kind = kinds[(ways * place + way) % len(kinds)]
            spoilt = SPOILS[kind](content)
            path.unlink() if spoilt is None else path.write_bytes(spoilt)
            changes = {where: value for where, _, value in differences(base, told())}
            path.write_bytes(content)
            if changes:
                found[f"{name} {kind}"] = changes
    return found
