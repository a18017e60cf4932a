"""Edits of meter readings, of the meters' records in run.json, and of the idle machine's
readings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suite.bundle.layout import BASELOAD
from tests.faults.edits.editable_bundle import EditableBundle, count_readings
from tests.faults.edits.fault import edit
from tests.faults.edits.log_edits import set_everywhere, set_request
from tests.faults.edits.table_edits import rename_source

if TYPE_CHECKING:
    import pandas

OWN_TIME = (("cpu", "process_tree"), ("counters", "task_clock.count"))


@edit
def scale_readings(
    bundle: EditableBundle, source: str, channel: str, factor: float, plus: float = 0.0
) -> None:
    """Scale the readings of channels whose names begin with ``channel``, then add ``plus``; counts
    stay whole numbers but for ``plus``."""
    rows = _rows(bundle, source, channel)
    scaled = bundle.readings.loc[rows, "value"].astype("float64") * factor
    bundle.readings.loc[rows, "value"] = (
        scaled.where(bundle.readings.loc[rows, "unit"] != "events", scaled.round()) + plus
    )


@edit
def scale_cpu_time(bundle: EditableBundle, factor: float) -> None:
    """Scale the implementation's CPU time, by both meters."""
    for source, channel in OWN_TIME:
        scale_readings(source, channel, factor)(bundle)


@edit
def use_two_cores(bundle: EditableBundle) -> None:
    """Request one thread, and let the implementation use two cores all the time."""
    set_request("threads", 1)(bundle)
    set_everywhere("division", "closed")(bundle)
    for source, channel in OWN_TIME:
        rows = _rows(bundle, source, channel)
        unit_s = 1e9 if source == "counters" else 1.0
        bundle.readings.loc[rows, "value"] = (2.0 * _seconds(bundle, rows) * unit_s).round(
            2 if unit_s == 1.0 else 0
        )
    bundle.readings.loc[_rows(bundle, "cpu", "utilisation"), "value"] = 100.0


@edit
def add_channel(
    bundle: EditableBundle,
    source: str,
    channel: str,
    unit: str,
    value: Callable[[float], float],
    period_s: float = 1.0,
) -> None:
    """Read another channel during the run, once a period: ``value`` of the seconds since run_start.
    A meter that was not there gets a record and its power rules."""
    import pandas  # start-up: slow to load

    from suite.metrics.power_totals import write_power_rules  # start-up: loads numpy

    start_ns, stop_ns = (
        bundle.event(key)["metadata"]["mono_ns"] for key in ("run_start", "run_stop")
    )
    times_ns = range(start_ns + 700, stop_ns, round(period_s * 1e9))
    rows = [
        (time_ns, source, channel, float(value((time_ns - start_ns) * 1e-9)), unit)
        for time_ns in times_ns
    ]
    more = pandas.DataFrame(rows, columns=list(bundle.readings.columns)).astype(
        bundle.readings.dtypes
    )
    bundle.readings = pandas.concat([bundle.readings, more]).reset_index(drop=True)
    if all(meter["name"] != source for meter in bundle.run["meters"]):
        bundle.run["meters"].append(
            {
                **bundle.run["meters"][0],
                "name": source,
                "period_s": period_s,
                "achieved_period_s": period_s,
            }
        )
        write_power_rules(bundle.path, bundle.readings["source"].unique())
    count_readings(bundle)


@edit
def copy_channel(
    bundle: EditableBundle, source: str, channel: str, name: str, unit: str, value: float
) -> None:
    """Read another channel of a meter with this value, whenever ``channel`` was read."""
    import pandas  # start-up: slow to load

    rows = bundle.readings[bundle.at(source, channel)].assign(channel=name, unit=unit, value=value)
    bundle.readings = pandas.concat([bundle.readings, rows]).reset_index(drop=True)
    count_readings(bundle)


@edit
def add_constant_channel(
    bundle: EditableBundle, source: str, channel: str, unit: str, value: float
) -> None:
    """Read another channel during the run, always the same value."""
    add_channel(source, channel, unit, lambda time_s: value)(bundle)


@edit
def step_wall_clock_unread(bundle: EditableBundle, by_ms: int) -> None:
    """Shift the wall clock from the second epoch on; the wall-clock meter reads nothing of it."""
    add_channel("wall-clock", "drift", "s", lambda time_s: 1e-6)(bundle)
    for event in bundle.events[bundle.events.index(bundle.event("epoch_start", 1)) :]:
        event["time_ms"] += by_ms


