"""A gate before a command: a shell that waits for its release, and then becomes the command (exec),
in the same process.

Meters are attached to the process while it waits: nothing that the command starts is missed. When
the harness dies before the release, its end of the pipe closes, and the shell exits with 1 without
starting the command.
"""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

GATE = ("/bin/sh", "-c", 'read -r release && exec "$@" </dev/null', "gate")


def gated(command: Sequence[str]) -> list[str]:
    """The command behind a gate; start it with a pipe as its standard input. The command itself
    reads /dev/null."""
    return [*GATE, *command]


def release(process: "subprocess.Popen[Any]") -> None:
    """Let a gated process become its command; does nothing for one that has ended."""
    if process.stdin is not None and not process.stdin.closed:
        with suppress(OSError):
            process.stdin.write(b"\n")
            process.stdin.flush()
    close(process)


def close(process: "subprocess.Popen[Any]") -> None:
    """Close the pipe: a process that was not released exits."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
