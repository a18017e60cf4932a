"""Lies about counters and other readings."""

import numpy as np
import pandas as pd

from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.lies.power import power_rules_without_meters
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie

SUBJECT = "counters and readings"


def _set(copy: ForgedCopy, source: str, channel: str, values: object) -> None:
    copy.readings.loc[copy.of(source, channel), "value"] = values


def _get(copy: ForgedCopy, source: str, channel: str) -> np.ndarray:
    values: np.ndarray = (
        copy.readings.loc[copy.of(source, channel), "value"].to_numpy(dtype=float).copy()
    )
    return values


@lie(
    SUBJECT,
    EDITED,
    "a second thread does not show",
    NOTHING + " on a busy machine; the steps' computing time on a quiet one",
)
def a_fifth_less_cpu_time(copy: ForgedCopy) -> None:
    """CPU time of processes and task clock a fifth less."""
    _set(copy, "cpu", "process_tree", (_get(copy, "cpu", "process_tree") * 0.8).round(2))
    _set(
        copy,
        "counters",
        "task_clock.count",
        (_get(copy, "counters", "task_clock.count") * 0.8).round(),
    )


@lie(SUBJECT, EDITED, "a calm machine", "the cores' utilisation")
def total_utilisation_lowered(copy: ForgedCopy) -> None:
    """The total utilisation is half."""
    _set(copy, "cpu", "utilisation.total", _get(copy, "cpu", "utilisation.total") / 2)


