"""Honest variations: runs that are unlike the samples and must not be refused. A warning is no
refusal.

`doubt` says what neither rulebook nor format tells, so that the variation may be wrong there and
not the checker.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from proofs.outsider.edits import (
    another_run,
    as_machine,
    ask,
    at_date,
    change_values,
    correct_counts,
    drop_rows,
    falling_loss,
    find,
    in_every_log,
    known_power_rules,
    log_value,
    meter,
    mono,
    of_epoch,
    other_meter,
    read_json,
    rebuild,
    rows,
    scale_power,
    seal_manifest,
    shift,
    shift_wall,
    state,
    warp,
    window,
    wobble,
    write_json,
)
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.rank_log_edits import read_log, read_logs, write_logs


@dataclass(frozen=True)
class Honest:
    name: str
    change: Callable  # edits in place; the caller saves and re-seals
    needs: str  # "rich" | "two_ranks" | "real" | "reference" | "submission"
    why_honest: str
    doubt: str = ""
    sealed: bool = True  # False: files are edited and not saved by the caller


HONEST: list[Honest] = []


def honest(name: str, why: str, needs: str = "rich", doubt: str = "", sealed: bool = True):
    def put(change: Callable) -> Callable:
        HONEST.append(Honest(name, change, needs, why, doubt, sealed))
        return change

    return put


def rate(b, value: float) -> None:
    state(b, "optimizer.base_learning_rate", "opt_base_learning_rate", value)


def without(b, *names: str) -> None:
    """These meters were not there: no readings, no rule."""
    for name in names:
        meter(b, name).update(available=False, reason="not on this machine", readings=0)
    which = b.readings["source"].isin(names)
    drop_rows(b, which)


# Settings within the rules
# --------------------------------------------------------------------------------------------


@honest("A batch of 24 at twice the learning rate", "both within the ranges")
def _(b):
    rate(b, 0.01)
    rebuild(b, batch=24, noise=0.03)


@honest(
    "The smallest batch, 16, at the highest learning rate, 0.1",
    "the ends of the ranges belong to them",
)
def _(b):
    rate(b, 0.1)
    rebuild(b, batch=16, noise=0.03)


@honest(
    "The lowest learning rate, and the target only in the tenth epoch",
    "needing more epochs is no fault",
)
def _(b):
    rate(b, 0.0005)
    rebuild(b, correct=[9102, 9417, 9588, 9670, 9742, 9801, 9838, 9862, 9886, 9900], noise=0.03)


@honest(
    "A batch of 20, which divides the data evenly",
    "any whole number in the range; no smaller last mini-batch",
)
def _(b):
    rebuild(b, batch=20, noise=0.03)


@honest("A batch of 23, of which the last is a small one", "any whole number in the range")
def _(b):
    rebuild(b, batch=23, noise=0.03)


@honest("Exactly 9,900 of 10,000 correct", "the target is reached by what equals it")
def _(b):
    rebuild(b, correct=[9711, 9850, 9900], noise=0.03)


@honest("The accuracy falls once before it reaches the target", "evaluations are noisy")
def _(b):
    rebuild(b, correct=[9790, 9871, 9843, 9888, 9860, 9904], noise=0.03)


@honest("Seed nought", "seeds are free")
def _(b):
    state(b, "seed", "seed", 0)


@honest("A seed of four thousand millions", "seeds are free")
def _(b):
    state(b, "seed", "seed", 4_000_000_007)


@honest("One thread on two cores", "threads are free")
def _(b):
    state(b, "threads", "framework_threads", 1)
    change_values(b, "cpu", "utilisation.core1", lambda v: v * 0 + 2.0)
    change_values(b, "cpu", "utilisation.total", lambda v: v * 0 + 26.0)


@honest("Eight threads on two cores", "threads are free, be they wise or not")
def _(b):
    state(b, "threads", "framework_threads", 8)


@honest(
    "Four processes load the data, eight batches ahead", "worker processes and prefetching are free"
)
def _(b):
    b.request["loading"].update(workers=4, prefetch=8)
    b.run["command"] += ["--workers", "4", "--prefetch", "8"]
    rebuild(b, parts=(0.00002, 0.001, 0.016, 0.0, 0.001), noise=0.03)


@honest(
    "The page cache was emptied before the run",
    "the log says so",
    doubt="how the log says it: taken from the real sample",
)
def _(b):
    state(b, "cache_cleared", "cache_clear", True)


@honest(
    "The page cache could not be emptied, for want of rights",
    "the log says so",
    doubt="how the log says it",
)
def _(b):
    state(b, "cache_cleared", "cache_clear", False)


@honest(
    "A run of the open division that missed its target after ten epochs",
    "the open division has no target to reach",
)
def _(b):
    state(b, "division", "submission_division", "open")
    rebuild(b, correct=[9102, 9417, 9588, 9670, 9742, 9801, 9818, 9822, 9826, 9830], noise=0.03)


@honest(
    "A run of the open division with another optimizer and a batch of 1,000", "anything goes there"
)
def _(b):
    state(b, "division", "submission_division", "open")
    state(b, "optimizer.name", "opt_name", "adam")
    rate(b, 0.001)
    rebuild(b, batch=1000, correct=[9755, 9866, 9905], noise=0.03)


@honest(
    "A run of the open division with a lower target and four epochs at most",
    "anything goes there, if it is stated",
)
def _(b):
    state(b, "division", "submission_division", "open")
    state(b, "target_accuracy", "target_accuracy", 0.98)
    state(b, "epochs", "max_epochs", 4)
    rebuild(b, correct=[9710, 9801], noise=0.03)


# Speed, disturbances
# --------------------------------------------------------------------------------------------------


@honest("A machine five times as fast", "machines differ")
def _(b):
    rebuild(b, parts=(0.0004, 0.0002, 0.0032, 0.0, 0.0002), eval_s=0.02, noise=0.03)


@honest("A machine twenty times as slow", "machines differ")
def _(b):
    rebuild(b, parts=(0.01, 0.005, 0.08, 0.0, 0.005), eval_s=2.0, noise=0.03)


@honest("A first epoch three times as long, from a cold card", "cold caches")
def _(b):
    rebuild(b, noise=0.03, epoch_factor=lambda epoch: 3.0 if epoch == 1 else 1.0)


@honest("The last epoch a half longer, from heat", "throttling does not make a run invalid")
def _(b):
    rebuild(b, noise=0.03, epoch_factor=lambda epoch: 1.5 if epoch == 3 else 1.0)


@honest("The card hung for four seconds within one step", "storage media do that")
def _(b):
    warp(b, lambda t: np.where(t <= b_time(b, 700), t, t + 4.0), parts=False)
    b.steps.loc[b.steps["step"] == 700, "fetch_stall_s"] += 4.0


def b_time(b, step: int) -> float:
    """A moment in the middle of this step, in seconds after run_start, in the sample."""
    return 0.005 * (step - 0.5) + 0.1 * ((step - 1) // 1875)


@honest(
    "A machine that was suspended for twenty minutes between two epochs",
    "the monotonic clock stands still meanwhile, the wall clock does not: a warning",
)
def _(b):
    after = mono(of_epoch(b.events, "epoch_start", 2))
    shift_wall(b, 1_200_000, lambda e: mono(e) >= after)


@honest("Losses that rise for a while at a high learning rate", "mini-batches differ")
def _(b):
    rng = np.random.default_rng(1)
    rate(b, 0.09)
    rebuild(
        b,
        noise=0.03,
        losses=lambda seen: (
            falling_loss(seen, rng, 0.4) * (1 + 0.8 * np.exp(-(((seen - 70000) / 9000) ** 2)))
        ),
    )


# Time and place
# --------------------------------------------------------------------------------------------------


@honest("A run over midnight", "wall clock times are no days")
def _(b):
    at_date(b, "2027-06-30T23:59:50+00:00")


@honest("A run over the hour that summer time takes away", "wall clock times are UTC")
def _(b):
    at_date(b, "2027-03-28T00:59:45+00:00")


@honest(
    "A run over the turn of the year, begun in another time zone's new year",
    "wall clock times are UTC",
)
def _(b):
    at_date(b, "2028-01-01T00:00:00+14:00")


@honest("A run on the leap day", "there is one every four years")
def _(b):
    at_date(b, "2028-02-29T12:00:00+00:00")


@honest(
    "A board without battery clock that believes it is 1970",
    "edge boards have no battery clock",
    doubt="whether a round asks for a date",
)
def _(b):
    at_date(b, "1970-01-01T00:05:00+00:00")


@honest(
    "The wall clock was set forward by an hour in the middle of the run",
    "time synchronisation does that: a warning",
)
def _(b):
    after = mono(of_epoch(b.events, "epoch_stop", 2))
    shift_wall(b, 3_600_000, lambda e: mono(e) >= after)


@honest(
    "The wall clock was set back by forty seconds in the middle of the run",
    "time synchronisation does that: a warning",
)
def _(b):
    after = mono(of_epoch(b.events, "epoch_stop", 1))
    shift_wall(b, -40_000, lambda e: mono(e) >= after)


@honest("The wall clock wanders by fifty millionths", "quartzes do")
def _(b):
    start = b.events[0]["time_ms"]
    in_every_log(
        b,
        lambda events: [
            e.update(time_ms=start + round((e["time_ms"] - start) * 1.00005)) for e in events
        ],
    )


@honest("A machine that has been up for two years", "monotonic clocks count from the boot")
def _(b):
    shift(b, 63_000_000.0)
    shift_wall(b, -63_000_000_000)


@honest("A machine that was started five minutes before", "monotonic clocks count from the boot")
def _(b):
    shift(b, -700.0)
    shift_wall(b, 700_000)


# Names and texts
# --------------------------------------------------------------------------------------------------


@honest("An organisation with letters of several alphabets", "names are names")
def _(b):
    state(b, "organization", "submission_org", "Universität Zürich – 邊緣計算 группа")


@honest("A data folder with spaces and umlauts", "names are names")
def _(b):
    ask(b, "data.directory", "$DATA/Meine Daten/mnist (2)")


@honest("Paths of a thousand letters", "paths may be long")
def _(b):
    long = "/".join(["a-folder-with-a-long-name"] * 40)
    ask(b, "data.directory", f"$DATA/{long}/mnist")
    ask(b, "output_directory", f"$OUTPUT/{long}")


@honest(
    "Output of the implementation with line ends of Windows and progress bars",
    "its own output is its own matter",
)
def _(b):
    (b.path / "output.txt").write_bytes(
        "epoch 1: 100%|██████████|\repoch 2: 50%|█████     |\r\nWarnung: läuft\r\n".encode()
    )


@honest("An implementation that prints nothing", "its own output is its own matter")
def _(b):
    (b.path / "output.txt").write_bytes(b"")


@honest("A long command line with every setting", "what was asked for may be said at length")
def _(b):
    b.run["command"] = [
        "suite",
        "run",
        "--workload",
        "lenet",
        "--framework",
        "pytorch",
        "--data",
        "mnist",
        "--seed",
        "1",
        "--batch-size",
        "32",
        "--learning-rate",
        "0.005",
        "--threads",
        "2",
    ]


@honest(
    "Another framework",
    "whatever honours the contract may take its place",
    doubt="which names of frameworks exist",
)
def _(b):
    state(b, "framework", "framework", "tensorflow")
    b.system["framework"] = "tensorflow"
    b.run["run_id"] = b.run["run_id"].replace("pytorch", "tensorflow")
    b.system["libraries"] = {"numpy": "1.0", "tensorflow-cpu": "1.0"}


@honest("A development version of the framework, with plus signs and letters", "versions are texts")
def _(b):
    log_value(b, "framework_version", "2.14.0a0+git1b2c3d4.nv24.08")
    b.system["framework_version"] = b.system["libraries"]["torch"] = "2.14.0a0+git1b2c3d4.nv24.08"


# Meters
# --------------------------------------------------------------------------------------------------


@honest("The power meter started three seconds late", "coverage says how much is missing")
def _(b):
    drop_rows(b, rows(b, "um25c") & (b.readings["t_ns"] < window(b)[0] + 3_000_000_000))


@honest("The power meter ended two seconds early", "coverage says how much is missing")
def _(b):
    drop_rows(b, rows(b, "um25c") & (b.readings["t_ns"] > window(b)[1] - 2_000_000_000))


@honest("The power meter lost seven readings", "the record of the meter says so")
def _(b):
    lost = b.readings.index[rows(b, "um25c")][[20, 21, 60, 61, 62, 90, 120]]
    drop_rows(b, b.readings.index.isin(lost) & rows(b, "um25c"))
    meter(b, "um25c").update(failures=7, last_error="the meter did not answer")


@honest("The power meter was silent for six seconds", "a gap is a warning")
def _(b):
    start = window(b)[0]
    drop_rows(
        b, rows(b, "um25c") & b.readings["t_ns"].between(start + 12 * 10**9, start + 18 * 10**9)
    )
    meter(b, "um25c").update(failures=30, last_error="timed out")


@honest("A machine without power meter", "without a sensor there is no energy")
def _(b):
    without(b, "um25c")
    known_power_rules(b)
    (b.path / "baseload.parquet").unlink()


@honest("The idle machine was not measured", "where its power cannot be read it is not measured")
def _(b):
    (b.path / "baseload.parquet").unlink()


@honest("A machine whose kernel counts nothing", "counters are where the kernel offers them")
def _(b):
    without(b, "counters")


@honest("A machine that draws hardly more under load than idle", "some do")
def _(b):
    scale_power(b, lambda w: w * 0.98, idle=False)
    scale_power(b, lambda w: w * 1.9, run=False, idle=True)


@honest("Power that is uneven, with peaks of twice the mean", "loads are uneven")
def _(b):
    rng = np.random.default_rng(2)
    scale_power(b, lambda w: np.round(w + rng.gamma(1.0, 0.6, len(w)), 3), idle=True)
    wobble(b, 2)


MAINLINE = "6.12.9-arm64"
"""A kernel that need not offer the sensors of the board's own one."""


