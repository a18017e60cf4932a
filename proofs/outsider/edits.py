"""Helpers that every list shares: what a lie is, and edits that keep several records of a bundle in
step.

Times are in seconds after `run_start` unless a name ends in `_ns` or `_ms`. Everything works in
place; the caller saves.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from reference_impls.schedules import SCHEDULES
from suite.bundle.data_record import DATA
from suite.catalog.meter_choice import POWER_SCHEDULES
from suite.errors import SuiteError
from suite.metrics.power_totals import write_power_rules
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.rank_log_edits import read_logs, write_logs

ERROR, EDITED, FABRICATED = "error", "edited record", "fabricated run"
NOTHING = "nothing in the bundle"
PARTS = ["fetch_stall_s", "copy_s", "compute_s", "communication_s"]


@dataclass(frozen=True)
class Lie:
    name: str  # plain English, one line: what was done
    level: str  # "error" | "edited record" | "fabricated run"
    gain: str  # what the cheat gains, "" for an error
    contradicts: str  # which records contradict each other after the edit
    change: Callable  # edits in place; the caller saves and re-seals
    needs: str = "rich"  # "rich" | "two_ranks" | "real" | "any" | "submission" | "stall_folder"
    sealed: bool = True  # False: files are edited and not saved by the caller


def register(lies: list[Lie], needs: str = "rich", sealed: bool = True) -> tuple[Callable, ...]:
    """Three decorators, `error(name, contradicts)`, `edited(name, gain, contradicts)` and
    `fabricated(name, gain, contradicts)`, that put the function under them into the list."""

    def put(level, name, gain, contradicts=NOTHING, needs=needs, sealed=sealed):
        return lambda change: lies.append(
            Lie(name, level, gain, contradicts, change, needs, sealed)
        )

    return (
        lambda name, *more, **other: put(ERROR, name, "", *more, **other),
        partial(put, EDITED),
        partial(put, FABRICATED),
    )


# Logs
# --------------------------------------------------------------------------------------------------


def in_every_log(b: EditableBundle, edit: Callable[[list[dict]], None]) -> None:
    logs = read_logs(b)
    for events in logs.values():
        edit(events)
    write_logs(b, logs)


def log_value(b: EditableBundle, key: str, value) -> None:
    def edit(events):
        for event in events:
            if event["key"] == key:
                event["value"] = value

    in_every_log(b, edit)


def ask(b: EditableBundle, path: str, value) -> None:
    """Set one entry of the request, `path` with dots."""
    *folders, last = path.split(".")
    place = b.request
    for folder in folders:
        place = place[folder]
    place[last] = value


def state(b: EditableBundle, path: str, key: str, value) -> None:
    """The same value in the request and in every rank's log."""
    ask(b, path, value)
    log_value(b, key, value)


def mono(event: dict) -> int:
    return event["metadata"]["mono_ns"]


def window(b: EditableBundle) -> tuple[int, int]:
    return mono(b.event("run_start")), mono(b.event("run_stop", -1))


def of_epoch(events: Iterable[dict], key: str, epoch: int) -> dict:
    return next(e for e in events if e["key"] == key and e["metadata"].get("epoch_num") == epoch)


def correct_counts(b: EditableBundle) -> list[int]:
    return [e["metadata"]["correct"] for e in b.events if e["key"] == "eval_accuracy"]


def set_correct(b: EditableBundle, epoch: int, correct) -> None:
    def edit(events):
        event = of_epoch(events, "eval_accuracy", epoch)
        event["metadata"]["correct"] = correct
        event["value"] = correct / b.request["data"]["eval_samples"]

    in_every_log(b, edit)


def set_status(b: EditableBundle, status: str) -> None:
    def edit(events):
        for event in events:
            if event["key"] == "run_stop":
                event["metadata"]["status"] = status

    in_every_log(b, edit)


# Readings
# --------------------------------------------------------------------------------------------------


def offset_of(b: EditableBundle, path: Path) -> int:
    """The clock offset of the node that wrote this table."""
    parts = path.name.split(".")
    if not parts[1].startswith("node"):
        return 0
    node = int(parts[1].removeprefix("node"))
    return next((e["value"][node][0] for e in b.events if e["key"] == "clock_offsets_ns"), 0)


def each_table(
    b: EditableBundle, edit: Callable[[pd.DataFrame, int], pd.DataFrame], readings=True, idle=True
) -> None:
    """Edit readings and idle readings of every node: edit(table, clock offset) gives the new
    table."""
    if readings:
        b.readings = edit(b.readings, 0)
    paths = sorted(b.path.glob("readings.node*.parquet")) if readings else []
    paths += sorted(b.path.glob("baseload*.parquet")) if idle else []
    for path in paths:
        edit(pd.read_parquet(path), offset_of(b, path)).reset_index(drop=True).to_parquet(
            path, index=False
        )


