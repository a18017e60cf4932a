"""Edits that several lies share: time taken out, steps cut, everything scaled, epochs cut off."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from proofs.outsider.edits import PARTS
from proofs.outsider.third_list.forged_copy import ForgedCopy

Array = npt.NDArray[Any]
CPU_CHANNELS = (("cpu", "process_tree"), ("counters", "task_clock.count"))


def without(intervals: list[tuple[int, int]]) -> Callable[[Any], Any]:
    """The map of times that takes out intervals (ns), which do not overlap."""
    intervals = sorted(intervals)
    starts = np.array([start for start, _ in intervals], dtype=np.int64)
    ends = np.array([end for _, end in intervals], dtype=np.int64)

    def moved(times: Any) -> Any:
        times = np.asarray(times, dtype=np.int64)
        gone = (
            np.clip(np.minimum(times[:, None], ends) - starts, 0, None).sum(axis=1)
            if len(starts) < 200
            else _gone(times, starts, ends)
        )
        return times - gone

    return moved


def _gone(times: Array, starts: Array, ends: Array) -> Array:
    total = np.concatenate([[0], np.cumsum(ends - starts)])
    at = np.searchsorted(starts, times, side="right")
    inside = np.where(at > 0, np.clip(ends[np.maximum(at - 1, 0)] - times, 0, None), 0)
    return np.asarray(total[at] - inside, dtype=np.int64)


def take_out(copy: ForgedCopy, intervals: list[tuple[int, int]], cpu: bool = True) -> None:
    """Take intervals out of log, steps and readings; readings keep their own schedule, with values
    of the moments they then stand for."""
    moved = without([interval for interval in intervals if interval[1] > interval[0]])
    resample(copy, moved, cpu)
    copy.retime(moved, readings=False)


def remove_time(copy: ForgedCopy, part: str, saved: Array) -> None:
    """Make a part of each step of a single rank shorter by ``saved`` seconds, and take that time
    out of everything."""
    before = (
        copy.steps[["fetch_stall_s", "copy_s", "compute_s", "communication_s"]]
        .to_numpy()
        .cumsum(axis=1)
    )
    end = before[:, PARTS.index(part)]
    starts = copy.steps["start_ns"].to_numpy(np.int64)
    intervals = [
        (int(s + (e - d) * 1e9), int(s + e * 1e9))
        for s, e, d in zip(starts, end, saved, strict=True)
        if d > 0
    ]
    kept = copy.steps[PARTS].copy()
    kept[part] -= saved
    moved = without(intervals)
    resample(copy, moved)
    copy.retime(moved, readings=False, steps=False)
    copy.steps["start_ns"] = moved(starts)
    copy.steps[PARTS] = kept


def resample(copy: ForgedCopy, moved: Callable[[Any], Any], cpu: bool = True) -> None:
    """Readings at the times they had, as many as fit, with the values of the moments that are now
    there; CPU time shrinks as time does."""
    old_end = int(copy.readings["t_ns"].max())
    grid = np.linspace(int(copy.readings["t_ns"].min()), old_end, 20001).astype(np.int64)
    new = moved(grid)
    end = int(new[-1])
    frame = copy.readings[copy.readings["t_ns"] <= end].copy()
    times = frame["t_ns"].to_numpy(np.int64)
    source_times = np.interp(times, new, grid)
    values = frame["value"].to_numpy().copy()
    for (source, channel), group in copy.readings.groupby(["source", "channel"]):
        mask = ((frame["source"] == source) & (frame["channel"] == channel)).to_numpy()
        old_times, old_values = group["t_ns"].to_numpy(np.float64), group["value"].to_numpy()
        if source in ("disk", "network", "counters") or (source, channel) in CPU_CHANNELS:
            found = np.interp(source_times[mask], old_times, old_values)
            if channel in ("process_tree", "task_clock.count") and cpu:
                rate = np.diff(old_values) / np.diff(old_times)
                middles = moved(old_times[1:].astype(np.int64)) - moved(
                    old_times[:-1].astype(np.int64)
                )
                own = np.concatenate([[old_values[0]], old_values[0] + np.cumsum(rate * middles)])
                found = np.interp(times[mask], moved(old_times.astype(np.int64)), own)
            digits = 2 if channel == "process_tree" else 6 if channel == "busy" else 0
            values[mask] = np.maximum.accumulate(np.round(found, digits)) if mask.any() else found
        else:
            nearest = np.searchsorted(old_times, source_times[mask]).clip(0, len(old_times) - 1)
            values[mask] = old_values[nearest]
    frame["value"] = values
    # read at the ends of epochs: these readings move with them
    asked = copy.readings[copy.readings["source"] == "page-cache"].copy()
    asked["t_ns"] = moved(asked["t_ns"].to_numpy(np.int64))
    asked = asked.drop_duplicates(["channel", "t_ns"], keep="first")
    frame = pd.concat([frame[frame["source"] != "page-cache"], asked]).sort_values(
        "t_ns", kind="stable"
    )
    copy.readings = frame.reset_index(drop=True)
    copy.restate_meters()


def scale(copy: ForgedCopy, factor: float, cpu: bool = True) -> None:
    """All times from the log's first event on, shorter by a factor; readings keep their
    schedule."""
    first = int(copy.events[0]["metadata"]["mono_ns"])

    def moved(times: Any) -> Any:
        times = np.asarray(times, dtype=np.int64)
        return np.where(times > first, first + ((times - first) * factor).astype(np.int64), times)

    resample(copy, moved, cpu)
    copy.retime(moved, readings=False)


def end_after(copy: ForgedCopy, epoch: int, status: str = "success") -> None:
    """Cut everything after an epoch's evaluation off; the run ends there."""
    stop = next(
        event for event in copy.all("eval_stop") if event["metadata"]["epoch_num"] == epoch
    )["metadata"]["mono_ns"]
    old_stop = copy.window()[1]
    copy.steps = copy.steps[copy.steps["epoch"] <= epoch].reset_index(drop=True)
    keys = [(event["key"], event["metadata"].get("epoch_num")) for event in copy.events]
    after, end = keys.index(("eval_stop", epoch)) + 1, keys.index(("run_stop", None))
    copy.events[after:end] = [
        event for event in copy.events[after:end] if event["metadata"].get("epoch_num") == epoch
    ]
    copy.event("run_stop")["metadata"]["status"] = status
    take_out(copy, [(stop + 50_000, old_stop)])