@honest("A USB meter on another board", "meters are moved from board to board")
def _(b):
    as_machine(b, "raspberry-pi-5")
    b.system["kernel"] = MAINLINE
    rebuild(b, noise=0.03)
    change_values(b, "cpu", "utilisation", lambda v: np.clip(v * 1.7, 0, 100))


@honest("A wall socket's meter in place of the USB meter", "the rulebook knows it")
def _(b):
    other_meter(b, "shelly", {"power": 1.6})


@honest("A board with three rails that add up", "the rulebook knows them")
def _(b):
    as_machine(b, "orin")
    b.system["kernel"] = MAINLINE
    other_meter(b, "ina3221", {"VDD_GPU_SOC": 2.0, "VDD_CPU_CV": 0.8, "VIN_SYS_5V0": 1.2})


@honest("Cores that are busy to the hundredth percent", "a reading of 100 is possible")
def _(b):
    change_values(b, "cpu", "utilisation", lambda v: v * 0 + 100.0)


@honest("Memory that grows and shrinks, and is swapped out once", "programs do that")
def _(b):
    change_values(
        b,
        "memory",
        "process_tree_rss",
        lambda v: v + 5e7 * np.sin(np.arange(len(v)) / 3) // 4096 * 4096,
    )


@honest(
    "Everything is read at odd moments, late by up to nine milliseconds",
    "nothing is read exactly on time",
)
def _(b):
    wobble(b, 5, 9_000_000)


