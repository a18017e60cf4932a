"""Lies about several ranks and nodes."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd

from proofs.outsider.edits import (
    NOTHING,
    Lie,
    find,
    of_epoch,
    read_json,
    rebuild,
    recount,
    register,
    write_json,
)
from tests.faults.edits.rank_log_edits import read_log, read_logs, write_log, write_logs

LIES: list[Lie] = []
error, edited, fabricated = register(LIES, needs="two_ranks")


def rank_one(b, edit) -> None:
    """Edit rank 1's log and make its own chain fit, but not what rank 0 wrote down of it."""
    path = b.path / "log.rank1.txt"
    events = read_log(path)
    edit(events)
    write_log(path, events)


def node_readings(b, edit) -> None:
    path = b.path / "readings.node1.parquet"
    edit(pd.read_parquet(path)).reset_index(drop=True).to_parquet(path, index=False)
    recount(b)


def nodes(b, edit) -> None:
    content = read_json(b, "nodes.json")
    edit(content["nodes"])
    write_json(b, "nodes.json", content)


@edited(
    "Accuracy was raised in rank 0's log only",
    "a better accuracy",
    "rank 0's chain values in rank 1's log; accuracies of the two ranks",
)
def _(b):
    of_epoch(b.events, "eval_accuracy", 2).update(value=0.988)
    of_epoch(b.events, "eval_accuracy", 2)["metadata"]["correct"] = 9880


@edited(
    "Rank 1's log was edited and sealed by itself",
    "a straggler disappears",
    "rank 1's chain values in rank 0's log",
)
def _(b):
    rank_one(
        b,
        lambda events: [
            e["metadata"].update(mono_ns=e["metadata"]["mono_ns"] - 5_000_000)
            for e in find(events, "epoch_stop")
        ],
    )


@edited(
    "Rank 1's accuracy was edited, and every chain value in both logs made to fit",
    "a node whose model differs",
    "accuracies of the two ranks",
)
def _(b):
    logs = read_logs(b)
    event = of_epoch(logs[1], "eval_accuracy", 2)
    event["value"], event["metadata"]["correct"] = 0.97, 9700
    write_logs(b, logs)


@error(
    "Rank 1 trained with another seed, and every chain value was made to fit",
    "seed in rank 1's log against the request",
)
def _(b):
    logs = read_logs(b)
    find(logs[1], "seed")[0]["value"] = 2
    write_logs(b, logs)


@edited(
    "Rank 1's steps are missing",
    "a straggler disappears",
    "ranks of the step table against run.json",
)
def _(b):
    b.steps = b.steps[b.steps["rank"] == 0].reset_index(drop=True)


