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
            else f"{where} has no closed run; close a run with `suite finish`."
        )
    for sentence in sentences:
        print(f"left out: {sentence}", file=sys.stderr)
    return frames