@honest(
    "A disk that reads nothing because the data are still in the page cache",
    "the log says that it was not emptied",
)
def _(b):
    change_values(b, "disk", "read_bytes", lambda v: v * 0 + v[0])


# Several ranks
# --------------------------------------------------------------------------------------------------


@honest(
    "Two ranks with small buckets and no overlap",
    "how gradients are exchanged is tuned by size and overlap",
    "two_ranks",
)
def _(b):
    b.request["parallel"].update(bucket_bytes=65536, overlap=False)
    rebuild(b, parts=(0.002, 0.001, 0.014, 0.002, 0.001), noise=0.03)


@honest("The second node is slower, and the first one waits for it", "nodes differ", "two_ranks")
def _(b):
    first = b.steps["rank"] == 0
    b.steps.loc[first, "communication_s"] = 0.0015
    b.steps.loc[first, "compute_s"] = 0.0025


@honest("The second node has no power meter", "energy is unknown then", "two_ranks")
def _(b):
    path = b.path / "readings.node1.parquet"
    table = pd.read_parquet(path)
    table[table["source"] != "um25c"].reset_index(drop=True).to_parquet(path, index=False)
    (b.path / "baseload.node1.parquet").unlink()
    nodes = read_json(b, "nodes.json")
    for m in nodes["nodes"][1]["meters"]:
        if m["name"] == "um25c":
            m.update(
                available=False,
                reason="/etc/edge-training-suite/meters.toml names no USB meter",
                readings=0,
            )
    write_json(b, "nodes.json", nodes)


