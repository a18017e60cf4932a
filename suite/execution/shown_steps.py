"""How many steps the run in a directory has done: in memory that the harness shares with rank 0
(reference_impls.shown_steps), found by the process that holds the run's lock."""

import os
import re
from pathlib import Path

from reference_impls.shown_steps import COUNT, is_counter
from suite.bundle.layout import LOCK


def find_counter(run: Path) -> Path | None:
    """The count of a run that a process on this machine makes; None where it shows none."""
    try:
        with (run / LOCK).open("rb") as stream:
            holder = re.match(rb"process (\d+) on ([^\n]+)\n", stream.readline(4096))
        if holder is None or holder[2].decode() != os.uname().nodename:
            return None
        opened = Path(f"/proc/{int(holder[1])}/fd").iterdir()
        return next((each for each in opened if is_counter(str(each))), None)
    except (OSError, UnicodeDecodeError):
        return None


def steps_done(counter: Path | None) -> int | None:
    """The count; None once the run is over."""
    try:
        return None if counter is None else int(COUNT.unpack(counter.read_bytes())[0])
    except OSError:
        return None