@edited(
    "Rank 0 took three quarters of each mini-batch, the slow rank a quarter",
    "a slow node does not hold up the others",
    "samples of each rank against its share",
)
def _(b):
    rebuild(b, shares=lambda size, rank: size * 3 // 4 if rank == 0 else size - size * 3 // 4)


@edited(
    "Rank 1 trained on nothing and is counted",
    "two nodes without communication",
    "samples of rank 1 against its share",
)
def _(b):
    b.steps.loc[b.steps["rank"] == 1, "samples"] = 0


@error("Each rank trained on a whole mini-batch", "samples of a step against the global batch size")
def _(b):
    b.steps["samples"] *= 2


@edited(
    "Both ranks trained on the same half of the data",
    "half the data",
    NOTHING + "; losses of the two ranks, if they are kept separate",
)
def _(b):
    rebuild(b, noise=0.02, correct=[9690, 9840, 9901])


@edited(
    "Rank 1's slow steps were cut to rank 0's",
    "a straggler disappears",
    "rank 0's waiting against rank 1, which was ready as early; rank 1's parts against its starts",
)
def _(b):
    one = b.steps["rank"] == 1
    b.steps.loc[~one, "communication_s"] = 0.004
    b.steps["compute_s"] -= 0.004


@edited(
    "Only rank 1's steps were halved",
    "a faster second node",
    "rank 1's parts against its starts; both ranks wait for one another",
)
def _(b):
    b.steps.loc[b.steps["rank"] == 1, "compute_s"] /= 2


@fabricated(
    "Rank 1 is half an epoch ahead of rank 0 although gradients are summed after every step",
    "ranks that never wait",
    "start of the same step on both ranks",
)
def _(b):
    b.steps.loc[b.steps["rank"] == 1, "start_ns"] += 2_000_000_000


@fabricated(
    "Rank 1's log is rank 0's with another rank written in",
    "a second node that never was",
    "events that only rank 0 logs; both ranks log at the same nanoseconds",
)
def _(b):
    logs = read_logs(b)
    logs[1] = copy.deepcopy(logs[0])
    for e in logs[1]:
        e["metadata"]["rank"] = 1
    write_logs(b, logs)


@error("Rank 1's log is one of another run", "rank 1's chain values in rank 0's log; its times")
def _(b):
    def edit(events):
        for e in events:
            e["time_ms"] += 86_400_000
            e["metadata"]["mono_ns"] += 86_400_000_000_000

    rank_one(b, edit)


@error("Rank 1's log is missing", "ranks in run.json against the logs")
def _(b):
    (b.path / "log.rank1.txt").unlink()


@error("A log of a third rank is there", "ranks in run.json against the logs")
def _(b):
    events = read_log(b.path / "log.rank1.txt")
    for e in events:
        e["metadata"]["rank"] = 2
    write_log(b.path / "log.rank2.txt", events)


@edited(
    "Chain values of the second epoch were left out of both logs",
    "logs can be edited up to there",
    "chain values after every epoch",
)
def _(b):
    logs = read_logs(b)
    for events in logs.values():
        events.remove(
            next(e for e in find(events, "chain_heads") if e["metadata"].get("epoch_num") == 2)
        )
    write_logs(b, logs)


@edited(
    "Both ranks ran on one machine that is described under two names",
    "a run on two nodes",
    "the two nodes' addresses",
)
def _(b):
    nodes(b, lambda each: each[1]["link"].update(each[0]["link"]))


@error("One machine is named twice", "names of the nodes")
def _(b):
    nodes(b, lambda each: each[1].update(host="node0", node="node0"))


@fabricated(
    "The second node's readings are a copy of the first's, moved to its clock",
    "a second meter that never was",
    "readings of two machines that are the same number for number",
)
def _(b):
    rng = np.random.default_rng(1)
    which = b.readings["unit"] == "W"
    b.readings.loc[which, "value"] += rng.normal(0, 0.2, which.sum())
    offset = find(b.events, "clock_offsets_ns")[0]["value"][1][0]
    copied = b.readings.copy()
    copied["t_ns"] += offset
    node_readings(b, lambda table: copied)


@edited(
    "The second node draws a tenth of what the first does",
    "almost half the energy",
    "the second node's power against its own idle power",
)
def _(b):
    node_readings(
        b,
        lambda table: table.assign(
            value=table["value"].where(table["unit"] != "W", table["value"] / 10)
        ),
    )


@edited(
    "The second node's power was left out, and energy is shown for one",
    "half the energy",
    "power meters of the nodes in nodes.json against their readings",
)
def _(b):
    node_readings(b, lambda table: table[table["source"] != "um25c"])
    nodes(
        b,
        lambda each: each[1].update(meters=[m for m in each[1]["meters"] if m["name"] != "um25c"]),
    )


@edited(
    "The second node is left out of nodes.json and all ranks are said to run on the first",
    "half the energy",
    "nodes in nodes.json against the log's nodes_of_ranks and run.json",
)
def _(b):
    nodes(b, lambda each: (each[0].update(ranks=[0, 1]), each.pop(1)))


@edited(
    "The second node is left out everywhere, and its readings deleted",
    "half the energy",
    "clock offsets in the log against one node; rank 1's communication",
)
def _(b):
    for name in ("nodes.json", "readings.node1.parquet", "baseload.node1.parquet"):
        (b.path / name).unlink()
    b.request["parallel"]["nodes"] = 1
    logs = read_logs(b)
    for e in find(logs[0], "nodes_of_ranks"):
        e["value"] = ["node0", "node0"]
    write_logs(b, logs)


@edited(
    "A run of two nodes is shown as one of a single machine",
    "a machine twice as fast",
    "network readings of a single machine; half a second machine's work in the steps' times",
)
def _(b):
    for name in ("nodes.json", "readings.node1.parquet", "baseload.node1.parquet", "log.rank1.txt"):
        (b.path / name).unlink()
    b.request["parallel"].update(ranks=1, nodes=1, collective="none", bucket_bytes=0, overlap=False)
    b.events[:] = [
        e for e in b.events if e["key"] not in ("chain_heads", "nodes_of_ranks", "clock_offsets_ns")
    ]
    find(b.events, "ranks")[0]["value"] = 1
    find(b.events, "collective")[0]["value"] = "none"
    b.steps = (
        b.steps[b.steps["rank"] == 0]
        .assign(samples=lambda s: s["samples"] * 2)
        .reset_index(drop=True)
    )


@error(
    "Ranks' machines in the log are not those of nodes.json",
    "nodes_of_ranks in the log against nodes.json",
)
def _(b):
    logs = read_logs(b)
    for e in find(logs[0], "nodes_of_ranks"):
        e["value"] = ["node0", "node2"]
    write_logs(b, logs)


@error(
    "Ranks changed their machines in the middle of the run",
    "nodes_of_ranks at the start against the end",
)
def _(b):
    logs = read_logs(b)
    find(logs[0], "nodes_of_ranks")[-1]["value"] = ["node1", "node0"]
    write_logs(b, logs)


@edited(
    "The second node's clock offset was moved, so that its idle readings lie under the run",
    "less energy of the second node",
    "clock offset against the times of the node's other readings",
)
def _(b):
    logs = read_logs(b)
    for e in find(logs[0], "clock_offsets_ns"):
        e["value"][1][0] -= 28_000_000_000
    write_logs(b, logs)


@error(
    "The clock offsets at start and end differ by minutes",
    "clock offsets against what two clocks can drift in the time",
)
def _(b):
    logs = read_logs(b)
    find(logs[0], "clock_offsets_ns")[-1]["value"][1][0] += 300_000_000_000
    write_logs(b, logs)


@edited(
    "The uncertainty of the clock offset is longer than the run",
    "readings fit anywhere",
    "clock offset's uncertainty against the run's length",
)
def _(b):
    logs = read_logs(b)
    for e in find(logs[0], "clock_offsets_ns"):
        e["value"][1][1] = 60_000_000_000
    write_logs(b, logs)


@edited(
    "A fast link is described as a slow one",
    "a link that looks slow and is fast",
    "link speed against bytes per second and communication times",
)
def _(b):
    nodes(b, lambda each: [n["link"].update(kind="wired", speed_mbit_s=10) for n in each])


@edited(
    "The second node's readings end after the first epoch",
    "less energy of the second node",
    "readings of a node against the run's length",
)
def _(b):
    node_readings(b, lambda table: table[table["t_ns"] < table["t_ns"].min() + 10_000_000_000])


@error(
    "Readings of the second node are on the first node's clock",
    "times of the node's readings against its clock offset",
)
def _(b):
    offset = find(b.events, "clock_offsets_ns")[0]["value"][1][0]
    node_readings(b, lambda table: table.assign(t_ns=table["t_ns"] - offset))


@fabricated(
    "The second node's idle readings are the first node's under another name",
    "no second meter needed",
    "idle readings of two machines that are the same number for number",
)
def _(b):
    table = pd.read_parquet(b.path / "baseload.parquet")
    table["value"] += np.random.default_rng(4).normal(0, 0.05, len(table))
    table.to_parquet(b.path / "baseload.parquet", index=False)
    offset = find(b.events, "clock_offsets_ns")[0]["value"][1][0]
    table.assign(t_ns=table["t_ns"] + offset).to_parquet(
        b.path / "baseload.node1.parquet", index=False
    )


@edited(
    "The second node's processor is idle in its readings while its rank trains",
    "a node that looks frugal",
    "utilisation of the second node against rank 1's steps",
)
def _(b):
    def edit(table):
        busy = (table["source"] == "cpu") | (table["source"] == "counters")
        return table.assign(value=table["value"].where(~busy, 0.0))

    node_readings(b, edit)


@error(
    "The request tells of three ranks, the log of two",
    "ranks in run.json against log, steps and nodes.json",
)
def _(b):
    b.request["parallel"]["ranks"] = 3


@fabricated(
    "A single machine's run was doubled into a run of two nodes",
    "a perfect speed-up that nobody measured",
    "two ranks whose steps are the same number for number, without any communication",
)
def _(b):
    rebuild(b, parts=(0.001, 0.0005, 0.008, 0.0, 0.0005), noise=0.03)


@edited(
    "Gradients were exchanged every tenth step only",
    "a tenth of the communication",
    "communication of nothing in nine of ten steps; losses of the ranks",
)
def _(b):
    talk = b.steps["step"] % 10 == 0
    b.steps.loc[talk, "communication_s"] = 0.003
    b.steps.loc[talk, "compute_s"] -= 0.003
    b.steps.loc[~talk, "communication_s"] = 0.0


@error("The ranks' boots were exchanged", "boot in rank 1's log: it changes in the middle")
def _(b):
    logs = read_logs(b)
    for e in logs[1][40:]:
        e["metadata"]["boot"] = "44444444-4444-4444-8444-444444444444"
    write_logs(b, logs)


@error("Each node's table names another node's ranks", "ranks in nodes.json against nodes_of_ranks")
def _(b):
    nodes(b, lambda each: (each[0].update(ranks=[1]), each[1].update(ranks=[0])))


@error(
    "Readings of a node are there twice, under two node numbers",
    "nodes in nodes.json against the tables of readings",
)
def _(b):
    pd.read_parquet(b.path / "readings.node1.parquet").to_parquet(
        b.path / "readings.node2.parquet", index=False
    )