@lie(
    SUBJECT,
    EDITED,
    "half of the memory",
    "the peak in the log, which the implementation wrote; made to fit here: " + NOTHING,
)
def half_of_the_memory(copy: ForgedCopy) -> None:
    """Resident memory, peak and the peak in the log, halved."""
    for channel in ("process_tree_rss", "largest_process_peak_rss"):
        _set(copy, "memory", channel, (_get(copy, "memory", channel) / 2 // 4096) * 4096)
    for event in copy.everywhere("peak_rss_of_ranks"):
        event["value"] = [value // 2 // 4096 * 4096 for value in event["value"]]


@lie(
    SUBJECT,
    EDITED,
    "a calm machine",
    "a machine whose other programs hold both cores switches contexts",
)
def no_context_switches(copy: ForgedCopy) -> None:
    """Not one context switch, nor a migration."""
    for channel in ("context_switches.count", "cpu_migrations.count"):
        _set(copy, "counters", channel, 0.0)


@lie(SUBJECT, EDITED, "nothing", "a migration is a context switch")
def migrations_without_switches(copy: ForgedCopy) -> None:
    """More migrations between cores than context switches."""
    _set(
        copy,
        "counters",
        "cpu_migrations.count",
        _get(copy, "counters", "context_switches.count") * 3,
    )


@lie(SUBJECT, ERROR, "nothing; a slip", "100 % are all of it")
def both_cores_added(copy: ForgedCopy) -> None:
    """The total is the sum of the cores."""
    _set(copy, "cpu", "utilisation.total", _get(copy, "cpu", "utilisation.total") * 2)


@lie(
    SUBJECT,
    EDITED,
    "an idle machine: nothing else ran",
    "the implementation's CPU time alone is more",
)
def an_idle_machine(copy: ForgedCopy) -> None:
    """The cores are used to 3 to 9 %."""
    generator = np.random.default_rng(10)
    first, second = (
        generator.uniform(3, 9, int(copy.of("cpu", "utilisation.core0").sum())) for _ in range(2)
    )
    _set(copy, "cpu", "utilisation.core0", first)
    _set(copy, "cpu", "utilisation.core1", second)
    _set(copy, "cpu", "utilisation.total", (first + second) / 2)


@lie(SUBJECT, ERROR, "nothing", "counters never fall")
def interface_restarted(copy: ForgedCopy) -> None:
    """The network's counters begin again at nought in the middle."""
    for channel in sorted(set(copy.readings.loc[copy.of("network"), "channel"])):
        values = _get(copy, "network", channel)
        values[len(values) // 2 :] -= values[len(values) // 2]
        _set(copy, "network", channel, values)


@lie(SUBJECT, ERROR, "nothing", "at most one failure a period")
def five_hundred_failures(copy: ForgedCopy) -> None:
    """The CPU meter says that it failed 5,000 times and has all readings."""
    copy.meter("cpu")["failures"] = 5000


@lie(SUBJECT, ERROR, "nothing; a slip", "the machine's memory")
def memory_of_a_larger_machine(copy: ForgedCopy) -> None:
    """Available memory is twice that of the machine."""
    _set(copy, "memory", "available", _get(copy, "memory", "available") * 2.5)


@lie(SUBJECT, EDITED, "less memory used", "used and available are the whole together")
def used_memory_lowered(copy: ForgedCopy) -> None:
    """Used memory is half of what it was; the available one is left."""
    _set(copy, "memory", "used", _get(copy, "memory", "used") / 2)


@lie(SUBJECT, ERROR, "nothing", "one process trains; the request has no workers", sample="closed")
def five_processes(copy: ForgedCopy) -> None:
    """Five processes in the tree."""
    _set(copy, "memory", "process_tree_size", 5.0)


@lie(SUBJECT, EDITED, "nothing", "a high-water mark never falls")
def a_peak_that_falls(copy: ForgedCopy) -> None:
    """The highest peak of a process falls in the second half."""
    values = _get(copy, "memory", "largest_process_peak_rss")
    values[len(values) // 2 :] *= 0.8
    _set(copy, "memory", "largest_process_peak_rss", (values // 4096) * 4096)


@lie(
    SUBJECT,
    FABRICATED,
    "a fixed clock",
    "the meter found no cpufreq: system.json has no governor, for that reason",
)
def an_invented_clock(copy: ForgedCopy) -> None:
    """Clocks of 1.5 GHz of both cores, where the kernel has no cpufreq."""
    frames = []
    for core in range(2):
        frame = copy.readings[copy.of("cpu", f"utilisation.core{core}")].copy()
        frame["channel"], frame["unit"], frame["value"] = f"frequency.core{core}", "Hz", 1.5e9
        frames.append(frame)
    copy.readings = (
        pd.concat([copy.readings, *frames])
        .sort_values("t_ns", kind="stable")
        .reset_index(drop=True)
    )
    copy.restate_meters()


@lie(SUBJECT, FABRICATED, "a cool board", "the meter's own record: the reason why it has none")
def an_invented_temperature(copy: ForgedCopy) -> None:
    """45 degrees Celsius, every two seconds, by a meter that was not there and now is."""
    start, stop = copy.window()
    times = np.arange(start - 3 * 10**9, stop + 10**9, 2 * 10**9) + np.random.default_rng(
        11
    ).integers(0, 10**6, len(np.arange(start - 3 * 10**9, stop + 10**9, 2 * 10**9)))
    frame = pd.DataFrame(
        {
            "t_ns": times,
            "source": "temperature",
            "channel": "cpu-thermal",
            "value": 45.0,
            "unit": "degC",
        }
    )
    copy.readings = (
        pd.concat([copy.readings, frame]).sort_values("t_ns", kind="stable").reset_index(drop=True)
    )
    copy.meter("temperature").update(
        available=True, reason="", achieved_period_s=2.0, longest_gap_s=2.0
    )
    copy.restate_meters()


@lie(SUBJECT, FABRICATED, "readings without a recorder", "CPU time that rises by equal amounts")
def readings_on_a_line(copy: ForgedCopy) -> None:
    """CPU time and task clock rise evenly."""
    for source, channel, digits in (
        ("cpu", "process_tree", 2),
        ("counters", "task_clock.count", 0),
    ):
        values = _get(copy, source, channel)
        _set(copy, source, channel, np.linspace(values[0], values[-1], len(values)).round(digits))


@lie(SUBJECT, ERROR, "nothing; a slip", "one reading of every channel a moment")
def recorder_counted_less(copy: ForgedCopy) -> None:
    """The recorder counted ten readings less than there are."""
    copy.meter("recorder")["readings"] -= 10


@lie(SUBJECT, EDITED, "nothing swapped", "swap that is used, where major faults are")
def disk_never_busy(copy: ForgedCopy) -> None:
    """The disk's busy time stands still while it reads and writes gigabytes."""
    _set(copy, "disk", "busy", float(_get(copy, "disk", "busy")[0]))


@lie(SUBJECT, EDITED, "a recorder that costs nothing", "reading costs CPU time")
def a_recorder_without_cost(copy: ForgedCopy) -> None:
    """Every meter says that it cost no CPU time."""
    for meter in copy.run["meters"]:
        meter["cost_s"] = 0.0


@lie(SUBJECT, EDITED, "no meters: nothing contradicts", "the meters of any Linux: " + NOTHING)
def hardly_any_meters(copy: ForgedCopy) -> None:
    """All meters are said to have been absent; no readings but those of the page cache and the wall
    clock."""
    kept = ("page-cache", "wall-clock")
    copy.readings = copy.readings[copy.readings["source"].isin(kept)].reset_index(drop=True)
    for meter in copy.run["meters"]:
        if meter["available"] and meter["name"] not in (*kept, "recorder"):
            meter.update(
                available=False,
                reason="permission denied",
                readings=0,
                achieved_period_s=None,
                longest_gap_s=None,
            )
    copy.restate_meters()
    copy.baseload = None
    (copy.path / "baseload.parquet").unlink(missing_ok=True)
    copy.json["power"] = power_rules_without_meters(copy.json["power"])
