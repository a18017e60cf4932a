"""Readings by channel: every reading in the one it is of, in the table's order, whatever the
table's form."""

from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from suite.bundle import raw_tables, readings_table, tables
from suite.bundle.channels import Channels
from suite.bundle.limits import RowLimit
from suite.bundle.readings_table import (
    ReadingsMemory,
    channels_of_batches,
    channels_of_frame,
    read_raw_channels,
)
from suite.bundle.readings_table import read_channels as read_table
from suite.bundle.schemas import READING_TYPES
from suite.errors import FileError
from suite.metrics.window import CounterChannel, counter_increase, integrate_rates

ROWS = [
    (30, "disk", "read_bytes", 3.0, "B"),
    (10, "cpu", "utilisation.total", 50.0, "%"),
    (10, "disk", "read_bytes", 1.0, "B"),
    (20, "disk", "read_bytes", 2.0, "B"),
    (20, "cpu", "utilisation.total", float("nan"), "%"),
]


def frame(rows: list[tuple[int, str, str, float, str]] = ROWS) -> pandas.DataFrame:
    return pandas.DataFrame(rows, columns=list(READING_TYPES)).astype(READING_TYPES)


def table(rows: list[tuple[int, str, str, float, str]] = ROWS) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(frame(rows), preserve_index=False)


def written(content: pyarrow.Table, folder: Path, **how: object) -> Path:
    pyarrow.parquet.write_table(content, folder / "readings.parquet", **how)
    return folder / "readings.parquet"


def read_channels(path: Path, memory: ReadingsMemory | None = None) -> Channels:
    return read_table(path, RowLimit(100_000, "these are tests"), memory or ReadingsMemory())


def listed(found: Channels) -> list[tuple[str, str, str, list[int], list[float]]]:
    return [
        (
            one.source,
            one.name,
            one.unit,
            one.t_ns.tolist(),
            np.nan_to_num(one.values, nan=-1.0).tolist(),
        )
        for one in found
    ]


UNSORTED = [45, 10, 46, 20], [7.0, 1.0, 3.0, 2.0]
EXPECTED = [
    ("cpu", "utilisation.total", "%", [10, 20], [50.0, -1.0]),
    ("disk", "read_bytes", "B", [30, 10, 20], [3.0, 1.0, 2.0]),
]


@pytest.mark.parametrize(
    "how",
    [{}, {"row_group_size": 2}, {"use_dictionary": False}],
    ids=["one group", "several groups", "no dictionary"],
)
def test_a_table_is_read_by_channel_as_the_frame_of_it_is(
    how: dict[str, object], tmp_path: Path
) -> None:
    read = read_channels(written(table(), tmp_path, **how))
    assert listed(read) == listed(channels_of_frame(frame())) == EXPECTED
    assert (len(read), read.head_ns.tolist(), [one.first_row for one in read]) == (
        5,
        [30, 10, 10, 20, 20],
        [1, 0],
    )


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
    ],
    ids=str,
)
def test_names_may_be_stored_as_any_kind_of_text(kind: pyarrow.DataType, tmp_path: Path) -> None:
    content = table().set_column(1, "source", pyarrow.array([row[1] for row in ROWS]).cast(kind))
    assert listed(read_channels(written(content, tmp_path))) == EXPECTED


def test_a_channel_knows_its_readings_in_time_its_period_and_what_lies_in_a_window() -> None:
    rows = [(t_ns, "disk", "read_bytes", value, "B") for t_ns, value in zip(*UNSORTED, strict=True)]
    channels = channels_of_frame(frame([*rows, (7, "cpu", "a", 1.0, "%"), (48, "a", "a", 1.0, "")]))
    read_bytes = channels.get("disk", "read_bytes")
    assert read_bytes.in_time.values.tolist() == [1.0, 2.0, 7.0, 3.0]
    assert read_bytes.gaps_s == pytest.approx([10e-9, 25e-9, 1e-9])
    assert read_bytes.period_s == pytest.approx(10e-9)
    assert (read_bytes.ends_ns, read_bytes.increase) == ((10, 46), 2.0)
    for order in (read_bytes, read_bytes.in_time):
        assert sorted(order.during((20, 45)).values) == [2.0, 7.0]
        assert len(order.during((11, 19))) == len(order.during((47, 99))) == 0
    assert (read_bytes.minimum, read_bytes.mean, read_bytes.maximum) == (1.0, 3.25, 7.0)
    assert channels.span_ns == (7, 48) and channels.span_s == pytest.approx(41e-9)
    assert channels_of_frame(frame([])).span_s == 0.0
    assert [one.name for one in channels.of_source("cpu")] == ["a"] and channels.of_source(
        "gpu"
    ) == ()


def test_values_that_are_no_numbers_count_for_nothing_and_make_no_number_where_there_is_no_other() -> (  # noqa: E501
    None
):
    load = channels_of_frame(frame()).get("cpu", "utilisation.total")
    assert (load.mean, load.maximum) == (50.0, 50.0)
    assert np.isnan(load.during((20, 20)).mean)


def test_what_was_not_read_is_an_empty_channel() -> None:
    nothing = channels_of_frame(frame()).get("disk", "write_bytes")
    assert not nothing
    assert nothing.period_s is None
    assert CounterChannel(nothing).increase((0, 10), 5).value is None


def test_a_channel_of_two_units_says_so() -> None:
    odd = channels_of_frame(
        frame([(1, "cpu", "a", 1.0, "%"), (2, "cpu", "a", 1.0, "W"), (3, "cpu", "a", 1.0, "%")])
    ).get("cpu", "a")
    assert (odd.unit, odd.units) == ("%", 2)