def set_accuracy(copy: ForgedCopy, epoch: int, correct: int) -> None:
    """Another count of correct samples after an epoch."""
    for event in copy.all("eval_accuracy"):
        if event["metadata"]["epoch_num"] == epoch:
            event["metadata"]["correct"] = correct
            event["value"] = correct / copy.request["data"]["eval_samples"]


def replace_times(copy: ForgedCopy, parts: Any) -> None:
    """Give the steps of a single rank other times (columns as PARTS, seconds), and move log, later
    steps and readings accordingly."""
    starts = copy.steps["start_ns"].to_numpy(np.int64)
    old = (copy.steps[PARTS].sum(axis=1).to_numpy() * 1e9).astype(np.int64)
    new = (np.asarray(parts).sum(axis=1) * 1e9).astype(np.int64)
    edges = np.stack([starts, starts + old], axis=1).ravel()
    shift = np.concatenate([[0], np.cumsum(new - old)])
    targets = np.stack([starts + shift[:-1], starts + new + shift[:-1]], axis=1).ravel()
    low, high = int(edges[0]) - 10**12, int(edges[-1]) + 10**12
    edges = np.concatenate([[low], edges, [high]])
    targets = np.concatenate([[low], targets, [high + int(shift[-1])]])

    def moved(times: Any) -> Any:
        times = np.asarray(times, dtype=np.int64)
        at = np.searchsorted(edges, times, side="right").clip(1, len(edges) - 1)
        part = (times - edges[at - 1]) / np.maximum(edges[at] - edges[at - 1], 1)
        return targets[at - 1] + (part * (targets[at] - targets[at - 1])).astype(np.int64)

    resample(copy, moved)
    copy.retime(moved, readings=False, steps=False)
    copy.steps["start_ns"] = starts + shift[:-1]
    copy.steps[PARTS] = np.asarray(parts)