@edit
def lower_frequency(bundle: EditableBundle) -> None:
    """Let the processor's clock fall to a quarter in the last epoch."""
    last_ns = bundle.event("epoch_start", -1)["metadata"]["mono_ns"]
    bundle.readings.loc[
        _rows(bundle, "cpu", "frequency") & (bundle.readings["t_ns"] > last_ns), "value"
    ] /= 4


@edit
def set_peak_memory(bundle: EditableBundle, factor: float) -> None:
    """One process, whose peak is ``factor`` times the memory in use."""
    peak_bytes = (
        float(bundle.readings.loc[bundle.at("memory", "process_tree_rss"), "value"].max()) * factor
    )
    add_channel("memory", "largest_process_peak_rss", "B", lambda time_s: peak_bytes)(bundle)
    add_channel("memory", "process_tree_size", "processes", lambda time_s: 1.0)(bundle)


@edit
def log_peak_memory(bundle: EditableBundle, factor: float, ranks: int = 1) -> None:
    """Log ``factor`` times the peak memory that was read, for a number of ranks."""
    set_peak_memory(1.0)(bundle)
    peak_bytes = float(
        bundle.readings.loc[bundle.at("memory", "largest_process_peak_rss"), "value"].max()
    )
    stop = bundle.event("run_stop")
    logged = dict(
        stop,
        event_type="POINT_IN_TIME",
        key="peak_rss_of_ranks",
        value=[round(peak_bytes * factor)] * ranks,
        metadata=dict(stop["metadata"]),
    )
    bundle.events.insert(bundle.events.index(stop) + 1, logged)


@edit
def empty_cache_without_reading(bundle: EditableBundle) -> None:
    """Say that the page cache was emptied and filled again, and that the disk read nothing."""
    set_everywhere("cache_cleared", True)(bundle)
    scale_readings("disk", "read_bytes", 0.0)(bundle)
    add_channel("page-cache", "resident", "ratio", lambda time_s: min(1.0, time_s))(bundle)


@edit
def add_switches(bundle: EditableBundle, migrations: float) -> None:
    """Read a hundred context switches a second, and this many migrations for each of them."""
    add_channel(
        "counters", "context_switches.count", "events", lambda time_s: float(round(100 * time_s))
    )(bundle)
    add_channel(
        "counters",
        "cpu_migrations.count",
        "events",
        lambda time_s: float(round(100 * migrations * time_s)),
    )(bundle)


@edit
def read_without_work(bundle: EditableBundle) -> None:
    """Read 500 MB a second from a disk that is never busy."""
    scale_readings("disk", "read_bytes", 60_000.0)(bundle)
    add_constant_channel("disk", "busy", "s", 3.0)(bundle)


@edit
def set_meter(bundle: EditableBundle, /, name: str, **values: Any) -> None:
    """Set values of a meter's record."""
    for meter in bundle.run["meters"]:
        if meter["name"] == name:
            meter.update(values)


@edit
def scale_meter_times(bundle: EditableBundle, name: str, factor: float) -> None:
    """Scale the times of a meter's readings since its first one."""
    rows = _rows(bundle, name)
    first_ns = bundle.readings.loc[rows, "t_ns"].min()
    bundle.readings.loc[rows, "t_ns"] = first_ns + (
        (bundle.readings.loc[rows, "t_ns"] - first_ns) * factor
    ).astype("int64")


@edit
def silence_clocks(bundle: EditableBundle, governor: str) -> None:
    """Describe a governor, and leave out the readings of the cores' clocks."""
    bundle.system["cpu_governor"] = governor
    bundle.system["notes"].pop("cpu_governor", None)
    bundle.readings = bundle.readings[~_rows(bundle, "cpu", "frequency")].reset_index(drop=True)
    count_readings(bundle)


@edit
def count_written(bundle: EditableBundle, more: int) -> None:
    """Add the recorder's own record, with more readings than were written."""
    record = {
        **bundle.run["meters"][0],
        "name": "recorder",
        "readings": len(bundle.readings) + more,
    }
    bundle.run["meters"] = [
        meter for meter in bundle.run["meters"] if meter["name"] != "recorder"
    ] + [record]