def test_times_are_converted_to_another_clock() -> None:
    later = channels_of_frame(frame()).on_clock(lambda t_ns: t_ns + 5)
    assert later.get("disk", "read_bytes").t_ns.tolist() == [
        35,
        15,
        25,
    ] and later.head_ns.tolist() == [35, 15, 15, 25, 25]


@pytest.mark.parametrize("column", ["source", "channel", "unit", "t_ns"])
def test_a_table_with_an_empty_cell_is_not_readable(column: str, tmp_path: Path) -> None:
    content, place = table(), list(READING_TYPES).index(column)
    cells = [None, *content.column(column).to_pylist()[1:]]
    content = content.set_column(
        place, column, pyarrow.array(cells, content.schema.field(column).type)
    )
    with pytest.raises(
        FileError, match=r"readings\.parquet is not a readable table \(an empty cell"
    ):
        read_channels(written(content, tmp_path))


def test_a_name_that_a_file_lists_twice_is_one_channel() -> None:
    """Else half of its readings would be hidden from every rule."""
    twice = pyarrow.DictionaryArray.from_arrays([0, 1, 2], ["power", "load", "power"])
    rows = table([(place, "cpu", "", float(place), "") for place in range(3)])
    (batch,) = rows.set_column(2, "channel", twice).to_batches()
    found = channels_of_batches(Path("readings"), lambda: [batch], ReadingsMemory())
    assert [(one.name, one.t_ns.tolist()) for one in found] == [("load", [1]), ("power", [0, 2])]


def test_more_channels_than_any_machine_has_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings_table, "MAX_CHANNELS", 5)
    rows = [(place, f"source{place % 3}", f"channel{place % 4}", 1.0, "B") for place in range(12)]
    with pytest.raises(FileError, match="more than 5 channels"):
        read_channels(written(table(rows), tmp_path))


@pytest.mark.parametrize(
    "window", [(50, 60), (0, 5), (95, 120), (40, 41), (200, 210), (-20, -10), (55, 55)]
)
def test_a_window_is_measured_by_its_readings_and_the_ones_beside_it(
    window: tuple[int, int],
) -> None:
    """A reading further away, however odd, changes nothing."""
    times_ns, counts = np.arange(10, 100, 7), np.arange(13) ** 2.0
    measured = counter_increase(times_ns, counts, *window, period_s=7e-9)
    near = (times_ns >= window[0] - 14) & (times_ns <= window[1] + 14)
    beside = (
        []
        if near.sum() < 2
        else [counter_increase(times_ns[near], counts[near], *window, period_s=7e-9)]
    )
    assert [measured] * len(beside) == beside
    assert (
        integrate_rates(times_ns, counts, *window, period_s=7e-9, plausible=(0, 1e9)).count
        == ((times_ns >= window[0]) & (times_ns <= window[1])).sum()
    )


@pytest.mark.parametrize(
    "column",
    [pyarrow.array([["cpu"]] * len(ROWS)), pyarrow.array([{"name": "cpu"}] * len(ROWS)), None],
    ids=["lists", "records", "none"],
)
def test_a_table_without_a_column_of_names_is_not_readable(
    column: pyarrow.Array | None, tmp_path: Path
) -> None:
    content = (
        table().drop_columns(["source"])
        if column is None
        else table().set_column(1, "source", column)
    )
    with pytest.raises(FileError, match=r"has lists or records|has columns"):
        read_channels(written(content, tmp_path))


def test_memory_holds_the_readings_used_last_up_to_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readings_table, "HELD_READINGS", 10)
    memory, loaded = ReadingsMemory(), list[int]()

    def get(group: int, size: int) -> None:
        def load() -> tuple[np.ndarray, np.ndarray]:
            loaded.append(group)
            return np.arange(size), np.zeros(size)

        assert len(memory.get((0, group), size, load)[0]) == size

    for group, size in ((1, 5), (2, 5), (1, 5), (3, 4), (1, 5), (2, 5), (4, 30), (4, 30), (2, 5)):
        get(group, size)
    assert loaded == [1, 2, 3, 2, 4, 2]
    assert readings_table._groups([4, 6, 1, 12, 3, 7]) == [0, 2, 3, 4, 6]


def test_channels_that_are_decoded_group_by_group_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings_table, "HELD_READINGS", 5)
    monkeypatch.setattr(tables, "BATCH_ROWS", 4)
    names = "dacbadbeaddbce"
    rows = [(place, "x", name, float(place), "") for place, name in enumerate(names)]
    found = read_channels(written(table(rows), tmp_path))
    for _ in range(2):
        for one in reversed(found.channels):
            places = [place for place, name in enumerate(names) if name == one.name]
            assert one.t_ns.tolist() == one.values.tolist() == places
            assert (one.first_row, one.count) == (places[0], len(places))


def test_readings_of_a_run_that_goes_on_are_those_of_the_moment_when_they_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_tables, "BLOCK_BYTES", 256)  # of a file of one block all is kept
    path = tmp_path / "readings.csv"
    lines = [f"{place},x,{'ab'[place % 2]},1,W\n" for place in range(60)]
    path.write_text(",".join(READING_TYPES) + "\n" + "".join(lines[:40]))
    found = read_raw_channels(path, ReadingsMemory())
    with path.open("a") as stream:
        stream.writelines(lines[40:])
    assert [one.t_ns.tolist() for one in found] == [[*range(0, 40, 2)], [*range(1, 40, 2)]]