@honest(
    "The second node was started later than the first: its clock is behind",
    "every machine counts from its own boot",
    "two_ranks",
)
def _(b):
    move = -7_000_900_000_000_000
    logs = read_logs(b)
    for e in find(logs[0], "clock_offsets_ns"):
        e["value"][1][0] += move
    for e in logs[1]:
        e["metadata"]["mono_ns"] += move
    write_logs(b, logs)
    b.steps.loc[b.steps["rank"] == 1, "start_ns"] += move
    for name in ("readings.node1.parquet", "baseload.node1.parquet"):
        table = pd.read_parquet(b.path / name)
        table["t_ns"] += move
        table.to_parquet(b.path / name, index=False)


@honest(
    "Two boards with one host name, as their image came",
    "names are names: both have the label of the first",
    "two_ranks",
)
def _(b):
    names = ["node0", "node0"]
    nodes = read_json(b, "nodes.json")
    for node, name in zip(nodes["nodes"], names, strict=True):
        node.update(node=name)
    write_json(b, "nodes.json", nodes)
    log_value(b, "nodes_of_ranks", names)


@honest("A link over the air", "links may be slow", "two_ranks", doubt="the word for it")
def _(b):
    nodes = read_json(b, "nodes.json")
    for node in nodes["nodes"]:
        node["link"].update(
            interface="wlan0",
            kind="wireless",
            speed_mbit_s=None,
            reason="its driver states no speed",
        )
    write_json(b, "nodes.json", nodes)


