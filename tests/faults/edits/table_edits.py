"""Edits of a bundle's tables: step records and meter readings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from suite.bundle.layout import BASELOAD, PARTS, node_tables
from suite.bundle.node_records import NODES
from tests.faults.edits.editable_bundle import EditableBundle, count_readings
from tests.faults.edits.fault import edit
from tests.faults.edits.file_edits import change_file
from tests.faults.edits.log_edits import HOUR_NS, scale_run_time, set_device

if TYPE_CHECKING:
    import pandas

SECOND_NODE = node_tables(1)[0]


@edit
def drop_step(bundle: EditableBundle, row: int) -> None:
    """Drop one step."""
    bundle.steps = bundle.steps.drop(index=bundle.steps.index[row]).reset_index(drop=True)


@edit
def repeat_step(bundle: EditableBundle, row: int) -> None:
    """Append one step a second time."""
    import pandas  # start-up: slow to load

    bundle.steps = pandas.concat([bundle.steps, bundle.steps.iloc[[row]]]).reset_index(drop=True)


@edit
def swap_first_steps(bundle: EditableBundle) -> None:
    """Exchange the first two rows."""
    bundle.steps = bundle.steps.iloc[[1, 0, *range(2, len(bundle.steps))]].reset_index(drop=True)


@edit
def set_cell(bundle: EditableBundle, column: str, row: int, value: float) -> None:
    """Set one value of one step; a negative row counts from the end."""
    bundle.steps.loc[bundle.steps.index[row], column] = value


@edit
def scale_column(bundle: EditableBundle, column: str, factor: float, plus: float = 0) -> None:
    """Scale a column of the steps, then add ``plus``."""
    bundle.steps[column] = bundle.steps[column] * factor + plus


@edit
def drop_rank(bundle: EditableBundle, rank: int) -> None:
    """Drop every step of a rank."""
    bundle.steps = bundle.steps[bundle.steps["rank"] != rank].reset_index(drop=True)


@edit
def rename_rank(bundle: EditableBundle, rank: int, name: int) -> None:
    """Record a rank's steps under another rank's number."""
    bundle.steps.loc[bundle.steps["rank"] == rank, "rank"] = name


@edit
def shrink_share(bundle: EditableBundle, rank: int) -> None:
    """Move a sample of every mini-batch from a rank to the others."""
    of_rank = bundle.steps["rank"] == rank
    bundle.steps.loc[of_rank, "samples"] -= 1
    bundle.steps.loc[~of_rank, "samples"] += 1


@edit
def set_cell_of_rank(bundle: EditableBundle, rank: int, column: str, value: float) -> None:
    """Set one value of one of a rank's steps."""
    bundle.steps.loc[bundle.steps[bundle.steps["rank"] == rank].index[20], column] = value


@edit
def scale_column_of_rank(bundle: EditableBundle, rank: int, column: str, factor: float) -> None:
    """Scale a column of a rank's steps; ``start_ns`` is scaled from the run's first step on."""
    of_rank = bundle.steps["rank"] == rank
    base = int(bundle.steps.loc[of_rank, column].iloc[0]) if column == "start_ns" else 0
    scaled = base + (bundle.steps.loc[of_rank, column] - base) * factor
    bundle.steps.loc[of_rank, column] = scaled.astype(bundle.steps[column].dtype)


@edit
def set_column_of_rank(
    bundle: EditableBundle, rank: int | None, column: str, value: float, every: int | None = None
) -> None:
    """Set a column of a rank's steps (None: of all ranks); every N-th step keeps its value."""
    chosen = (bundle.steps["rank"] == rank) | (rank is None)
    if every is not None:
        chosen &= bundle.steps["step"] % every != 0
    bundle.steps.loc[chosen, column] = value


