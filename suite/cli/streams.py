"""Standard output and standard error of a command, which may be full, closed, or read by a program
that ends first (`| head`)."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import get_terminal_size
from typing import Any, TextIO


def terminal_columns() -> int:
    """Of the terminal that standard error is on: standard output may be a file."""
    columns = 0
    with suppress(OSError):
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    return get_terminal_size((columns or 80, 24)).columns


class Tolerant(io.FileIO):
    """Drops what cannot be written, so that a command does the same whether or not it is read;
    ``lost`` is the first error."""

    lost: OSError | None = None

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        """Write a buffer as a file does; what cannot be written counts as written."""
        try:
            return super().write(data)
        except OSError as error:
            self.lost = self.lost or error
            return len(data)

    def problem(self) -> str | None:
        """Why something is missing, unless its reader wanted no more."""
        return None if self.lost is None or self.lost.errno == errno.EPIPE else self.lost.strerror


@contextmanager
def tolerant_streams() -> Iterator[Tolerant | None]:
    """Let what is printed within never end the command; yields standard output (None: a caller in
    this process collects it).

    Characters that the encoding of a stream lacks are printed as their codes.
    """
    _open_closed()
    before = (sys.stdout, sys.stderr)
    if before != (sys.__stdout__, sys.__stderr__):
        yield None
        return
    output = Tolerant(sys.stdout.fileno(), "w", closefd=False)
    sys.stdout = _text(output, sys.stdout)
    sys.stderr = _text(Tolerant(sys.stderr.fileno(), "w", closefd=False), sys.stderr)
    try:
        yield output
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _text(raw: Tolerant, like: TextIO) -> TextIO:
    is_seen_at_once = raw.isatty() or any(
        getattr(like, name, False) for name in ("line_buffering", "write_through")
    )
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=like.encoding,
        errors="backslashreplace",
        line_buffering=is_seen_at_once,
    )


def _open_closed() -> None:
    """Open streams that the caller closed (`>&-`) on the null device; else the next file that is
    opened would get what is printed."""
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
