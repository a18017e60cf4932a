"""A run as events of Chrome's Trace Event Format, which Perfetto and chrome://tracing draw: nodes,
ranks, phases, steps and readings on one clock.

Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. A process
of the trace is a node, a thread is a rank, a counter is a channel of a meter. Times are
microseconds on rank 0's monotonic clock since the first record of the run; the ranks' and the
nodes' clocks are converted by the logged offsets. Events are made one table batch after the other,
whatever the run's length.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reference_impls.contract import NS_PER_S, log_name
from suite.bundle.arrays import Times
from suite.bundle.attached import SOURCE as ATTACHED
from suite.bundle.channels import Channel
from suite.bundle.log import Log, LogEvent
from suite.bundle.reader import Bundle
from suite.bundle.steps import StepRecords
from suite.errors import FileError
from suite.metrics.node_readings import (
    UNKNOWN_CLOCK,
    NodeReadings,
    clock_conversion,
    machine_readings,
    node_readings,
)
from suite.metrics.power_totals import counted_rules

NS_PER_US = 1000
MAX_RANKS = 10_000
PHASES = {
    "init": "initialisation",
    "run": "run",
    "epoch": "epoch",
    "eval": "evaluation",
    "uncounted": "uncounted",
}
"""Pairs of log events, ``<key>_start`` and ``<key>_stop``, and what the trace calls the time
between them."""
PARTS = {
    "fetch_stall_s": "fetch",
    "copy_s": "copy",
    "compute_s": "compute",
    "communication_s": "exchange",
}
"""Parts of a step in their order, and what the trace calls them. The exchange is what the backward
pass does not hide, of all buckets together; each bucket's mean and longest exchange of an epoch are
logged, and are the epoch's arguments."""

Event = dict[str, Any]


@dataclass(frozen=True)
class _Thread:
    """A rank in the trace: its process and thread numbers, and the conversion of its clock to rank
    0's."""

    pid: int
    tid: int
    convert: Callable[[Times], Times]