@edit
def halve_all_times(bundle: EditableBundle) -> None:
    """Halve every time of the run, as a processor with twice the clock would have had it; meters,
    which keep their period, have half the readings."""
    start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
    scale_run_time(wall=0.5, monotonic=0.5)(bundle)
    # whole nanoseconds, as the clock counts them
    bundle.steps[list(PARTS)] = (bundle.steps[list(PARTS)] * 0.5e9) // 1 / 1e9
    for table, column in ((bundle.steps, "start_ns"), (bundle.readings, "t_ns")):
        table[column] = start_ns + (table[column] - start_ns) // 2
    bundle.readings.loc[bundle.readings["channel"].str.startswith("frequency"), "value"] *= 2
    bundle.readings = bundle.readings[
        bundle.readings.groupby(["source", "channel"]).cumcount() % 2 == 0
    ].reset_index(drop=True)
    count_readings(bundle)


@edit
def count_fetch_as_copy(bundle: EditableBundle, row: int) -> None:
    """Record a step's fetch time as copy time."""
    bundle.steps.loc[row, "copy_s"] += bundle.steps.loc[row, "fetch_stall_s"]
    bundle.steps.loc[row, "fetch_stall_s"] = 0.0


@edit
def shift_readings(bundle: EditableBundle, source: str, by_ns: int) -> None:
    """Shift a meter's readings in time."""
    bundle.readings.loc[bundle.at(source), "t_ns"] += by_ns


@edit
def drop_reading(bundle: EditableBundle, source: str) -> None:
    """Drop one reading of a meter."""
    bundle.readings = bundle.readings.drop(index=_rows(bundle, source)[3]).reset_index(drop=True)


@edit
def insert_reading(bundle: EditableBundle, source: str) -> None:
    """Insert a copy of a reading, one nanosecond after it."""
    import pandas  # start-up: slow to load

    row = _rows(bundle, source)[3]
    more = bundle.readings.loc[[row]].assign(t_ns=bundle.readings["t_ns"][row] + 1)
    bundle.readings = pandas.concat(
        [bundle.readings[:row], more, bundle.readings[row:]]
    ).reset_index(drop=True)


@edit
def read_at_one_time(bundle: EditableBundle, source: str) -> None:
    """Give two readings of a channel the same time."""
    rows = _rows(bundle, source, bundle.readings["channel"][_rows(bundle, source)[0]])
    bundle.readings.loc[rows[3], "t_ns"] = bundle.readings["t_ns"][rows[2]]


@edit
def silence(bundle: EditableBundle, source: str, failures: int = 0) -> None:
    """Drop a meter's readings of ten seconds in the middle, make the recorder's count fit, and
    state ``failures``."""
    middle_ns = bundle.event("epoch_stop", 1)["metadata"]["mono_ns"]
    gone = bundle.at(source) & ((bundle.readings["t_ns"] - middle_ns).abs() < 5 * 10**9)
    bundle.readings = bundle.readings[~gone].reset_index(drop=True)
    for meter in bundle.run["meters"]:
        if meter["name"] == source:
            meter["readings"] -= int(gone.sum())
            meter["failures"] = failures


@edit
def set_reading(
    bundle: EditableBundle, source: str, channel: str, number: int, value: float
) -> None:
    """Set one reading of a channel."""
    bundle.readings.loc[_rows(bundle, source, channel)[number], "value"] = value


@edit
def set_unit(bundle: EditableBundle, source: str, unit: str) -> None:
    """Set another unit for one reading of a meter."""
    bundle.readings.loc[_rows(bundle, source)[3], "unit"] = unit


@edit
def scale_power(bundle: EditableBundle, factor: float) -> None:
    """Scale every power reading."""
    bundle.readings.loc[bundle.readings["unit"] == "W", "value"] *= factor


@edit
def empty_cache(bundle: EditableBundle) -> None:
    """Have nothing of the data set in memory at any reading, and read the same counts of bytes from
    the disk."""
    bundle.readings.loc[bundle.at("page-cache"), "value"] = 0.0
    rows = bundle.at("disk", "read_bytes")
    bundle.readings.loc[rows, "value"] = bundle.readings.loc[rows, "value"].iloc[0] + range(
        int(rows.sum())
    )


