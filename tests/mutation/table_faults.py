"""Faults of the tables: steps, and what the meters read."""

from collections.abc import Iterator

import pandas

from suite.compliance.editing import EditableBundle
from tests.mutation.log_faults import HOUR_NS, everywhere
from tests.mutation.mutation import Mutation, both, edit

PARTS = ("fetch_stall_s", "copy_s", "compute_s", "communication_s")


def step_faults() -> Iterator[Mutation]:
    """The step table."""
    for name, row in (("first", 0), ("middle", 700), ("last", -1)):
        yield from both(f"the {name} step taken out", "steps-complete", step_dropped(row))
    yield from both("a step twice", "steps-complete", step_twice(9))
    yield from both("two steps swapped", "steps-complete", first_steps_swapped())
    for column, value in (("samples", 1), ("epoch", 3), ("step", 5000), ("samples", -128), ("samples", 10**6)):
        yield from both(f"{column} = {value} in one step", "steps-complete", cell(column, 20, value))
    yield from both("a step of rank 1", "ranks-complete", cell("rank", 20, 1))
    for column in PARTS:
        yield from both(f"{column} below zero", "steps-in-time", cell(column, 20, -0.001))
        yield from both(f"{column} missing", "steps-in-time", cell(column, 20, float("nan")))
        yield from both(f"an hour of {column}", "steps-in-time", cell(column, 20, 3600.0))
    yield from both("steps an hour later", "steps-in-time", scaled("start_ns", 1, HOUR_NS))
    for share in (0.5, 0.01):
        yield from both(f"{share} of the compute time", "epoch-filled", scaled("compute_s", share))
    for value in (float("nan"), float("inf"), -1.0):
        yield from both(f"a loss of {value}", "losses-possible", cell("loss", 20, value))
    yield from both("one loss for all steps", "losses-possible", scaled("loss", 0, 2.3))
    yield from both("losses as of a trained model", "losses-possible", scaled("loss", 0.1))
    yield from both("losses ten times as large", "losses-possible", scaled("loss", 10))


def reading_faults() -> Iterator[Mutation]:
    """The meters' readings."""
    for source in ("um25c", "memory", "cpu", "disk", "counters"):
        yield from both(f"{source} read a day earlier", "readings-in-run", read_later(source, -24 * HOUR_NS))
        yield from both(f"a reading of {source} left out", "readings-counted", reading_left_out(source))
        yield from both(f"a reading of {source} put in", "readings-counted", reading_put_in(source))
        yield from both(f"two readings of {source} at one time", "readings-in-order", read_at_one_time(source))
        yield from both(f"{source} silent for ten seconds, and the count made to fit", "readings-gaps", silent(source))
    for source, channel in (("disk", "read_bytes"), ("counters", "page_faults.count"), ("counters", "instructions.count")):
        yield from both(f"{channel} falls", "counters-never-fall", reading_set(source, channel, -1, 0.0))
    impossible = (
        ("cpu", "utilisation.total", 140.0), ("cpu", "utilisation.core1", -3.0), ("memory", "process_tree_rss", -1.0),
        ("memory", "process_tree_rss", float("nan")), ("um25c", "power", float("inf")), ("um25c", "power", 1e6),
    )  # fmt: skip
    for source, channel, value in impossible:
        yield from both(f"{source} {channel} reads {value}", "readings-possible", reading_set(source, channel, 4, value))
    yield from both("a channel with two units", "readings-possible", another_unit())
    yield from both("more memory in use than there is", "readings-fit-machine", reading_set("memory", "process_tree_rss", 4, 1e15))
    yield from both("no power to speak of", "power-possible", power_scaled(0.001))
    yield from both("power with the wrong sign", "power-possible", power_scaled(-1))
    yield from both("90 W through a Jetson Nano", "power-possible", nano_of_90_w())
    yield from both("a third of the power", "power-above-idle", power_scaled(0.33))


