"""All figures of rich and of spoiled runs, as kept outputs: of a variation of a run what differs
from it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from suite.bundle import frames
from suite.bundle.layout import node_baseloads, node_tables
from suite.bundle.reader import Bundle
from suite.metrics.event_counts import derive_counters
from suite.metrics.power_totals import write_power_rules
from suite.metrics.summary import derive_summary
from suite.metrics.traces.reading import read_trace
from suite.metrics.traces.sniffing import recognise_format
from tests.builders import RICH, START_NS, Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.load_edits import add_load, alternate_load
from tests.faults.edits.log_edits import add_point, request_also
from tests.faults.edits.rank_log_edits import add_after_epochs, add_to_all_logs
from tests.faults.edits.reading_edits import add_channel
from tests.faults.resumed import _IN_LOGS, _RECORD
from tests.kept_outputs import differences, in_short, kept, plain
from tests.made_once import shared
from tests.suite.meters.meter_recordings import FOLDER, load_recording
from tests.suite.metrics.traces.test_reading import EXPORTS

SECOND = 10**9
RISING = ("operations", "events", "J", "s", "ns")
TOTALS = ("process_tree", "sent", "received", "read", "written")
DISTURBING = ("throttling", "wall-clock", "power-mode", "links")
Change = Callable[[EditableBundle], object]


def every_meter(bundle: EditableBundle) -> None:
    """Readings of the channels of all recordings, each at its own rate and with its own course:
    counters that rise unevenly, gauges that swing around the recorded value."""
    rows, place = [], 0
    start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
    for path in sorted(FOLDER.glob("*.toml")):
        if path.stem in DISTURBING:
            continue
        for channel, (value, unit) in load_recording(path.stem).readings.items():
            place += 1
            period_ns, level = 200_000_000 + 37_000_000 * (place % 7), float(value)
            rises = unit in RISING or channel.split(".")[-1] in TOTALS
            for index in range(30 * SECOND // period_ns):
                swing = (index * index * 7 + place) % 11
                now = level + 3.7 * index + swing / 8 if rises else level * (1 + swing / 40)
                t_ns = start_ns - SECOND + index * period_ns + place
                rows.append((t_ns, path.stem, channel, now, unit))
    add_readings(bundle, rows)


def add_readings(bundle: EditableBundle, rows: list[tuple[int, str, str, float, str]]) -> None:
    more = pandas.DataFrame(rows, columns=list(frames.READING_TYPES)).astype(frames.READING_TYPES)
    bundle.readings = pandas.concat([bundle.readings, more]).reset_index(drop=True)
    write_power_rules(bundle.path, bundle.readings["source"].unique())


def play(source: str, unit: str, period_s: float = 0.2, **levels: float) -> Change:
    """Channels of one meter: levels that swing; J rise by the level a second."""
    rises = unit == "J"

    def change(bundle: EditableBundle) -> None:
        start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
        rows = []
        for place, (name, level) in enumerate(levels.items()):
            for index in range(int(34 / period_s)):
                t_s, swing = index * period_s, 1 + (index * (index + place) % 13) / 50
                value = level * (t_s + swing / 5) if rises else round(level * swing, 3)
                t_ns = start_ns - 2 * SECOND + round(t_s * SECOND) + place
                rows.append((t_ns, source, name.replace("__", "."), value, unit))
        add_readings(bundle, rows)

    return change


def without_power(first_s: float, last_s: float, source: str = "um25c") -> Change:
    """No readings of the power meter between two moments of the run."""

    def change(bundle: EditableBundle) -> None:
        t_s = (bundle.readings["t_ns"] - START_NS) / SECOND
        gone = bundle.at(source) & (t_s > first_s) & (t_s < last_s)
        bundle.readings = bundle.readings[~gone].reset_index(drop=True)

    return change


def scaled_power(first_s: float, last_s: float, factor: float, plus: float = 0.0) -> Change:
    def change(bundle: EditableBundle) -> None:
        t_s = (bundle.readings["t_ns"] - START_NS) / SECOND
        rows = bundle.at("um25c") & (t_s > first_s) & (t_s < last_s)
        bundle.readings.loc[rows, "value"] = bundle.readings.loc[rows, "value"] * factor + plus

    return change


def disturbed(bundle: EditableBundle) -> None:
    """Throttled by flags and counters, a wall clock that steps, limits that change, links that
    lose."""
    courses: dict[tuple[str, str, str], Callable[[float], float]] = {
        ("throttling", "throttled", "active"): lambda t_s: float(3 < t_s < 7.5 or t_s > 26),
        ("throttling", "throttled.since_boot", "active"): lambda t_s: float(t_s > 3),
        ("throttling", "under_voltage.since_boot", "active"): lambda t_s: float(t_s > 11),
        ("throttling", "core0.core_throttle", "events"): lambda t_s: float(t_s // 9 * 4),
        ("nvml", "gpu0.throttle_reasons", "bits"): lambda t_s: 0x20 if 5 < t_s < 6 else 0x4,
        ("wall-clock", "drift", "s"): lambda t_s: 0.06 * (t_s > 8) - 0.4 * (t_s > 19) + t_s / 1e3,
        ("power-mode", "policy0.max", "Hz"): lambda t_s: 1.5e9 if t_s < 12 else 0.9e9,
        ("power-mode", "cores", "cores"): lambda t_s: 4.0 if 2 < t_s < 21 else 3.0,
        ("links", "eth0.packets", "events"): lambda t_s: float(round(100 * t_s)),
        ("links", "eth0.dropped", "events"): lambda t_s: float(min(max(0, t_s - 4), 3) // 1 * 5),
        ("links", "eth0.carrier_changes", "events"): lambda t_s: float(2 * (t_s > 15)),
        ("links", "tcp.segments", "events"): lambda t_s: float(round(50 * t_s)),
        ("links", "tcp.retransmitted", "events"): lambda t_s: float(t_s // 6 * 7),
    }
    for number, ((source, channel, unit), value) in enumerate(courses.items()):
        add_channel(source, channel, unit, value, 0.5 + number / 100)(bundle)


def unfinished(bundle: EditableBundle) -> None:
    """Killed in the last epoch."""
    begun = bundle.events.index(bundle.event("epoch_start", 2))
    del bundle.events[begun + 1 :]
    bundle.steps = bundle.steps[bundle.steps["step"] < 4000].reset_index(drop=True)


def cut_short(bundle: EditableBundle) -> None:
    """Epochs 1 and 3 train less than all samples; no digest of epoch 2's state is uncounted."""
    kept_steps = ~bundle.steps["step"].isin([5, 6, 7, 5000, 5001])
    bundle.steps = bundle.steps[kept_steps].reset_index(drop=True)
    bundle.remove("uncounted_stop", 1)


