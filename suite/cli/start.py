"""Entry point of the `suite` command: imports the command line where Ctrl-C ends it with a
sentence, too. On a board this takes seconds."""

import os
import signal
from types import FrameType
from typing import NoReturn

from suite.errors import COULD_NOT


def main() -> None:
    """Run the command that was typed; Ctrl-C, once or many times, ends it with one sentence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
    from suite.cli.app import main as run_command  # not before: it takes a while
    from suite.execution.interrupts import exit_at_signals  # likewise

    try:
        run_command()
    except SystemExit as end:
        exit_at_signals(end.code if isinstance(end.code, int) else 0)
        raise
    except KeyboardInterrupt:  # after the command's last word
        _end_at_once()


def _end_at_once(number: int = signal.SIGINT, frame: FrameType | None = None) -> NoReturn:
    """There is nothing to put in order."""
    try:
        os.write(2, b"error: Interrupted.\n")
    finally:
        os._exit(COULD_NOT)