@edit
def hurry_meters(bundle: EditableBundle, factor: float) -> None:
    """Scale the times of all meters since the first reading, with what their records state; the
    kernel's keep their period."""
    first_ns = bundle.readings["t_ns"].min()
    bundle.readings["t_ns"] = first_ns + ((bundle.readings["t_ns"] - first_ns) * factor).astype(
        "int64"
    )
    for meter in bundle.run["meters"]:
        meter.update(
            {name: meter[name] * factor for name in ("achieved_period_s", "longest_gap_s")}
        )


@edit
def free_meters(bundle: EditableBundle) -> None:
    """Let reading cost no meter any CPU time."""
    for meter in bundle.run["meters"]:
        meter["cost_s"] = 0.0


@edit
def leave_meter_out(bundle: EditableBundle, name: str) -> None:
    """Leave out a meter's readings; its record says that it was not there."""
    bundle.readings = bundle.readings[~bundle.at(name)].reset_index(drop=True)
    set_meter(
        name,
        available=False,
        reason="permission denied",
        readings=0,
        achieved_period_s=None,
        longest_gap_s=None,
    )(bundle)


@edit
def drop_power(bundle: EditableBundle) -> None:
    """Leave out the power readings, before and during the run; the meters' records say that none
    was there."""
    from suite.metrics.power_totals import write_power_rules  # start-up: loads numpy

    for source in set(bundle.readings.loc[bundle.readings["unit"] == "W", "source"]):
        leave_meter_out(source)(bundle)
    (bundle.path / BASELOAD).unlink(missing_ok=True)
    write_power_rules(bundle.path, bundle.readings["source"].unique())


@edit
def scale_longest_gaps(bundle: EditableBundle, factor: float) -> None:
    """Scale the longest gap in every meter's record."""
    for meter in bundle.run["meters"]:
        meter["longest_gap_s"] *= factor


@edit
def round_reading_times(bundle: EditableBundle, to_ns: int) -> None:
    """Round every reading's time down; of those that coincide, the first stays."""
    bundle.readings["t_ns"] = bundle.readings["t_ns"] // to_ns * to_ns
    bundle.readings = bundle.readings.drop_duplicates(["t_ns", "source", "channel"]).reset_index(
        drop=True
    )
    count_readings(bundle)


@edit
def drop_readings(bundle: EditableBundle, name: str, first_s: float, last_s: float) -> None:
    """Leave out a meter's readings between two moments after run_start, and lower its count."""
    start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
    since_s = (bundle.readings["t_ns"] - start_ns) * 1e-9
    bundle.readings = bundle.readings[
        ~(_rows(bundle, name) & since_s.between(first_s, last_s))
    ].reset_index(drop=True)
    count_readings(bundle)


@edit
def shift_end(bundle: EditableBundle, by_s: float, name: str = "") -> None:
    """Read a meter (every one, if none is named) once more, ``by_s`` after its last reading."""
    import pandas  # start-up: slow to load

    last = bundle.readings[
        bundle.at(name) if name else bundle.readings["source"] != ""
    ].drop_duplicates(["source", "channel"], keep="last")
    bundle.readings = pandas.concat(
        [bundle.readings, last.assign(t_ns=last["t_ns"] + round(by_s * 1e9))]
    ).reset_index(drop=True)
    count_readings(bundle)


@edit
def set_units(bundle: EditableBundle, source: str, unit: str) -> None:
    """Set another unit for all readings of a meter."""
    bundle.readings.loc[bundle.at(source), "unit"] = unit


@edit
def set_values(
    bundle: EditableBundle, source: str, channel: str, every: int, change: Callable[[float], float]
) -> None:
    """Change one reading of ``every``."""
    rows = bundle.readings.index[bundle.at(source, channel)][::every]
    bundle.readings.loc[rows, "value"] = bundle.readings.loc[rows, "value"].map(change)


@edit
def clip_highest(bundle: EditableBundle, source: str, channel: str, share: float) -> None:
    """Cut the highest readings to the quantile above which they are."""
    rows = bundle.at(source, channel)
    values = bundle.readings.loc[rows, "value"]
    bundle.readings.loc[rows, "value"] = values.clip(upper=values.quantile(1 - share))


@edit
def call_analyser(bundle: EditableBundle, source: str) -> None:
    """Call a power meter an analyser of the board, and let it read whole watts."""
    from suite.metrics.power_totals import write_power_rules  # start-up: loads numpy

    rename_source(source, "meter-csv", "board.analyser")(bundle)
    rows = bundle.at("meter-csv")
    bundle.readings.loc[rows, "value"] = (
        bundle.readings.loc[rows, "value"].round() + bundle.readings.loc[rows, "t_ns"] // 10**9 % 2
    )
    change_baseload(
        lambda idle: idle.assign(
            source="meter-csv", channel="board.analyser", value=idle["value"].round()
        )
    )(bundle)
    write_power_rules(bundle.path, bundle.readings["source"].unique())