@edit
def step_dropped(bundle: EditableBundle, row: int) -> None:
    """One step less."""
    bundle.steps = bundle.steps.drop(index=bundle.steps.index[row]).reset_index(drop=True)


@edit
def step_twice(bundle: EditableBundle, row: int) -> None:
    """One step again, at the end."""
    bundle.steps = pandas.concat([bundle.steps, bundle.steps.iloc[[row]]]).reset_index(drop=True)


@edit
def first_steps_swapped(bundle: EditableBundle) -> None:
    """The first two rows in one another's place."""
    bundle.steps = bundle.steps.iloc[[1, 0, *range(2, len(bundle.steps))]].reset_index(drop=True)


@edit
def cell(bundle: EditableBundle, column: str, row: int, value: float) -> None:
    """One value of one step."""
    bundle.steps.loc[row, column] = value


@edit
def scaled(bundle: EditableBundle, column: str, factor: float, plus: float = 0) -> None:
    """A whole column."""
    bundle.steps[column] = bundle.steps[column] * factor + plus


@edit
def read_later(bundle: EditableBundle, source: str, by_ns: int) -> None:
    """A meter's readings at another time."""
    bundle.readings.loc[bundle.at(source), "t_ns"] += by_ns


@edit
def reading_left_out(bundle: EditableBundle, source: str) -> None:
    """One reading less."""
    bundle.readings = bundle.readings.drop(index=_rows(bundle, source)[3]).reset_index(drop=True)


@edit
def reading_put_in(bundle: EditableBundle, source: str) -> None:
    """One reading more, right after another."""
    row = _rows(bundle, source)[3]
    more = bundle.readings.loc[[row]].assign(t_ns=bundle.readings["t_ns"][row] + 1)
    bundle.readings = pandas.concat([bundle.readings[:row], more, bundle.readings[row:]]).reset_index(drop=True)


@edit
def read_at_one_time(bundle: EditableBundle, source: str) -> None:
    """Two readings of a channel at the same time."""
    rows = _rows(bundle, source, bundle.readings["channel"][_rows(bundle, source)[0]])
    bundle.readings.loc[rows[3], "t_ns"] = bundle.readings["t_ns"][rows[2]]


@edit
def silent(bundle: EditableBundle, source: str) -> None:
    """Nothing of a meter for ten seconds in the middle, and a record that says so."""
    middle_ns = bundle.event("epoch_stop", 1)["metadata"]["mono_ns"]
    gone = bundle.at(source) & ((bundle.readings["t_ns"] - middle_ns).abs() < 5 * 10**9)
    bundle.readings = bundle.readings[~gone].reset_index(drop=True)
    for meter in bundle.run["meters"]:
        if meter["name"] == source:
            meter["readings"] -= int(gone.sum())


@edit
def reading_set(bundle: EditableBundle, source: str, channel: str, number: int, value: float) -> None:
    """One reading of a channel."""
    bundle.readings.loc[_rows(bundle, source, channel)[number], "value"] = value


@edit
def another_unit(bundle: EditableBundle) -> None:
    """One reading in another unit."""
    bundle.readings.loc[_rows(bundle, "memory")[3], "unit"] = "KiB"


@edit
def power_scaled(bundle: EditableBundle, factor: float) -> None:
    """Every power, so many times."""
    bundle.readings.loc[bundle.readings["unit"] == "W", "value"] *= factor


@edit
def as_device(bundle: EditableBundle, device: str) -> None:
    """Another device, in request, log and system description."""
    everywhere("platform", device)(bundle)
    bundle.system["device"] = device


@edit
def nano_of_90_w(bundle: EditableBundle) -> None:
    """More than the board's supply can give."""
    as_device("nano")(bundle)
    power_scaled(15.0)(bundle)


def _rows(bundle: EditableBundle, source: str, channel: str | None = None) -> pandas.Index:
    return bundle.readings[bundle.at(source, channel)].index