def paused(bundle: EditableBundle) -> None:
    """The clocks of all uncounted intervals go on for 1.25 s and more."""
    later_ns = 0
    for number, event in enumerate(bundle.events):
        if event["key"] == "uncounted_stop":
            later_ns += SECOND + SECOND // 4 * (1 + number % 3)
        event["metadata"]["mono_ns"] += later_ns
        event["time_ms"] += later_ns // 1_000_000


def without_parts(bundle: EditableBundle) -> None:
    for part in ("copy_s", "compute_s", "communication_s"):
        bundle.steps[part] = np.nan


def in_a_budget(bundle: EditableBundle) -> None:
    """A schedule, its times, and the parts of the peak."""
    schedule = {
        "budget_bytes": 3_000_000, "planned_bytes": 2_750_001, "planned_factor": 1.31,
        "schedule": "revolve", "keep": [1, 3], "spill": None,
    }  # fmt: skip
    request_also("recomputation", schedule)(bundle)
    counted = {"passes_s": 17.5, "again_s": 3.25, "storage_s": 1.75, "spilled_bytes": 123_456}
    add_point("recomputation", counted)(bundle)
    parts_of(bundle)


def parts_of(bundle: EditableBundle) -> None:
    parts = {"framework": 9e7, "mapped": 3e6, "parameter": 246_824, "velocity": 246_828}
    add_point("memory_parts", {**parts, "statistic": 12, "cgroup_peak": 187_654_321})(bundle)
    add_point("peak_rss_of_ranks", [201_000_000, 190_000_000])(bundle)


def resumed(bundle: EditableBundle) -> None:
    bundle.run["resumed"] = {**_RECORD, "uncounted_s": 2.5, "ended_time_ms": 1_799_999_991_000}
    _IN_LOGS(bundle)


def uneven_nodes(bundle: EditableBundle) -> None:
    """Other nodes draw other powers; one has no readings before the run, one a gap."""
    for place in (1, 2):
        table = bundle.path / node_tables(place)[0]
        readings = frames.read_readings(table)
        power = readings["source"] == "um25c"
        readings.loc[power, "value"] *= 1 + place / 4
        if place == 2:
            t_s = (readings["t_ns"] - readings["t_ns"].min()) / SECOND
            readings = readings[~(power & (t_s > 9) & (t_s < 13))]
        frames.write_table(readings.reset_index(drop=True), table)
    (bundle.path / node_baseloads(2)[0]).unlink()
    rows = bundle.steps["rank"] == 1
    bundle.steps.loc[rows, ["compute_s", "fetch_stall_s"]] *= [1.25, 0.5]
    add_to_all_logs("goodput_bytes_per_s", [[1.1e8, 0.9e8, 1.3e8]] * 3)(bundle)
    times = [{"mean_since_first_s": mean_s} for mean_s in (0.0005, 0.0011)]
    add_after_epochs("bucket_times", times)(bundle)


