"""Records read back as they were written; a record that contradicts itself, its setting or its
neighbours is refused with its line."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from suite.errors import SuiteError
from suite.extensions.concurrent.record import records
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.layout import MEASUREMENT
from suite.extensions.concurrent.record.records import (
    BATCHES,
    NOTICED,
    TRACE,
    BatchRow,
    Recording,
    read_recording,
    write_recording,
)
from tests.extensions.concurrent.conftest import Simulated


@pytest.fixture
def written(simulated: Simulated, tmp_path: Path) -> tuple[Path, Recording]:
    """A measurement of 2 s of Poisson arrivals, in batches of four."""
    found = simulated(Arrivals(ArrivalKind.POISSON, 100, 2), 4, 0.01)
    write_recording(
        tmp_path / "m",
        found.setting,
        [BatchRow(*row) for row in found.batches.tolist()],
        found.noticed_ns.tolist(),
    )
    return tmp_path / "m", found


def test_a_measurement_reads_back_as_it_was(written: tuple[Path, Recording]) -> None:
    folder, found = written
    again = read_recording(folder)
    assert again.setting == found.setting
    for name in ("intended_ns", "noticed_ns", "batches"):
        assert np.array_equal(getattr(again, name), getattr(found, name)), name


def test_the_intended_arrivals_are_in_no_file(written: tuple[Path, Recording]) -> None:
    """They follow from the setting, so nobody can move them to where they suit the latencies."""
    folder, _ = written
    assert {path.name for path in folder.iterdir()} == {MEASUREMENT, BATCHES, NOTICED}
    (folder / MEASUREMENT).write_text(
        (folder / MEASUREMENT).read_text().replace('"seed": 1', '"seed": 2')
    )
    with pytest.raises(
        SuiteError,
        match=r"noticed before its intended arrival|images, but according to the setting only",
    ):
        read_recording(folder)


def test_a_trace_is_kept_with_the_measurement(simulated: Simulated, tmp_path: Path) -> None:
    arrivals = Arrivals(ArrivalKind.TRACE, 3 / 2, 2, 0, (0.1, 0.25, 1.9))
    found = simulated(arrivals, 2, 0.01)
    write_recording(
        tmp_path / "m",
        found.setting,
        [BatchRow(*row) for row in found.batches.tolist()],
        found.noticed_ns.tolist(),
        arrivals.trace_s,
    )
    assert (tmp_path / "m" / TRACE).read_text() == "arrival_s\n0.1\n0.25\n1.9\n"
    assert np.array_equal(read_recording(tmp_path / "m").intended_ns, found.intended_ns)


def change(column: str, by: int) -> Callable[[list[list[int]]], None]:
    """An edit of the third batch."""

    def edit(rows: list[list[int]]) -> None:
        rows[2][BatchRow._fields.index(column)] += by

    return edit


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            change("first", 1),
            "line 4: the batch does not begin with the image that follows the previous batch's",
        ),
        (
            change("images", 1),
            "line 4: the batch has no images, or more than|line 5: the batch does not begin",
        ),
        (
            change("sent_ns", -(10**12)),
            "was sent before its last image had arrived|expected 7 whole numbers",
        ),
        (
            change("end_ns", -(10**8)),
            "line 4: the batch has times that are not in the order|expected 7 whole numbers",
        ),
        (change("end_ns", 10**9), "line 5: the batch starts before its predecessor ended"),
    ],
)
def test_a_batch_that_cannot_have_been_is_refused(
    edit: Callable[[list[list[int]]], None], says: str, written: tuple[Path, Recording]
) -> None:
    folder, found = written
    rows = found.batches.tolist()
    edit(rows)
    (folder / BATCHES).write_text(
        ",".join(BatchRow._fields) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    )
    with pytest.raises(SuiteError, match=says):
        read_recording(folder)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "first\n",
        ",".join(BatchRow._fields) + "\n0,0,x,0,0,0,0\n",
        ",".join(BatchRow._fields) + "\n1,2\n",
    ],
)
def test_what_is_no_table_of_batches_is_refused(
    content: str, written: tuple[Path, Recording]
) -> None:
    folder, _ = written
    (folder / BATCHES).write_text(content)
    if content == "":
        assert len(read_recording(folder).batches) == 0, "a measurement that was killed at once"
        return
    with pytest.raises(
        SuiteError, match=r"batches\.csv (begins with|line 2: expected 7 whole numbers)"
    ):
        read_recording(folder)


def test_a_row_that_was_cut_off_is_left_out(written: tuple[Path, Recording]) -> None:
    folder, found = written
    with (folder / BATCHES).open("a") as stream:
        stream.write("50,200,4,123")
    assert len(read_recording(folder).batches) == len(found.batches)


def test_a_table_has_as_many_rows_as_it_may_and_no_more(
    written: tuple[Path, Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, found = written
    images = len(found.noticed_ns)
    monkeypatch.setattr(records, "MAX_ROWS", images)
    assert len(read_recording(folder).noticed_ns) == images
    monkeypatch.setattr(records, "MAX_ROWS", images - 1)
    with pytest.raises(SuiteError, match=rf"noticed\.csv has more than {images - 1} rows"):
        read_recording(folder)
