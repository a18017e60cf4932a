"""When the harness worked for a run outside the training: from its process's start to the closed
bundle (``lifetime`` in run.json)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from suite.files.schema import Count, from_plain

CLOCK = "CLOCK_MONOTONIC"
SOURCE = (
    "process_ns: from starttime in /proc/self/stat (clock ticks); begin_ns: time at which work on"
    " the run began, earlier by the process's CPU time until then if the process was started for"
    " this run (but not before process_ns); all others: read from the clock"
)
MAX_IDLE, MAX_NS = 100, 2**63


@dataclass(frozen=True)
class Lifetime:
    """Moments on CLOCK_MONOTONIC, ns.

    The harness worked for the run from ``begin_ns`` to ``closed_ns``, but for ``idle_ns``: windows
    (start, stop) in which it waited on an idle machine. ``process_ns`` is when its process was
    started; None where the process was not started for this run, or that is unknown. A program that
    waited and then executed `suite` in its own place was started before ``begin_ns``. ``closed_ns``
    is when tables and figures were written; only what the manifest seals can say so, and the
    sealing itself, a stamp of a witness and the end of the process come after it. It is None where
    the process that ran the run did not close it.
    """

    process_ns: Count | None
    begin_ns: Count
    idle_ns: Annotated[tuple[tuple[Count, Count], ...], Meta(max_length=MAX_IDLE)]
    closed_ns: Count | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for run.json."""
        return {
            "clock": CLOCK,
            "source": SOURCE,
            "process_ns": self.process_ns,
            "begin_ns": self.begin_ns,
            "idle_ns": [list(window) for window in self.idle_ns],
            "closed_ns": self.closed_ns,
        }


def read_lifetime(values: Mapping[str, Any] | None) -> Lifetime | None:
    """The lifetime in run.json; None in bundles of earlier versions. Raises ValueError for one that
    the suite does not write."""
    if values is None:
        return None
    read = {name: value for name, value in values.items() if name not in ("clock", "source")}
    found = from_plain(read, Lifetime, "lifetime: ")
    ends = [(start_ns, stop_ns) for start_ns, stop_ns in found.idle_ns]
    if any(stop < start for start, stop in (*ends, (found.begin_ns, found.closed_ns or MAX_NS))):
        raise ValueError("the run's lifetime has a window that ends before it begins")
    return found