@edit
def set_frequency(bundle: EditableBundle, device: str, frequency_hz: float) -> None:
    """Claim another device, and let its cores run at this frequency."""
    set_device(device)(bundle)
    bundle.readings.loc[bundle.readings["unit"] == "Hz", "value"] = frequency_hz


@edit
def rename_source(bundle: EditableBundle, source: str, name: str, channel: str) -> None:
    """Claim that another meter read a power meter's values, as this channel."""
    rows = bundle.at(source)
    bundle.readings.loc[rows, ["source", "channel"]] = name, channel
    for meter in bundle.run["meters"]:
        meter["name"] = name if meter["name"] == source else meter["name"]


@edit
def group_losses(bundle: EditableBundle, group: int, only_first: bool = False) -> None:
    """Give every group of steps the loss of its first step, or its second step alone."""
    place = bundle.steps.index % group
    repeated = bundle.steps["loss"].where(place == 0).ffill()
    bundle.steps["loss"] = repeated.where((place == 1) | (not only_first), bundle.steps["loss"])


@edit
def drop_losses(bundle: EditableBundle, row: int, factor: float) -> None:
    """Scale the losses from this row on."""
    bundle.steps.loc[bundle.steps.index[row:], "loss"] *= factor


@edit
def keep_busy(bundle: EditableBundle, cores: float) -> None:
    """Add readings of the implementation's CPU time that rises by this number of seconds a second,
    and count them."""
    import pandas  # start-up: slow to load

    rows = bundle.readings[bundle.at("cpu", "utilisation.total")]
    more = rows.assign(
        channel="process_tree", unit="s", value=(rows["t_ns"] - rows["t_ns"].iloc[0]) * 1e-9 * cores
    )
    bundle.readings = pandas.concat([bundle.readings, more]).reset_index(drop=True)
    count_readings(bundle)


@edit
def change_second_node(
    bundle: EditableBundle,
    change: Callable[["pandas.DataFrame"], "pandas.DataFrame"],
    name: str = SECOND_NODE,
) -> None:
    """Change a table of the second node's readings."""
    from suite.bundle.frames import read_readings, write_table  # start-up: loads pyarrow

    write_table(change(read_readings(bundle.path / name)), bundle.path / name)


@edit
def forget_meter(bundle: EditableBundle, name: str) -> None:
    """Leave out the second node's readings and record of a meter; its readings of the idle node
    stay."""
    change_second_node(lambda rows: rows[rows["source"] != name].reset_index(drop=True))(bundle)

    def change(values: Any) -> None:
        second = values["nodes"][1]
        second["meters"] = [meter for meter in second["meters"] if meter["name"] != name]

    change_file(NODES, change)(bundle)


@edit
def copy_first_node(bundle: EditableBundle, name: str = SECOND_NODE) -> None:
    """Write the first node's readings as the second's, moved to the second node's clock; ``name``
    is the table."""
    offset_ns = bundle.event("clock_offsets_ns")["value"][1][0]
    first = bundle.readings
    if name != SECOND_NODE:
        from suite.bundle.frames import read_readings  # start-up: loads pyarrow

        first = read_readings(bundle.path / BASELOAD)
    change_second_node(lambda _: first.assign(t_ns=first["t_ns"] + offset_ns), name)(bundle)


def a_day_earlier(rows: "pandas.DataFrame") -> "pandas.DataFrame":
    """Shift readings by 24 hours."""
    return rows.assign(t_ns=rows["t_ns"] - 24 * HOUR_NS)


def scale_unit(unit: str, factor: float) -> Callable[["pandas.DataFrame"], "pandas.DataFrame"]:
    """Scale the readings in this unit."""
    return lambda rows: rows.assign(
        value=rows["value"].where(rows["unit"] != unit, rows["value"] * factor)
    )


def _rows(bundle: EditableBundle, source: str, channel: str | None = None) -> Any:
    return bundle.readings[bundle.at(source, channel)].index
