"""One check by itself, on a context that a test makes up: records in memory, in seconds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from suite.bundle.channels import Channel, Channels
from suite.bundle.layout import PARTS
from suite.bundle.log import Log, LogEvent
from suite.bundle.reader import Bundle, CachedBundle
from suite.bundle.request import read_request
from suite.bundle.steps import StepRecords
from suite.catalog.rounds import judging_round
from suite.compliance.checker import REQUEST_FILE
from suite.compliance.node_context import NodeContext
from suite.compliance.registry import all_checks
from suite.compliance.rule import BundleContext, RequestContext, Violation

NS = 10**9
NOTHING = Channels((), np.empty(0, np.int64))
At = tuple[str, float | None, float] | tuple[str, float | None, float, Mapping[str, Any]]
"""An event: its key, and its times on the monotonic and on the wall clock in s; further metadata,
of which ``value`` becomes the event's."""


def context_of(path: Path) -> BundleContext:
    """What the checks of a bundle read."""
    bundle = CachedBundle(path)
    run = bundle.run()
    judged_by, request = judging_round(run.round), read_request(run, REQUEST_FILE)
    return BundleContext(bundle, run, request, judged_by.workload(request.workload), judged_by)


def request_of(context: BundleContext) -> RequestContext:
    """What the checks of its request read."""
    return RequestContext(context.request, context.workload, context.round, REQUEST_FILE)


def found(check: str, context: object) -> list[Violation]:
    """What a check finds."""
    find: Callable[[Any], Iterable[Violation]] = next(
        each.find for _, each in all_checks() if each.id == check
    )
    with np.errstate(all="ignore"):  # values may be impossible
        return list(find(context))


def varied(context: BundleContext, **parts: Any) -> BundleContext:
    """The context with other records in place of those that it reads; of ``run`` and ``request``
    with other values, nested as they are."""
    of_context = {
        name: _changed(getattr(context, name), parts.pop(name))
        for name in ("run", "request", "bundle")
        if name in parts
    }
    other = replace(context, **of_context)
    vars(other).update(parts)
    return other


def _changed(record: Any, changes: Any) -> Any:
    if not isinstance(changes, dict) or isinstance(record, Mapping | None):
        return changes
    values = {name: _changed(getattr(record, name), value) for name, value in changes.items()}
    changed = replace if is_dataclass(record) else type(record)._replace
    return changed(record, **values)


def log(*events: At) -> Log:
    """A log of these events."""
    lines = []
    for line, (key, mono_s, wall_s, *more) in enumerate(events, start=1):
        metadata = dict(more[0]) if more else {}
        value = metadata.pop("value", None)
        if mono_s is not None:
            metadata["mono_ns"] = round(mono_s * NS)
        lines.append(LogEvent(line, wall_s * 1000, "", key, value, metadata))
    return Log(Path("log.txt"), tuple(lines), ())


def steps(epoch: Any, start_s: Any = 0.0, **columns: Any) -> StepRecords:
    """Steps in these epochs that begin then: by default the whole mini-batches of one rank, one
    after the other, with no time for any part. Each value is of all steps, or a list of one each;
    ``step`` 0 numbers them."""
    given: dict[str, Any] = {"rank": 0, "step": 0, "samples": 32, "fetch_stall_s": 0, "copy_s": 0}
    given |= {"compute_s": 0, "communication_s": 0, "loss": 1.0, **columns, "epoch": epoch}
    given["start_ns"] = np.round(np.asarray(start_s) * NS)
    length = max(np.size(value) for value in given.values())
    if np.size(given["step"]) == 1 and given["step"] == 0:
        given["step"] = np.arange(1, length + 1)
    kinds = {field.name: float if "loss" in field.name else int for field in fields(StepRecords)}
    kinds |= dict.fromkeys(PARTS, float)
    return StepRecords(
        **{name: np.resize(np.asarray(given[name], kind), length) for name, kind in kinds.items()}
    )


def channel(
    name: str, unit: str, times_s: Sequence[float] | Any, values: Sequence[float] | Any
) -> Channel:
    """The channel "source name"."""
    source, _, own = name.partition(" ")
    read = np.round(np.asarray(times_s) * NS).astype(np.int64), np.asarray(values, float)
    return Channel(source, own, unit, 1, 0, len(read[0]), lambda: read)


def channels(*given: Channel) -> Channels:
    """A table of these."""
    return Channels(given, np.concatenate([[0], *(one.t_ns for one in given)])[1:].astype(np.int64))


def node(read: Channels, idle: Channels = NOTHING, **others: Any) -> NodeContext:
    """A node whose recorder was there to the end, on rank 0's clock."""
    given = {
        "file": "readings.parquet",
        "channels": read,
        "idle_file": "baseload.parquet",
        "idle": idle,
        "is_on_clock": True,
        "on_own_clock": read,
        "is_whole": True,
        "meters": [],
        "meters_file": "run.json",
        "system": {},
        "system_file": "system.json",
    }
    return NodeContext(**{**given, **others})


def bundle(*logs: Log) -> Bundle:
    """A bundle with these logs and nothing else."""
    return cast("Bundle", SimpleNamespace(log=lambda rank=0: logs[rank]))