def read_json(b: EditableBundle, name: str):
    return json.loads((b.path / name).read_text())


def write_json(b: EditableBundle, name: str, content) -> None:
    (b.path / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def recount(b: EditableBundle) -> None:
    """Write into the meters' records how many readings there are now."""

    def count(meters, table):
        counts = table.groupby("source").size()
        for meter in meters:
            meter["readings"] = (
                len(table) if meter["name"] == "recorder" else int(counts.get(meter["name"], 0))
            )

    count(b.run["meters"], b.readings)
    if (b.path / "nodes.json").exists():
        nodes = read_json(b, "nodes.json")
        for k, node in enumerate(nodes["nodes"]):
            table = b.path / f"readings.node{k}.parquet"
            if table.exists():
                count(node["meters"], pd.read_parquet(table))
        write_json(b, "nodes.json", nodes)


def meter(b: EditableBundle, name: str) -> dict:
    return next(m for m in b.run["meters"] if m["name"] == name)


def rows(
    b: EditableBundle, source: str, channel: str = "", table: pd.DataFrame | None = None
) -> pd.Series:
    """Which readings are of this source and of channels that begin like this."""
    table = b.readings if table is None else table
    return (table["source"] == source) & table["channel"].str.startswith(channel)


def change_values(
    b: EditableBundle, source: str, channel: str, edit: Callable[[np.ndarray], np.ndarray]
) -> None:
    which = rows(b, source, channel)
    b.readings["value"] = b.readings["value"].astype(float)
    b.readings.loc[which, "value"] = edit(b.readings.loc[which, "value"].to_numpy())


def drop_rows(b: EditableBundle, which: pd.Series, counted: bool = True) -> None:
    b.readings = b.readings[~which].reset_index(drop=True)
    if counted:
        recount(b)


def add_channel(
    b: EditableBundle,
    source: str,
    channel: str,
    unit: str,
    value: Callable[[np.ndarray], np.ndarray],
    period=1.0,
) -> None:
    """A channel that was read once a period from the run's start on, with its meter's record."""
    start, stop = window(b)
    seconds = np.arange(0.0, (stop - start) / 1e9, period)
    new = pd.DataFrame(
        {
            "t_ns": start + (seconds * 1e9).astype("int64") + 700,
            "source": source,
            "channel": channel,
        }
    )
    new["value"] = np.asarray(value(seconds), dtype=float) + np.zeros(len(seconds))
    new["unit"] = unit
    b.readings = (
        pd.concat([b.readings, new])
        .sort_values("t_ns", kind="stable")
        .reset_index(drop=True)
        .astype({"t_ns": "int64"})
    )
    if not any(m["name"] == source for m in b.run["meters"]):
        b.run["meters"].append(
            {
                **b.run["meters"][0],
                "name": source,
                "period_s": period,
                "available": True,
                "reason": "",
            }
        )
    meter(b, source).update(available=True, reason="")
    recount(b)
    known_power_rules(b)


def is_count(channel: str) -> bool:
    """Whether a channel only ever rises."""
    ends = (".count", "_bytes", "_operations", "busy", ".sent", ".received", "process_tree")
    return channel.endswith(ends)


def resample(
    b: EditableBundle, ratio: float = 1.0, longer_ns: int = 0, periods: dict | None = None
) -> None:
    """Read every channel anew at the periods that it has, or at these: counts grow by `ratio`,
    tables end `longer_ns` later.

    With a ratio of 1 the same totals are spread over the new time, as somebody would who scales a
    run by hand.
    """

    def edit(table, _):
        pieces = []
        for _, one in table.groupby(["source", "channel"], sort=False):
            times = one["t_ns"].to_numpy()
            if len(times) < 2:
                pieces.append(one)
                continue
            period = (periods or {}).get(
                (one["source"].iloc[0], one["channel"].iloc[0]), np.median(np.diff(times))
            )
            length = times[-1] - times[0] + longer_ns
            new = np.arange(0, max(length, 0) + period / 2, period)
            values = np.interp(
                new * ((times[-1] - times[0]) / max(length, 1)), times - times[0], one["value"]
            )
            if is_count(one["channel"].iloc[0]):
                values = values[0] + (values - values[0]) * ratio
                if one["unit"].iloc[0] not in ("s",):
                    values = np.round(values)
            first = one.iloc[0]
            pieces.append(
                pd.DataFrame(
                    {
                        "t_ns": times[0] + new.astype("int64"),
                        "source": first["source"],
                        "channel": first["channel"],
                        "value": values,
                        "unit": first["unit"],
                    }
                )
            )
        return (
            pd.concat(pieces)
            .sort_values("t_ns", kind="stable")
            .reset_index(drop=True)
            .astype({"t_ns": "int64"})
        )

    each_table(b, edit, idle=False)
    recount(b)


def periods_now(b: EditableBundle) -> dict:
    """The time between readings of every channel, for `resample`, to be taken before times are
    scaled."""
    return {
        key: float(np.median(np.diff(one["t_ns"])))
        for key, one in b.readings.groupby(["source", "channel"])
        if len(one) > 1
    }


def scale_power(
    b: EditableBundle, edit: Callable[[np.ndarray], np.ndarray], run=True, idle=False
) -> None:
    def change(table, _):
        watts = table["unit"] == "W"
        table.loc[watts, "value"] = edit(table.loc[watts, "value"].to_numpy(dtype=float))
        return table

    each_table(b, change, readings=run, idle=False)
    if idle:
        each_table(b, change, readings=False, idle=True)


def power_rule(b: EditableBundle, rule: str = "usb meter", **changes) -> None:
    """Change the rule with this name."""
    power = read_json(b, "power.json")
    next(each for each in power["rules"] if each["name"] == rule).update(changes)
    write_json(b, "power.json", power)


def known_power_rules(b: EditableBundle) -> None:
    """The rulebook's rules for the meters that are in the readings of any node, as the suite writes
    them."""
    tables = [
        b.readings,
        *(pd.read_parquet(path) for path in sorted(b.path.glob("readings.node*.parquet"))),
    ]
    write_power_rules(b.path, {source for table in tables for source in table["source"].unique()})


# Times
# --------------------------------------------------------------------------------------------------


def warp(b, when, log=True, wall=True, steps=True, readings=True, idle=True, parts=True) -> None:
    """Send every time t (seconds after run_start) to when(t); the parts of a step shrink or grow
    with the step."""
    start = mono(b.event("run_start"))
    wall_start = b.event("run_start")["time_ms"]

    def to(times):
        since = (np.asarray(times, dtype="int64") - start) / 1e9
        return start + np.round(when(since) * 1e9).astype("int64")

    def events_of(events):
        for event in events:
            if wall:
                event["time_ms"] = round(
                    wall_start + float(when((event["time_ms"] - wall_start) / 1e3)) * 1e3
                )
            if log:
                event["metadata"]["mono_ns"] = int(to(mono(event)))

    in_every_log(b, events_of)
    if wall:
        started(
            b, round(wall_start + float(when((b.run["started_time_ms"] - wall_start) / 1e3)) * 1e3)
        )
    if steps:
        begin = b.steps["start_ns"].to_numpy()
        length = np.round(b.steps[PARTS].sum(axis=1).to_numpy() * 1e9).astype("int64")
        new_begin, new_end = to(begin), to(begin + length)
        b.steps["start_ns"] = new_begin
        if parts:
            b.steps[PARTS] = b.steps[PARTS].mul(
                (new_end - new_begin) / np.maximum(length, 1), axis=0
            )

    def table_of(table, offset):
        table["t_ns"] = to(table["t_ns"] - offset) + offset
        return table

    each_table(b, table_of, readings=readings, idle=idle)


def started(b: EditableBundle, time_ms: int) -> None:
    """The run began then, by the wall clock: its record and its id say so."""
    words, form = b.run["run_id"].split("-"), "%Y%m%dT%H%M%SZ"
    before = (
        b.run["started_time_ms"] // 1000
        - datetime.strptime(words[-2] + "+0000", form + "%z").timestamp()
    )
    b.run["started_time_ms"] = time_ms
    words[-2] = datetime.fromtimestamp(time_ms // 1000 - before, timezone.utc).strftime(form)
    b.run["run_id"] = "-".join(words)


def shift_wall(b: EditableBundle, milliseconds: int, after=lambda event: True) -> None:
    def edit(events):
        for event in events:
            if after(event):
                event["time_ms"] += milliseconds

    first_ns = min((mono(event) for event in b.events if after(event)), default=None)
    in_every_log(b, edit)
    if after(b.events[0]):
        started(b, b.run["started_time_ms"] + milliseconds)
    elif first_ns is not None:
        each_table(
            b,
            lambda table, offset: _drifted(table, first_ns + offset, milliseconds / 1e3),
            idle=False,
        )


def _drifted(table: pd.DataFrame, from_ns: int, seconds: float) -> pd.DataFrame:
    """What the meter of the wall clock reads when that clock is set."""
    later = (table["source"] == "wall-clock") & (table["t_ns"] >= from_ns)
    table.loc[later, "value"] = table.loc[later, "value"].astype(float) + seconds
    return table


def shift(b: EditableBundle, seconds: float) -> None:
    """The whole run that much later, by both clocks."""
    ns = round(seconds * 1e9)
    in_every_log(b, lambda events: [e["metadata"].update(mono_ns=mono(e) + ns) for e in events])
    b.steps["start_ns"] += ns

    def later(table, _):
        table["t_ns"] += ns
        return table

    each_table(b, later)
    shift_wall(b, round(seconds * 1e3))
    if (path := b.path / DATA).exists():
        values = json.loads(path.read_text())
        path.write_text(json.dumps({**values, "taken_ns": values["taken_ns"] + ns}))


def at_date(b: EditableBundle, text: str) -> None:
    """The run began at this date, by the wall clock."""
    shift_wall(b, int(datetime.fromisoformat(text).timestamp() * 1000) - b.run["started_time_ms"])


# A run made anew
# --------------------------------------------------------------------------------------------------


def falling_loss(
    seen: np.ndarray,
    rng,
    noise: float,
    first: float = 2.302585,
    floor: float = 0.02,
    pace: float = 9000.0,
) -> np.ndarray:
    losses = floor + (first - floor) / (1 + seen / pace)
    return losses * np.exp(rng.normal(0, noise, len(seen)) * np.minimum(seen / 2000, 1))


def measured_parts(b: EditableBundle) -> tuple:
    """The mean parts of a step in seconds, and what is left over between two steps."""
    steps = b.steps[b.steps["rank"] == 0]
    inside = np.diff(steps["start_ns"]) / 1e9
    means = [float(steps[part].median()) for part in PARTS]
    return (*means, max(float(np.median(inside)) - sum(means), 0.0))


def rebuild(
    b,
    *,
    batch=None,
    correct=None,
    parts=None,
    eval_s=None,
    noise=0.0,
    seed=0,
    losses=None,
    train=None,
    shares=None,
    epoch_factor=None,
) -> None:
    """Steps, log and readings of another run on the same scaffold, all consistent with one another.

    parts: fetch, copy, compute, communication and the rest of a step, in seconds, at this batch
    size. epoch_factor(epoch) lengthens an epoch's steps. Without ``losses`` they are invented, and
    the bundle's ``losses_are_invented`` says so.
    """
    b.losses_are_invented = losses is None
    rng = np.random.default_rng(seed)
    request = b.request
    old_batch, old_steps = request["global_batch_size"], int((b.steps["rank"] == 0).sum())
    batch = batch or old_batch
    correct = correct or correct_counts(b)
    train = train or request["data"]["train_samples"]
    parts = parts or tuple(p * batch / old_batch for p in measured_parts(b))
    spent = [
        (mono(stop) - mono(begin)) / 1e9
        for begin, stop in zip(
            find(b.events, "eval_start"), find(b.events, "eval_stop"), strict=False
        )
    ]
    eval_s = float(np.mean(spent)) if eval_s is None else eval_s
    ranks = request["parallel"]["ranks"]
    start, old_stop = window(b)
    size = np.array([batch] * (train // batch) + ([train % batch] if train % batch else []))
    losses = losses or (lambda seen: falling_loss(seen, rng, noise))
    logs = read_logs(b)
    ahead_ns = {rank: mono(find(events, "run_start")[0]) - start for rank, events in logs.items()}
    ends, tables, number = {}, [], 0
    cursor = start + 1000
    for epoch in range(1, len(correct) + 1):
        factor = epoch_factor(epoch) if epoch_factor else 1.0
        table = pd.DataFrame(
            {"epoch": epoch, "step": number + 1 + np.arange(len(size)), "rank": 0, "samples": size}
        )
        drawn = (
            np.outer(size / batch, parts) * factor * np.exp(rng.normal(0, noise, (len(size), 5)))
        )
        drawn_ns = np.round(drawn * 1e9).astype("int64")
        table["start_ns"] = cursor + np.concatenate([[0], np.cumsum(drawn_ns.sum(axis=1))[:-1]])
        table[PARTS] = drawn_ns[:, :4] / 1e9
        table["loss"] = in_float32(losses((np.arange(len(size)) + number) * float(batch)))
        number += len(size)
        stop = int(table["start_ns"].iloc[-1] + drawn_ns[-1, :4].sum()) + 1000
        ends[epoch] = (cursor, stop)
        cursor = stop + 2000 + round(eval_s * 1e9) + 4000
        for rank in range(ranks):
            mine = table.assign(rank=rank, start_ns=table["start_ns"] + ahead_ns[rank])
            mine["samples"] = shares(size, rank) if shares else (size - rank + ranks - 1) // ranks
            tables.append(
                mine
                if rank == 0
                else of_another_process(mine, np.random.default_rng((seed, epoch, rank)))
            )
    new = pd.concat(tables).sort_values(["rank", "step"], kind="stable").reset_index(drop=True)
    b.steps = new.astype({c: "int64" for c in ("epoch", "step", "rank", "samples", "start_ns")})
    reached = correct[-1] / request["data"]["eval_samples"] >= (request["target_accuracy"] or 2)
    for rank, events in logs.items():
        of_rank = {
            epoch: (first + ahead_ns[rank], last + ahead_ns[rank])
            for epoch, (first, last) in ends.items()
        }
        status = "success" if reached else "aborted"
        _rebuild_log(
            events,
            of_rank,
            eval_s,
            correct,
            request["data"]["eval_samples"],
            len(size),
            rank,
            ranks > 1,
            status,
        )
    request["global_batch_size"] = batch
    for events in logs.values():
        for event in find(events, "global_batch_size"):
            event["value"] = batch
    write_logs(b, logs)
    new_stop = window(b)[1]
    lengthen = (new_stop - start) / (old_stop - start)
    resample(b, ratio=lengthen, longer_ns=new_stop - old_stop)
    carry(b, number / old_steps / (lengthen if is_count("eth0.sent") else 1.0))


def carry(b: EditableBundle, ratio: float) -> None:
    """Let every interface carry this many times the bytes: gradients are exchanged once a step."""

    def edit(table, _):
        for channel in table.loc[table["source"] == "network", "channel"].unique():
            mask = (table["source"] == "network") & (table["channel"] == channel)
            values = table.loc[mask, "value"]
            table.loc[mask, "value"] = values.iloc[0] + (values - values.iloc[0]) * ratio
        return table

    each_table(b, edit, idle=False)


def in_float32(losses) -> np.ndarray:
    """Losses as a framework computes them."""
    return np.asarray(losses, dtype="float32").astype(float)


def of_another_process(steps: pd.DataFrame, rng) -> pd.DataFrame:
    """The same steps in another process: a little faster, each part by itself, and on other
    samples."""
    faster = 1 - rng.uniform(0.0002, 0.004, (len(steps), len(PARTS)))
    other = steps["loss"] * np.exp(rng.normal(0, 0.03, len(steps)))
    return steps.assign(
        **{part: np.floor(steps[part] * faster[:, k] * 1e9) / 1e9 for k, part in enumerate(PARTS)},
        loss=in_float32(other),
    )


def fit_steps(b: EditableBundle, fill: float = 0.999) -> None:
    """Lay each epoch's steps one after another between its start and stop, filling this share of
    it."""
    logs = read_logs(b)
    for (rank, epoch), one in b.steps.groupby(["rank", "epoch"]):
        begin = int(one["start_ns"].iloc[0])
        room = mono(of_epoch(logs[rank], "epoch_stop", epoch)) - begin - 2000
        parts = one[PARTS].to_numpy() * (room * fill / 1e9 / one[PARTS].to_numpy().sum())
        lengths = np.floor(parts.sum(axis=1) * 1e9) + np.floor(
            room * (1 - fill) / max(len(one) - 1, 1)
        )
        b.steps.loc[one.index, PARTS] = parts
        b.steps.loc[one.index, "start_ns"] = begin + np.concatenate(
            [[0], np.cumsum(lengths)[:-1]]
        ).astype("int64")


def find(events: Iterable[dict], key: str) -> list[dict]:
    return [e for e in events if e["key"] == key]


def _rebuild_log(events, ends, eval_s, correct, eval_samples, steps, rank, several, status) -> None:
    begin = next(i for i, e in enumerate(events) if e["key"] == "run_start")
    end = max(i for i, e in enumerate(events) if e["key"] == "run_stop")
    head, tail = events[: begin + 1], events[end:]
    start, wall, boot = mono(head[-1]), head[-1]["time_ms"], head[-1]["metadata"]["boot"]
    made = []

    def log(kind, key, at_ns, value=None, **metadata):
        metadata = {**metadata, "mono_ns": int(at_ns), "rank": rank, "boot": boot}
        made.append(
            {
                "namespace": head[-1]["namespace"],
                "time_ms": wall + (int(at_ns) - start) // 1_000_000,
                "event_type": kind,
                "key": key,
                "value": value,
                "metadata": metadata,
            }
        )

    for epoch, (first, last) in ends.items():
        at_ns = last + 2000 + round(eval_s * 1e9)
        log("INTERVAL_START", "epoch_start", first, epoch_num=epoch)
        log("INTERVAL_END", "epoch_stop", last, epoch_num=epoch, steps=steps)
        if several:
            log("POINT_IN_TIME", "chain_heads", last + 500, [], epoch_num=epoch)
        log("INTERVAL_START", "uncounted_start", last + 600, reason="state", epoch_num=epoch)
        log(
            "POINT_IN_TIME",
            "learning_rates",
            last + 650,
            rates_of(events, epoch, steps),
            epoch_num=epoch,
        )
        log(
            "POINT_IN_TIME",
            "state_digests",
            last + 700,
            digests_of(find(events, "seed")[0]["value"], epoch, rank),
            epoch_num=epoch,
        )
        log("INTERVAL_END", "uncounted_stop", last + 750, reason="state", epoch_num=epoch)
        log("INTERVAL_START", "eval_start", last + 1000, epoch_num=epoch)
        log(
            "POINT_IN_TIME",
            "eval_accuracy",
            at_ns,
            correct[epoch - 1] / eval_samples,
            epoch_num=epoch,
            correct=correct[epoch - 1],
        )
        log("INTERVAL_END", "eval_stop", at_ns + 1000, epoch_num=epoch)
    later = mono(made[-1]) + 1000 - mono(tail[0])
    for event in tail:
        event["metadata"]["mono_ns"] = mono(event) + later
        event["time_ms"] = wall + (mono(event) - start) // 1_000_000
    tail[0]["metadata"]["status"] = status
    events[:] = head + made + tail


def rates_of(events, epoch: int, steps: int) -> list[float]:
    """The learning rates of an epoch as the training loop logs them: the first, the last and the
    mean, by the settings that the log has."""
    base, most, name = (
        find(events, key)[0]["value"]
        for key in ("opt_base_learning_rate", "max_epochs", "opt_learning_rate_schedule")
    )
    if name not in SCHEDULES or not isinstance(base, int | float) or not isinstance(most, int):
        return []
    rates = [
        SCHEDULES[name](base, index, most * steps)
        for index in range((epoch - 1) * steps, epoch * steps)
    ]
    return [rates[0], rates[-1], math.fsum(rates) / steps]


def digests_of(run, epoch: int, rank: int) -> dict[str, str]:
    """Digests of a training state: parameters and velocities are those of every rank; LeNet-5 has
    no statistics."""
    states = {"parameter": f"{run} {epoch}", "velocity": f"{run} {epoch} v", "statistic": ""}
    return {kind: hashlib.sha256(state.encode()).hexdigest() for kind, state in states.items()}


def epoch_steps(b: EditableBundle) -> int:
    """Mini-batches of an epoch."""
    return -(-b.request["data"]["train_samples"] // b.request["global_batch_size"])


def cut_after(b: EditableBundle, epoch: int) -> None:
    """End the run with this epoch's evaluation: later epochs leave log, steps and readings."""
    gone = window(b)[1]

    def edit(events):
        last = events.index(of_epoch(events, "eval_stop", epoch))
        stop = max(i for i, e in enumerate(events) if e["key"] == "run_stop")
        earlier = mono(events[stop]) - mono(events[last]) - 20_000
        wall = events[stop]["time_ms"] - events[last]["time_ms"]
        for event in events[stop:]:
            event["metadata"]["mono_ns"] -= earlier
            event["time_ms"] -= wall
        events[last + 1 : stop] = []

    in_every_log(b, edit)
    b.steps = b.steps[b.steps["epoch"] <= epoch].reset_index(drop=True)
    end = window(b)[1]
    longest = int(b.readings["t_ns"].max()) - gone

    def table_of(table, offset):
        return table[table["t_ns"] - offset <= end + longest].reset_index(drop=True)

    each_table(b, table_of, idle=False)
    recount(b)


def another_run(b: EditableBundle, seed: int, later_s: float = 0.0, noise: float = 0.04) -> None:
    """An honest further run of the same machine: another seed, another time, other losses, times
    and readings."""
    state(b, "seed", "seed", seed)
    b.run["run_id"] = b.run["run_id"][:-6] + hashlib.sha256(str(seed).encode()).hexdigest()[:6]
    rng = np.random.default_rng(seed)
    counts = [c + int(rng.integers(-9, 5)) for c in correct_counts(b)]
    counts[-1] = max(counts[-1], 9900)
    counts[:-1] = [min(c, 9895) for c in counts[:-1]]
    rebuild(b, correct=counts, noise=noise, seed=seed)
    scale_power(b, lambda w: w + rng.normal(0, 0.05, len(w)), idle=True)
    wobble(b, seed)
    shift(b, later_s)


def wobble(b: EditableBundle, seed: int, by_ns: int = 900_000) -> None:
    """Readings are never taken exactly on time."""
    rng = np.random.default_rng(seed)

    def edit(table, _):
        moments = {t: t + int(rng.integers(0, by_ns)) for t in sorted(table["t_ns"].unique())}
        table["t_ns"] = table["t_ns"].map(moments).astype("int64")
        return table

    each_table(b, edit)


# Machines
# --------------------------------------------------------------------------------------------------

MACHINES = {
    "raspberry-pi-5": {
        "board": "Raspberry Pi 5 Model B Rev 1.0",
        "architecture": "aarch64",
        "cpu_model": "Cortex-A76",
        "cpu_cores": 4,
        "memory_size_bytes": 8455544832,
        "cpu_governor": "ondemand",
        "storage_medium": "SD card",
        "kernel": "6.12.34+rpt-rpi-2712",
        "operating_system": "Debian GNU/Linux 12 (bookworm)",
    },
    "raspberry-pi-4": {
        "board": "Raspberry Pi 4 Model B Rev 1.4",
        "architecture": "aarch64",
        "cpu_model": "Cortex-A72",
        "cpu_cores": 4,
        "memory_size_bytes": 3981946880,
        "cpu_governor": "ondemand",
        "storage_medium": "SD card",
        "kernel": "6.12.34+rpt-rpi-v8",
        "operating_system": "Debian GNU/Linux 12 (bookworm)",
    },
    "nano": {
        "board": "NVIDIA Jetson Nano Developer Kit",
        "architecture": "aarch64",
        "cpu_model": "ARMv8 Processor rev 1 (v8l)",
        "cpu_cores": 4,
        "memory_size_bytes": 4156690432,
        "cpu_governor": "schedutil",
        "storage_medium": "SD card",
        "kernel": "4.9.337-tegra",
        "operating_system": "Ubuntu 18.04.6 LTS",
        "power_mode": "MAXN",
    },
    "orin": {
        "board": "NVIDIA Jetson AGX Orin Developer Kit",
        "architecture": "aarch64",
        "cpu_model": "Cortex-A78AE",
        "cpu_cores": 8,
        "memory_size_bytes": 32174985216,
        "cpu_governor": "schedutil",
        "storage_medium": "eMMC",
        "kernel": "5.15.148-tegra",
        "operating_system": "Ubuntu 22.04.5 LTS",
        "power_mode": "MAXN",
    },
}


def as_machine(b: EditableBundle, device: str) -> None:
    """The run says throughout that it was made on this board."""
    machine = MACHINES[device]
    state(b, "platform", "submission_platform", device)
    b.system.update(device=device, **machine)
    b.system["notes"] = {key: text for key, text in b.system["notes"].items() if key not in machine}
    b.run["device_evidence"] = f"/proc/device-tree/model says {machine['board']}"
    as_cores(b, machine["cpu_cores"])


def as_cores(b: EditableBundle, cores: int) -> None:
    """Utilisation is told of this many cores."""
    which = rows(b, "cpu", "utilisation.core")
    one = b.readings[rows(b, "cpu", "utilisation.core0")]
    new = [one.assign(channel=f"utilisation.core{k}") for k in range(cores)]
    b.readings = (
        pd.concat([b.readings[~which], *new])
        .sort_values("t_ns", kind="stable")
        .reset_index(drop=True)
    )
    recount(b)


def other_meter(b: EditableBundle, source: str, channels: dict[str, float]) -> None:
    """The power is read by another meter, its channels with these shares of what was read."""

    def edit(table, _):
        which = table["source"] == "um25c"
        new = [
            table[which].assign(
                source=source, channel=name, value=table.loc[which, "value"] * share
            )
            for name, share in channels.items()
        ]
        return (
            pd.concat([table[~which], *new])
            .sort_values("t_ns", kind="stable")
            .reset_index(drop=True)
        )

    each_table(b, edit)
    period_s, moments = POWER_SCHEDULES[source]
    meter(b, "um25c").update(name=source, period_s=period_s, moments=moments)
    recount(b)
    known_power_rules(b)


# Files
# --------------------------------------------------------------------------------------------------


def seal_manifest(folder: Path) -> None:
    """List every file of the folder anew, as `sha256sum` would."""
    names = sorted(p.name for p in folder.iterdir() if p.is_file() and p.name != "MANIFEST.sha256")
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names
    ]
    (folder / "MANIFEST.sha256").write_text("".join(lines))


def save_bundle(bundle: EditableBundle) -> None:
    """Save it with recomputed figures; with the old ones where the suite refuses to read the
    records."""
    try:
        bundle.save(recomputed=True)
    except SuiteError:
        bundle.save()


class Submission:
    """A submission folder: `path`, and `runs`, the bundles of <workload>/<framework>/run_<n> in
    order."""

    def __init__(self, path: Path):
        self.path = Path(path)
        self.runs = [EditableBundle(p) for p in sorted(self.path.glob("*/*/run_*")) if p.is_dir()]

        self.declared = {bundle.path: bundle.run["run_id"] for bundle in self.runs}

    def save(self) -> None:
        for bundle in self.runs:
            if bundle.path.exists():
                save_bundle(bundle)
        self.declare()

    def declare(self, forgotten: bool = False) -> None:
        """Declare the runs under the ids that they have now, and those that were added; with
        `forgotten`, no longer those that were removed."""
        path = self.path / "declaration.json"
        try:
            content = json.loads(path.read_text())
        except (OSError, ValueError):
            return
        present = {
            bundle.path: bundle.run["run_id"] for bundle in self.runs if bundle.path.exists()
        }
        gone = {
            place: run_id
            for place, run_id in self.declared.items()
            if place not in present and not forgotten
        }
        ids = {**gone, **present}
        if sorted(ids.values()) != sorted(self.declared.values()):
            entry = content["entries"][0]
            entry["launches"] = [
                {"run_id": run_id, "status": "finished"} for run_id in sorted(ids.values())
            ]
            entry["planned_runs"] = len(ids)
            path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        self.declared = ids

    def replace(self, n: int, by: int) -> EditableBundle:
        """Put a copy of one run in the place of another and give it back."""
        target = self.runs[n].path
        shutil.rmtree(target)
        shutil.copytree(self.runs[by].path, target)
        self.runs[n] = EditableBundle(target)
        return self.runs[n]

    def remove(self, n: int) -> None:
        shutil.rmtree(self.runs[n].path)
        del self.runs[n]

    def declaration(self, edit: Callable[[dict], None]) -> None:
        path = self.path / "declaration.json"
        content = json.loads(path.read_text()) if path.exists() else {}
        edit(content)
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


class StallFolder:
    """What `suite run --stall-analysis` makes: cold, warm, synthetic, and beside them stalls.json
    and a manifest."""

    def __init__(self, path: Path):
        self.path = Path(path)
        self.bundles = {
            name: EditableBundle(self.path / name) for name in ("cold", "warm", "synthetic")
        }

    def save(self) -> None:
        """Seal the three bundles, write their new digests wherever the old ones stood, seal the
        folder."""
        text = (self.path / "stalls.json").read_text()
        for name, bundle in self.bundles.items():
            manifest = self.path / name / "MANIFEST.sha256"
            old = hashlib.sha256(manifest.read_bytes()).hexdigest()
            save_bundle(bundle)
            text = text.replace(old, hashlib.sha256(manifest.read_bytes()).hexdigest())
        (self.path / "stalls.json").write_text(text)
        names = ["stalls.json", *(f"{name}/MANIFEST.sha256" for name in self.bundles)]
        lines = [
            f"{hashlib.sha256((self.path / name).read_bytes()).hexdigest()}  {name}\n"
            for name in sorted(names)
        ]
        (self.path / "MANIFEST.sha256").write_text("".join(lines))


def save(edited: EditableBundle | Submission | StallFolder) -> None:
    """Write everything back, chain, figures and manifests made to fit with the suite's own
    tools."""
    if isinstance(edited, EditableBundle):
        save_bundle(edited)
    else:
        edited.save()


def walk(content, edit: Callable[[str, float], float], name: str = ""):
    """The same JSON content with every number under a name given to edit(name, number)."""
    if isinstance(content, dict):
        return {key: walk(value, edit, f"{name}.{key}") for key, value in content.items()}
    if isinstance(content, list):
        return [walk(value, edit, name) for value in content]
    if isinstance(content, (int, float)) and not isinstance(content, bool):
        return edit(name, content)
    return content