@honest(
    "Two ranks with an odd batch size: one has a sample more",
    "a rank takes every second sample",
    "two_ranks",
)
def _(b):
    rebuild(b, batch=31, noise=0.03)


@honest(
    "Two ranks on one machine",
    "ranks need not be on several machines",
    doubt=(
        "which events of several nodes are left out; FORMAT.md has nodes.json for several nodes"
        " only"
    ),
)
def _(b):
    b.request["parallel"].update(
        ranks=2, nodes=1, collective="mpi", bucket_bytes=4194304, overlap=True
    )
    b.steps["communication_s"] = 0.0001
    log_value(b, "collective", "mpi")
    log_value(b, "ranks", 2)
    log_value(b, "peak_rss_of_ranks", [200_000_000, 200_000_000])
    steps = [*read_logs(b)[0]]
    second = json.loads(json.dumps(steps))
    for e in second:
        e["metadata"]["rank"] = 1
    logs = {0: b.events, 1: second}
    for events in logs.values():
        place = next(place for place, e in enumerate(events) if e["key"] == "init_stop")
        compared = dict.fromkeys(("sources", "packages", "request", "data", "weights"), "5" * 64)
        events.insert(
            place,
            {**events[place], "event_type": "POINT_IN_TIME", "key": "admission", "value": compared},
        )
    for rank, events in logs.items():
        last = events[-1]
        stop_at = mono(last) + 1000
        events.append(
            {
                **last,
                "event_type": "POINT_IN_TIME",
                "key": "chain_heads",
                "value": [],
                "metadata": {"mono_ns": stop_at, "rank": rank, "boot": last["metadata"]["boot"]},
            }
        )
    write_logs(b, logs)
    rebuild(b, noise=0.03)


