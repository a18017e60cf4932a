"""Entries: runs that differ in seed only."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from reference_impls.contract import ASYNCHRONOUS, WAITING
from suite.files.json_file import flatten

OF_ONE_RUN = ("seed", "output_directory", "cache_cleared", "old_task")
"""Keys of a request in which the runs of an entry may differ; the old task is evaluated where its
data set is prepared."""

OF_SPLIT = ("timing", "division", "steps")
"""Keys in which a run that shows how a step divides may differ from the entry in asynchronous
timing that has the score."""


def entry_settings(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request without what may differ between the runs of an entry, nested keys joined by
    dots."""
    return {
        name: repr(value)
        for name, value in flatten(
            {key: value for key, value in request.items() if key not in OF_ONE_RUN}
        )
    }


def entry_key(request: Mapping[str, Any]) -> str:
    """Equal for the requests of one entry."""
    return repr(sorted(entry_settings(request).items()))


def timing_of(request: Mapping[str, Any]) -> Any:
    """The timing of a request; older ones do not name it, and waited in every step."""
    return request.get("timing", WAITING)


def split_key(request: Mapping[str, Any]) -> str:
    """Equal for the requests of an entry in asynchronous timing and of a run in synchronised timing
    that shows how its steps divide."""
    return entry_key({name: value for name, value in request.items() if name not in OF_SPLIT})


def split_keys(requests: Iterable[Mapping[str, Any]]) -> set[str]:
    """Those of the requests in asynchronous timing, whose entries have the score."""
    return {split_key(each) for each in requests if timing_of(each) == ASYNCHRONOUS}


def is_split(request: Mapping[str, Any], keys: Collection[str]) -> bool:
    """Whether a run only shows how the steps of an entry with one of these split keys divide."""
    return timing_of(request) == WAITING and split_key(request) in keys
