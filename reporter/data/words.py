"""Properties of entries in words, for pages."""

from collections.abc import Sequence

import numpy as np

from reporter.data.frames import Row, is_known
from reporter.data.machine_names import machine_title
from suite.catalog.rounds import judging_round
from suite.errors import SuiteError

LAST_MS = 253_370_764_800_000
"""The year 9999: what a calendar can hold."""

NO_ORGANIZATION = "none"
"""The organization of runs that belong to no submission."""
PROPERTIES = {
    "collective": "all-reduce",
    "cpu_model": "CPU",
    "max_epochs": "epochs at most",
    "framework_version": "version",
    "gpu": "GPU",
    "node_machines": "other nodes' machines",
    "implementation": "code",
    "model_trained": "model",
    "nonce_kind": "seeds",
    "optimizer_used": "optimizer",
    "organization": "submitter",
    "own_data": "workload's own data",
    "resumed": "epochs before a resumption",
    "short": "epochs of a short entry (0: not short)",
    "storage_medium": "storage",
    "suite_version": "suite",
}
"""What pages call the properties of entries whose columns have other names."""


def property_name(name: str) -> str:
    """What pages call a property of entries."""
    return PROPERTIES.get(name) or name.replace("_", " ")


def submitter_title(organization: str) -> str:
    """What a submitter is called on pages."""
    return "no submission" if organization == NO_ORGANIZATION else organization


def any_of(values: Sequence[object]) -> str:
    """ "4, 8 or 16"."""
    *others, last = (f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    return f"{', '.join(others)} or {last}" if others else last


def workload_title(name: str, of_round: str | None = None) -> str:
    """The workload's title in this round, or in the current one; its name if this version does not
    know it."""
    try:
        return judging_round(of_round).workload(name).title
    except SuiteError:
        return name


def model_title(workload: str, of_round: str | None = None) -> str:
    """The title of the workload's model: "LeNet-5"."""
    return workload_title(workload, of_round).partition(" on ")[0]


def property_in_words(entry: Row, name: str) -> str:
    """A property of an entry: machine, framework and submitter by their names, yes or no, and
    numbers without needless decimals."""
    value = entry[name]
    if name == "organization":
        return submitter_title(str(value))
    if name == "device":
        return machine_title(entry)
    if name == "framework":
        return str(entry["implementation_name"])
    if not is_known(value):
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def day_of(time_ms: object) -> str:
    """The day of a time in ms since 1970-01-01, UTC; "unknown" where there is none."""
    return _moment(time_ms).partition("T")[0] or "unknown"


def moment_of(time_ms: object) -> str:
    """The second of a time as RFC 3339 writes it, UTC; that of 1970-01-01 where there is none."""
    return f"{_moment(time_ms) or '1970-01-01T00:00:00'}Z"


def _moment(time_ms: object) -> str:
    """A recorded time, UTC; empty for one that no calendar holds. Nothing here reads a clock."""
    if not isinstance(time_ms, int | float) or not is_known(time_ms) or not 0 <= time_ms < LAST_MS:
        return ""
    return str(np.datetime64(int(time_ms), "ms").astype("datetime64[s]"))