SHORT_LAST = replace(RICH, batch_size=64, jitter=0.2, workers=2, step_s=0.007)
SHORT_LAST = replace(SHORT_LAST, accuracies=(0.5, 0.9, 0.97, 0.9901), learning_rate=0.01)
NODES = replace(RICH, ranks=3, nodes=3, jitter=0.1, batch_size=100, step_s=0.016)
VARIATIONS: dict[str, tuple[Scenario, tuple[Change, ...]]] = {
    "every meter": (RICH, (every_meter,)),
    "a short last mini-batch, two workers": (SHORT_LAST, ()),
    "gaps in the power": (RICH, (without_power(2.2, 3.9), add_load(1.5, 0.6, 0.1))),
    "power in mW for a while, and a spike": (
        RICH,
        (scaled_power(5, 9, 1000), scaled_power(15.0, 15.3, 1, 400), scaled_power(20, 24, 0, 6.1)),
    ),
    "disturbed": (RICH, (disturbed, alternate_load())),
    "killed": (RICH, (unfinished,)),
    "cut short": (RICH, (cut_short,)),
    "paused": (RICH, (paused,)),
    "resumed": (RICH, (resumed,)),
    "asynchronous": (replace(RICH, gpu_mhz=(510.0, 921.6, 305.25)), (without_parts,)),
    "in a budget": (RICH, (in_a_budget,)),
    "rails of a board": (
        replace(RICH, power_w=None, idle_w=None),
        (
            play("ina3221", "W", 0.1, VDD_GPU_SOC=3.2, VDD_CPU_CV=1.1, VIN_SYS_5V0=2.3),
            play("tegrastats", "W", 1.0, VDD_GPU_SOC=3.3, VDD_CPU_CV=1.15),
            play("rapl", "J", 0.25, **{"package-0": 7.5, "dram-0": 1.25, "core-0": 4.0}),
            play("shelly", "W", 1.0, power=9.5),
            play("shelly", "J", 1.0, energy=9.25),
        ),
    ),
    "a GPU": (
        replace(RICH, power_w=None),
        (
            play("nvml", "W", 0.1, gpu0__power=31.0, gpu1__power=8.5),
            play("nvml", "%", 0.5, gpu0__utilisation=55.0, gpu1__utilisation=5.0),
            play("nvml", "B", 0.5, gpu0__memory_used=2e9, gpu1__memory_used=3e8),
        ),
    ),
    "three ranks on three nodes": (NODES, (uneven_nodes,)),
    "three ranks on a node": (replace(NODES, nodes=1), ()),
}  # fmt: skip


COUNTED = ("a short last mini-batch, two workers", "paused")


def figures_of(path: Path) -> Any:
    """Summary and counters of a bundle; rows of channels by their names."""
    bundle = Bundle(path)
    with np.errstate(all="ignore"):  # spoiled readings may be impossible
        summary = plain(derive_summary(bundle).to_dict())
        counters = derive_counters(bundle)
    channels = {f"{row.pop('source')} {row.pop('channel')}": row for row in summary["channels"]}
    for node in summary.get("nodes", ()):
        known = {name: each for name, each in node["figures"].items() if each["value"] is not None}
        node["figures"] = {
            name: {**each, "source": None, "sensor": None} for name, each in known.items()
        }
    return in_short({"summary": {**summary, "channels": channels}, "counters": plain(counters)})


def base_figures() -> Any:
    return figures_of(shared("the rich run", lambda place: make_bundle(place, RICH)))


def test_figures_of_a_rich_run() -> None:
    kept("figures", base_figures())


@pytest.mark.parametrize("name", VARIATIONS)
def test_figures_of_a_run_that_varies(name: str, tmp_path: Path) -> None:
    scenario, changes = VARIATIONS[name]
    bundle = EditableBundle(make_bundle(tmp_path / "run", scenario))
    for change in changes:
        change(bundle)
    bundle.save()
    base, found = base_figures(), figures_of(bundle.path)
    if name not in COUNTED:
        del base["counters"], found["counters"]
    kept("figures-varied", {where: value for where, _, value in differences(base, found)}, name)


def test_what_is_read_of_every_logger(tmp_path: Path) -> None:
    """Of three rows: times, s, and powers, W; of all: their number and sum."""
    found = {}
    for name, (text, options) in EXPORTS.items():
        path = tmp_path / "trace.csv"
        path.write_text(text, encoding="utf-8")
        how = recognise_format(path, options)
        trace = read_trace(path, how).trace
        rows = {"t_s": trace.t_s, "power_w": trace.power_w}
        found[name] = {
            **{key: [*values[:3], values[-1], values.sum()] for key, values in rows.items()},
            "rows": len(trace.t_s),
            "is_mean": trace.is_mean,
            "how": {key: value for key, value in plain(how).items() if value},
        }
    kept("traces-read", in_short(plain(found)))
