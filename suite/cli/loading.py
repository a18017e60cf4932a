"""Reads runs for commands that show their figures."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suite import api
from suite.compliance.finding import printable
from suite.errors import SuiteError

if TYPE_CHECKING:
    from reporter.data.frames import Frames


def expect_runs(paths: Sequence[Path]) -> None:
    """Raise SuiteError for a path without a run: before they are read, and before an output that
    exists is refused."""
    from reporter.data.load import found_below  # start-up: pandas

    found_below(paths)


def load_runs(paths: Sequence[Path]) -> "Frames":
    """The runs at or below the paths; says which cannot be read. Raises SuiteError where none
    can."""
    frames = api.load(paths)
    broken = frames.broken.to_dict("records")
    sentences = [printable(f"{each['place']}: {each['reason']}") for each in broken]
    if not len(frames.runs):
        where = ", ".join(map(str, paths))
        raise SuiteError(
            f"{where} has no run that can be read: {sentences[0]}"
            if sentences
            else f"{where} has no sealed run; `suite finish` seals a run."
        )
    for sentence in sentences:
        print(f"left out: {sentence}", file=sys.stderr)
    return frames
