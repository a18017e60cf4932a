"""What the page of a run shows of its bundle's files, read once: the process that checks the bundle
hands it to the one that renders the page."""

import pickle
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reporter.data.timeline import Timeline, read_timeline
from suite.bundle.layout import SYSTEM
from suite.bundle.log import Log
from suite.bundle.reader import Bundle, RunRecord
from suite.metrics.summary import read_summary


@dataclass(frozen=True)
class RunFiles:
    """The files' contents; ``summary`` and ``system`` are the objects of their JSON files."""

    record: RunRecord
    log: Log
    summary: Mapping[str, Any]
    system: Mapping[str, Any]
    timeline: Timeline

    def packed(self) -> bytes:
        """For another process of this report; thousands of runs wait for their pages."""
        return zlib.compress(pickle.dumps(self), 1)


def read_run_files(bundle: Bundle) -> RunFiles:
    """Read them; raises FileError for a file that cannot be read."""
    log = bundle.log()
    timeline = read_timeline(bundle, log)
    return RunFiles(bundle.run(), log, read_summary(bundle), bundle.json(SYSTEM), timeline)


def unpacked_run_files(packed: bytes) -> RunFiles:
    """What :meth:`RunFiles.packed` packed."""
    files: RunFiles = pickle.loads(zlib.decompress(packed))  # noqa: S301  a process of this report
    return files