class RunTrace:
    """The trace of a bundle; raises FileError for a bundle whose log, nodes or tables cannot be
    read."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle, self._log = bundle, bundle.log()
        self._nodes = _nodes(bundle, self._log)
        self._threads, self.left_out = self._placed()
        self._zero_ns = self._first_ns()

    def metadata(self) -> dict[str, Any]:
        """What the format's ``otherData`` holds: the run, the clock, and what was left out."""
        start = self._log.first("run_start")
        wall = (
            None
            if start is None or start.mono_ns is None
            else start.time_ms - (start.mono_ns - self._zero_ns) / 1e6
        )
        return {
            "run_id": self._bundle.run().run_id,
            "clock": "CLOCK_MONOTONIC of rank 0's node",
            "zero_ns": self._zero_ns,
            "zero_time_of_day_ms": wall,
            "left_out": self.left_out,
        }

    def events(self) -> Iterator[Event]:
        """Every event: names first, then each rank's phases and steps, then the readings of each
        node."""
        yield from self._names()
        for rank, thread in self._threads.items():
            yield from self._phases(rank, thread)
        for records in self._bundle.step_batches():
            yield from self._steps(records)
        for place, node in enumerate(self._nodes, start=1):
            if node.reason is None:
                for channel in (*node.idle, *node.channels):
                    yield from self._counters(place, channel)

    def _placed(self) -> tuple[dict[int, _Thread], list[str]]:
        """The ranks whose clock is known, and a sentence for everything that is left out."""
        placed: dict[int, _Thread] = {}
        left_out = [
            f"readings of {node.node}: {node.reason}"
            for node in self._nodes
            if node.reason is not None
        ]
        for place, node in enumerate(self._nodes, start=1):
            for rank in node.ranks:
                convert = clock_conversion(self._log, rank)
                if convert is None:
                    left_out.append(f"rank {rank}: {UNKNOWN_CLOCK}")
                else:
                    placed[rank] = _Thread(place, rank + 1, convert)
        return placed, left_out

    def _first_ns(self) -> int:
        """The earliest of the first log event and the nodes' first readings; those of an attached
        trace are the last of their table."""
        first_event = next(
            (event.mono_ns for event in self._log.events if event.mono_ns is not None), None
        )
        begun = (
            times_ns
            for node in self._nodes
            if node.reason is None
            for times_ns in (
                node.idle.head_ns,
                node.channels.head_ns,
                *(channel.t_ns for channel in node.channels.of_source(ATTACHED)),
            )
        )
        moments = [
            *(int(times_ns.min()) for times_ns in begun if len(times_ns)),
            *([] if first_event is None else [first_event]),
        ]
        return min(moments, default=0)

    def _us(self, t_ns: int) -> float:
        return (t_ns - self._zero_ns) / NS_PER_US

    def _names(self) -> Iterator[Event]:
        """The names of processes and threads, and their order."""
        for place, node in enumerate(self._nodes, start=1):
            yield _metadata_event("process_name", place, 0, name=node.node)
            yield _metadata_event("process_sort_index", place, 0, sort_index=place)
        for rank, thread in self._threads.items():
            yield _metadata_event("thread_name", thread.pid, thread.tid, name=f"rank {rank}")
            yield _metadata_event("thread_sort_index", thread.pid, thread.tid, sort_index=rank)

    def _phases(self, rank: int, thread: _Thread) -> Iterator[Event]:
        """A rank's phases; one that was begun and not ended lasts until the rank's last event."""
        try:
            log = self._log if rank == 0 else self._bundle.log(rank)
        except FileError:
            self.left_out.append(f"phases of rank {rank}: {log_name(rank)} cannot be read")
            return
        moments = [event for event in log.events if event.mono_ns is not None]
        buckets = {event.epoch: event.value for event in log.all("bucket_times")}
        begun: dict[str, LogEvent] = {}
        for event in moments:
            phase, _, end = event.key.rpartition("_")
            if phase in PHASES and end == "start":
                begun[phase] = event
            elif phase in begun and end == "stop":
                yield self._phase(thread, phase, begun.pop(phase), event, buckets)
        for phase, start in begun.items():
            yield self._phase(thread, phase, start, moments[-1], buckets)

    def _phase(
        self,
        thread: _Thread,
        phase: str,
        start: LogEvent,
        stop: LogEvent,
        buckets: Mapping[int | None, Any],
    ) -> Event:
        """The time from one event to another; an epoch has the logged times of its buckets'
        exchanges."""
        begin_ns, end_ns = thread.convert(
            np.array([start.mono_ns, stop.mono_ns], np.int64)
        ).tolist()
        name = PHASES[phase] + (f" {start.epoch}" if start.epoch is not None else "")
        known = (
            {"buckets": buckets[start.epoch]} if phase == "epoch" and start.epoch in buckets else {}
        )
        return {
            **self._complete(thread, name, "phase", begin_ns, end_ns),
            **({"args": known} if known else {}),
        }

    def _steps(self, records: StepRecords) -> Iterator[Event]:
        """The steps of a batch of the table, each with its parts one after the other."""
        for rank, of_rank in records.by_rank():
            thread = self._threads.get(rank)
            if thread is None:
                continue
            bounds_ns = _bounds_ns(of_rank, thread)
            for place in range(len(of_rank)):
                moments_ns = bounds_ns[:, place].tolist()
                loss = float(of_rank.loss[place])
                known = {
                    "step": int(of_rank.step[place]),
                    "epoch": int(of_rank.epoch[place]),
                    "samples": int(of_rank.samples[place]),
                }
                args = {**known, **({"loss": loss} if np.isfinite(loss) else {})}
                if np.isfinite(of_rank.parts_s[:, place]).all():  # asynchronous timing has no end
                    yield {
                        **self._complete(
                            thread, f"step {known['step']}", "step", moments_ns[0], moments_ns[-1]
                        ),
                        "args": args,
                    }
                for (column, name), start_ns, stop_ns in zip(
                    PARTS.items(), moments_ns, moments_ns[1:], strict=False
                ):
                    if np.isfinite(getattr(of_rank, column)[place]):
                        yield self._complete(thread, name, "part", start_ns, stop_ns)

    def _counters(self, place: int, channel: Channel) -> Iterator[Event]:
        """The readings of a channel as a counter, without those that are not numbers."""
        name = f"{channel.source} {channel.name}"
        in_time = channel.in_time
        category = "power" if channel.unit == "W" else "reading"
        for t_ns, value in zip(in_time.t_ns, in_time.values, strict=True):
            if np.isfinite(value):
                yield {
                    "name": name,
                    "cat": category,
                    "ph": "C",
                    "ts": self._us(int(t_ns)),
                    "pid": place,
                    "tid": 0,
                    "args": {channel.unit or "value": float(value)},
                }

    def _complete(
        self, thread: _Thread, name: str, category: str, begin_ns: int, end_ns: int
    ) -> Event:
        """A complete event: something that a rank did from one moment to another."""
        ends = {"ts": self._us(begin_ns), "dur": max(0, end_ns - begin_ns) / NS_PER_US}
        return {
            "name": name,
            "cat": category,
            "ph": "X",
            **ends,
            "pid": thread.pid,
            "tid": thread.tid,
        }


def _bounds_ns(records: StepRecords, thread: _Thread) -> Times:
    """Begin of each step and ends of its parts, shape (5, steps), on rank 0's clock. Each is
    converted, so that a step stays within its epoch."""
    parts_ns = np.nan_to_num(records.parts_s * NS_PER_S).round().astype(np.int64)
    bounds_ns = np.vstack([records.start_ns, records.start_ns + np.cumsum(parts_ns, axis=0)])
    return thread.convert(bounds_ns.ravel()).reshape(bounds_ns.shape)


def _nodes(bundle: Bundle, log: Log) -> tuple[NodeReadings, ...]:
    """The run's nodes; a run on one machine has one, with all ranks."""
    found = node_readings(bundle, log, counted_rules(bundle))
    if found:
        return found
    parallel, names = bundle.run().request.get("parallel"), log.value("nodes_of_ranks")
    ranks = parallel.get("ranks") if isinstance(parallel, dict) else None
    ranks = ranks if isinstance(ranks, int) and 0 < ranks <= MAX_RANKS else 1
    name = str(names[0])[:100] if isinstance(names, list) and names else "this machine"
    return (machine_readings(bundle, name, tuple(range(ranks))),)


def _metadata_event(kind: str, pid: int, tid: int, **args: object) -> Event:
    """A metadata event; it has no time."""
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": args}
