"""Writes a run's trace: one JSON object, event by event, compressed where the name ends with
.gz."""

import gzip
import json
from contextlib import nullcontext
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path

from suite.bundle.manifest import refuse_inside_run
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.files.durable import publish
from suite.metrics.trace_events import RunTrace

SUFFIX = ".trace.json.gz"


@dataclass(frozen=True)
class WrittenTrace:
    """A trace on disk: its file, the number of events, and a sentence for everything of the run
    that it leaves out."""

    path: Path
    events: int
    left_out: tuple[str, ...]


def default_path(run: Path) -> Path:
    """Beside the run directory, which is sealed."""
    return run.resolve().with_name(run.resolve().name + SUFFIX)


def write_trace(run: Path, path: Path) -> WrittenTrace:
    """Write the trace of a run to ``path``; raises SuiteError where the run cannot be read or the
    file not be written."""
    refuse_inside_run(path)
    bundle = Bundle(run)
    bundle.expect_there()
    trace, count = RunTrace(bundle), 0
    try:
        with (
            publish(path) as temporary,
            temporary.open("wb") as raw,
            # without name and time: the same run gives the same bytes
            (
                gzip.GzipFile("", "wb", 6, raw, mtime=0)
                if path.suffix == ".gz"
                else nullcontext(raw)
            ) as packed,
            TextIOWrapper(packed, encoding="utf-8") as stream,
        ):
            stream.write('{"displayTimeUnit":"ms","traceEvents":[')
            for count, event in enumerate(trace.events(), start=1):
                stream.write(
                    ("\n" if count == 1 else ",\n")
                    + json.dumps(event, separators=(",", ":"), allow_nan=False)
                )
            stream.write('\n],"otherData":' + json.dumps(trace.metadata(), allow_nan=False) + "}\n")
    except OSError as error:
        raise SuiteError(
            f"The trace cannot be written to {path} ({error.strerror or error}); choose another"
            " --output."
        ) from error
    return WrittenTrace(path, count, tuple(trace.left_out))