@edit
def take_idle_from_run(bundle: EditableBundle, source: str) -> None:
    """Write the first readings of a meter in the run as those of the idle machine."""
    values = bundle.readings.loc[bundle.at(source), "value"].to_numpy()
    change_baseload(lambda rows: rows.assign(value=values[: len(rows)]))(bundle)


@edit
def read_twice_as_often(bundle: EditableBundle, source: str, channel: str, factor: float) -> None:
    """Insert a reading of ``factor`` times the value in the middle between every two of a
    channel."""
    import pandas  # start-up: slow to load

    rows = bundle.readings[bundle.at(source, channel)]
    between = rows.iloc[:-1].assign(
        t_ns=rows["t_ns"].to_numpy()[:-1]
        + rows["t_ns"].diff().iloc[1:].to_numpy().astype("int64") // 2
    )
    more = between.assign(value=between["value"] * factor)
    bundle.readings = (
        pandas.concat([bundle.readings, more])
        .sort_values("t_ns", kind="stable")
        .reset_index(drop=True)
    )
    count_readings(bundle)


@edit
def interpolate(bundle: EditableBundle, source: str, channel: str, every: int) -> None:
    """Keep one value of ``every`` of a channel, and put the others on straight lines between
    them."""
    import numpy as np  # start-up

    rows = bundle.at(source, channel)
    values = bundle.readings.loc[rows, "value"].to_numpy()
    kept = np.arange(0, len(values), every)
    bundle.readings.loc[rows, "value"] = np.interp(np.arange(len(values)), kept, values[kept])


@edit
def set_around_run(bundle: EditableBundle, source: str, channel: str, value: float) -> None:
    """Set what a channel read before run_start and after run_stop."""
    start_ns, stop_ns = (
        bundle.event(key)["metadata"]["mono_ns"] for key in ("run_start", "run_stop")
    )
    outside = (bundle.readings["t_ns"] < start_ns) | (bundle.readings["t_ns"] > stop_ns)
    bundle.readings.loc[bundle.at(source, channel) & outside, "value"] = value


@edit
def set_constant(bundle: EditableBundle, source: str, channel: str) -> None:
    """Set all readings of a channel to their first."""
    rows = bundle.at(source, channel)
    bundle.readings.loc[rows, "value"] = bundle.readings.loc[rows, "value"].iloc[0]


@edit
def paste_idle_power(bundle: EditableBundle) -> None:
    """Fill the power readings with the idle machine's, again and again, doubled."""
    import numpy as np  # start-up

    from suite.bundle.frames import read_readings  # start-up: loads pyarrow

    rows, idle = (
        bundle.at("um25c", "power"),
        read_readings(bundle.path / BASELOAD)["value"].to_numpy(),
    )
    bundle.readings.loc[rows, "value"] = np.resize(idle * 2, int(rows.sum()))


@edit
def change_baseload(
    bundle: EditableBundle, change: Callable[["pandas.DataFrame"], "pandas.DataFrame"]
) -> None:
    """Change the idle machine's readings."""
    from suite.bundle.frames import read_readings, write_table  # start-up: loads pyarrow

    write_table(
        change(read_readings(bundle.path / BASELOAD)).reset_index(drop=True), bundle.path / BASELOAD
    )


@edit
def add_idle_utilisation(bundle: EditableBundle, percent: float) -> None:
    """Let the CPU meter have read this utilisation of the idle machine."""
    import pandas  # start-up: slow to load

    def with_utilisation(rows: "pandas.DataFrame") -> "pandas.DataFrame":
        return pandas.concat(
            [rows, rows.assign(source="cpu", channel="utilisation.total", value=percent, unit="%")]
        )

    change_baseload(with_utilisation)(bundle)


def _rows(bundle: EditableBundle, source: str, channel: str = "") -> "pandas.Series":
    """Mask of a meter's channels whose names begin with ``channel``."""
    return (bundle.readings["source"] == source) & bundle.readings["channel"].str.startswith(
        channel
    )


def _seconds(bundle: EditableBundle, rows: "pandas.Series") -> "pandas.Series":
    times_ns = bundle.readings.loc[rows, "t_ns"]
    return (times_ns - times_ns.min()) * 1e-9
