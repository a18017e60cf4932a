"""Downloads a file from the first mirror that has it, resuming an earlier attempt."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path

from suite.errors import SuiteError

Progress = Callable[[str, int, int | None], None]  # address, bytes so far, bytes in all or None
Acceptable = Callable[[Path], str | None]  # why the file is not the right one, None when it is
TIMEOUT_S = 30.0
PARTIAL = 206
_LOST = (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError, ssl.SSLError)


def download(
    target: Path, addresses: Sequence[str], acceptable: Acceptable, progress: Progress
) -> None:
    """Download ``target``; after an interruption, the part that has arrived stays in
    ``<target>.part``.

    Raises SuiteError naming every mirror that was tried, with its error.
    """
    if target.exists() and acceptable(target) is None:
        return
    part = target.with_name(f"{target.name}.part")
    answers = []
    for address in addresses:
        try:
            _fetch(address, part, progress)
        except _LOST as error:
            answers.append(f"{address}: {getattr(error, 'reason', None) or error}")
            continue
        part.replace(target)
        problem = acceptable(target)
        if problem is None:
            return
        target.unlink()
        answers.append(f"{address}: {problem}")
    raise SuiteError(
        f"{target.name} could not be downloaded ({'; '.join(answers)}). Run the same command again"
        " to resume, or get the files elsewhere and use --from DIR."
    )


def _fetch(address: str, part: Path, progress: Progress) -> None:
    """Append the missing bytes; a server that ignores the range sends the whole file, which
    replaces the part."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        # the part is already complete, or too long: acceptable() checks it
        if error.code == 416 and have:
            return
        raise
    with answer:
        resumed = answer.status == PARTIAL
        length = answer.headers.get("Content-Length")
        total = int(length) + (have if resumed else 0) if length else None
        with part.open("ab" if resumed else "wb") as stream:
            done = have if resumed else 0
            while chunk := answer.read(2**16):
                stream.write(chunk)
                done += len(chunk)
                progress(address, done, total)
    if total is not None and part.stat().st_size < total:
        raise ConnectionError(
            f"the connection was closed after {part.stat().st_size} of {total} bytes"
        )