@honest(
    "Four ranks on four nodes",
    "any number of ranks",
    "two_ranks",
    doubt="clock offsets: one for each node or each rank, the same here",
)
def _(b):
    nodes = read_json(b, "nodes.json")
    template = nodes["nodes"][1]
    offsets = {2: 9_000_000_000_000_000, 3: 5_000_000_000}
    logs = read_logs(b)
    for k, offset in offsets.items():
        link = {**template["link"], "address": f"address{k}"}
        nodes["nodes"].append(
            {**template, "host": f"node{k}", "node": f"node{k}", "ranks": [k], "link": link}
        )
        logs[k] = read_log(b.path / "log.rank1.txt")
        before = 7_000_000_000_000_000
        for e in logs[k]:
            e["metadata"]["rank"] = k
            e["metadata"]["mono_ns"] += offset - before
        for name in ("readings", "baseload"):
            table = pd.read_parquet(b.path / f"{name}.node1.parquet")
            table["t_ns"] += offset - before
            rng = np.random.default_rng(k)
            table["t_ns"] = table["t_ns"].map(
                {t: t + int(rng.integers(0, 900_000)) for t in sorted(table["t_ns"].unique())}
            )
            table.to_parquet(b.path / f"{name}.node{k}.parquet", index=False)
    write_json(b, "nodes.json", nodes)
    b.request["parallel"].update(ranks=4, nodes=4)
    for events in logs.values():
        for e in events:
            if e["key"] == "ranks":
                e["value"] = 4
            if e["key"] == "peak_rss_of_ranks":
                e["value"] = [200_000_000] * 4
            if e["key"] == "nodes_of_ranks":
                e["value"] = ["node0", "node1", "node2", "node3"]
    for e in find(logs[0], "clock_offsets_ns"):
        e["value"] += [[offsets[2], 60000], [offsets[3], 40000]]
    write_logs(b, logs)
    rebuild(b, noise=0.03)


# Submissions
# --------------------------------------------------------------------------------------------------


@honest(
    "Five runs with seeds 7, 3, 1000, 12 and 5", "seeds are free, and need no order", "submission"
)
def _(s):
    for b, seed in zip(s.runs, (7, 3, 1000), strict=True):
        state(b, "seed", "seed", seed)
    s.save()
    for n, seed in ((4, 12), (5, 5)):
        place = s.runs[0].path.parent / f"run_{n}"
        shutil.copytree(s.runs[0].path, place)
        b = EditableBundle(place)
        another_run(b, seed=seed, later_s=n * 900.0, noise=0.05)
        s.runs.append(b)


@honest("Two runs only", "they are shown, unranked: a warning", "submission")
def _(s):
    s.remove(2)
    s.declare(forgotten=True)


@honest(
    "The machine was started anew between two runs",
    "system.json tells each run's boot",
    "submission",
    doubt="what is compared between the runs' system.json",
)
def _(s):
    boot = "66666666-6666-4666-8666-666666666666"
    in_every_log(s.runs[1], lambda events: [e["metadata"].update(boot=boot) for e in events])
    s.runs[1].system["boot"] = boot
    shift(s.runs[1], -1500.0)
    shift_wall(s.runs[1], 1_500_000)


@honest(
    "The runs were made out of the seeds' order, on three days",
    "runs are independent",
    "submission",
)
def _(s):
    shift(s.runs[0], 86_400.0)
    shift(s.runs[2], 172_800.0)


@honest(
    "A declaration with line ends of Windows and notes in several alphabets",
    "a person writes it",
    "submission",
)
def _(s):
    s.declaration(
        lambda content: content.update(notes="Lüfter: Noctua 40 mm, 5 V.\nКорпус: без крышки.\n")
    )
    path = s.path / "declaration.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


@honest(
    "A withdrawn run stays in the tree beside a file that says why",
    "the rulebook asks for it",
    "submission",
    doubt="where exactly the file WITHDRAWN lies",
)
def _(s):
    s.save()
    (s.runs[2].path / "WITHDRAWN").write_text("The fan failed during this run.\r\n")
    s.runs.pop(2)


@honest("One of three runs needed an epoch more", "seeds differ", "submission")
def _(s):
    counts = correct_counts(s.runs[1])
    rebuild(s.runs[1], correct=[*counts[:-1], 9893, 9906], noise=0.04, seed=77)


# The real run
# --------------------------------------------------------------------------------------------------


@honest(
    "A real run of the older format, read and sealed again",
    "bundles of schema 1 are read",
    "reference",
    sealed=False,
)
def _(b):
    assert b.run["schema"] == 1
    seal_manifest(b.path)


@honest("A real run, moved to another day", "runs happen on any day", "real")
def _(b):
    at_date(b, "2026-12-24T18:00:00+01:00")


@honest(
    "A real run on a machine that has been up for another time",
    "monotonic clocks count from the boot",
    "real",
)
def _(b):
    shift(b, 400_000.0)
    shift_wall(b, -400_000_000)
