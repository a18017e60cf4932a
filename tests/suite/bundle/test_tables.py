"""Tables on disk: whole lines, whole row groups, no more rows than are possible."""

import io
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from suite.bundle import raw_tables, tables
from suite.bundle.limits import RowLimit
from suite.bundle.raw_tables import read_batches
from suite.bundle.schemas import READING_TYPES, SCHEMA_1_STEP_NAMES, STEP_TYPES
from suite.bundle.tables import (
    TableWriter,
    join_steps,
    numeric_column,
    raw_step_batches,
    table_batches,
    texts_of_table,
)
from suite.errors import FileError


def rows(first: int, last: int) -> pyarrow.RecordBatch:
    numbers = range(first, last)
    return pyarrow.RecordBatch.from_pydict(
        {
            "t_ns": pyarrow.array(numbers, pyarrow.int64()),
            "source": pyarrow.array(["s"] * len(numbers)).dictionary_encode(),
            "channel": pyarrow.array([f"c{each % 3}" for each in numbers]).dictionary_encode(),
            "value": pyarrow.array(map(float, numbers), pyarrow.float64()),
            "unit": pyarrow.array(["W"] * len(numbers)).dictionary_encode(),
        }
    )


def test_batches_of_any_size_are_written_in_row_groups_of_one_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "GROUP_ROWS", 4)
    path = tmp_path / "readings.parquet"
    writer = TableWriter(path, READING_TYPES)
    for first, last in ((0, 3), (3, 6), (6, 6), (6, 15), (15, 19)):
        writer.write(rows(first, last))
    writer.close()
    with pyarrow.parquet.ParquetFile(path) as file:
        groups = [file.metadata.row_group(place).num_rows for place in range(5)]
        table = file.read()
    assert groups == [4, 4, 4, 4, 3] and table["t_ns"].to_pylist() == list(range(19))
    assert table["channel"].to_pylist() == [f"c{each % 3}" for each in range(19)]
    batches = table_batches(path, READING_TYPES, RowLimit(19, ""))
    assert sum(map(len, batches)) == 19
    with pytest.raises(FileError, match="has 19 rows, more than the 18 possible: a test"):
        next(table_batches(path, READING_TYPES, RowLimit(18, "a test")))
    texts = [
        ("channel", "c0"),
        ("channel", "c1"),
        ("channel", "c2"),
        ("source", "s"),
        ("unit", "W"),
    ]
    assert sorted(texts_of_table(path, ())) == texts
    assert sorted(texts_of_table(path, ("source", "channel", "unit"))) == texts


@pytest.mark.parametrize(
    ("content", "whole"),
    [("", 0), ("abcdef", 0), ("\n", 1), ("ab\ncdefghijk", 3), ("a\nbc\n", 5), ("abc\ndefg", 4)],
)
def test_a_file_s_whole_lines_are_found_from_its_end(
    content: str, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raw_tables, "TAIL_BYTES", 4)
    stream = io.BufferedReader(io.BytesIO(content.encode()))  # type: ignore[arg-type]
    assert raw_tables._WholeLines(stream).read() == content[:whole].encode()


def test_only_a_value_may_be_unknown(tmp_path: Path) -> None:
    path, head = tmp_path / "readings.csv", ",".join(READING_TYPES)
    path.write_text(f"{head}\n1,cpu,,nan,%\n2,cpu,b,0.5,\n")
    (batch,) = read_batches(path, READING_TYPES)
    assert batch["channel"].to_pylist() == ["", "b"] and batch["unit"].to_pylist() == ["%", ""]
    assert np.array_equal(numeric_column(batch["value"], "float64"), [np.nan, 0.5], equal_nan=True)
    path.write_text(f"{head}\n1,cpu,a,1,%\nnan,cpu,b,0.5,\n")
    with pytest.raises(FileError, match="an empty cell in the column t_ns"):
        list(read_batches(path, READING_TYPES))


def test_steps_are_read_rank_after_rank_and_under_their_first_names(tmp_path: Path) -> None:
    """By columns of equal place: what schema 1 called otherwise is the communication."""
    for name, head, rank in (("0", STEP_TYPES, 0), ("1", SCHEMA_1_STEP_NAMES, 1)):
        lines = [f"{epoch},{epoch * 2},{rank},16,5,.1,.2,.3,.4,2" for epoch in (1, 2, 3)]
        (tmp_path / name).write_text("\n".join([",".join(head), *lines, ""]))
    steps = join_steps(raw_step_batches([tmp_path / "1", tmp_path / "0"], (3, 1)))
    assert list(zip(steps.rank, steps.epoch, steps.step, strict=True)) == [
        (1, 1, 2),
        (1, 3, 6),
        (0, 1, 2),
        (0, 3, 6),
    ]
    assert steps.parts_s.tolist() == [[0.1] * 4, [0.2] * 4, [0.3] * 4, [0.4] * 4]


def test_numbers_of_a_part_of_a_column_are_those_of_the_part() -> None:
    for kind in (pyarrow.int32(), pyarrow.int64()):
        part = pyarrow.array([5, 6, 7, 8], kind).slice(1, 2)
        assert numeric_column(part, "int64").tolist() == [6, 7]
    unknown = pyarrow.array([1, None, 3])
    assert numeric_column(unknown, "float64").tolist()[::2] == [1.0, 3.0]
    with pytest.raises(ValueError, match="must be an integer"):
        numeric_column(unknown, "int64")
