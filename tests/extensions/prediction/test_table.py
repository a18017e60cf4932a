"""Tables of profiled modes: what is read, and what is refused with file, row and column."""

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from suite.bundle.layout import MATRIX
from suite.errors import FileError, SuiteError
from suite.extensions.prediction.record.modes import Axis, Modes, grid, read_grid
from suite.extensions.prediction.record.table import MIN_ERROR, read_modes, read_table
from tests.sweeps import make_matrix

HEAD = "cores,cpu_mhz,time_s,power_w,time_se_s,power_se_w\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "modes.csv"
    path.write_text(text)
    return path


def test_a_table_has_profiled_modes_and_modes_to_predict(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, HEAD + "1,800,20,5,0.2,0.1\n2,800,,,,\n"))
    assert table.modes.rows.tolist() == [[1, 800], [2, 800]]
    assert (
        table.profile.rows.tolist(),
        table.profile.time_s.tolist(),
        table.profile.power_w.tolist(),
    ) == ([[1, 800]], [20], [5])
    assert (table.profile.time_error.tolist(), table.profile.power_error.tolist()) == (
        [0.01],
        [0.02],
    )


def test_json_and_parquet_say_the_same_as_csv(tmp_path: Path) -> None:
    rows = [
        {"cores": 1, "cpu_mhz": 800, "time_s": 20.0, "energy_j": 100.0},
        {"cores": 2, "cpu_mhz": 800, "time_s": None, "energy_j": None},
    ]
    as_json, as_parquet = tmp_path / "modes.json", tmp_path / "modes.parquet"
    as_json.write_text(json.dumps(rows))
    parquet.write_table(pyarrow.Table.from_pylist(rows), as_parquet)
    as_csv = written(tmp_path, "cores,cpu_mhz,time_s,energy_j\n1,800,20,100\n2,800,,\n")
    for path in (as_csv, as_json, as_parquet):
        table = read_table(path)
        assert (table.modes.rows.tolist(), table.profile.power_w.tolist()) == (
            [[1, 800], [2, 800]],
            [5],
        )


def test_repetitions_of_a_mode_are_one_mean_with_their_standard_error(tmp_path: Path) -> None:
    profile = read_table(written(tmp_path, HEAD + "1,800,18,5,0,0\n1,800,22,5,0,0\n")).profile
    assert profile.time_s.tolist() == [20]
    assert profile.time_error[0] == pytest.approx(np.std([18, 22], ddof=1) / np.sqrt(2) / 20)
    assert profile.power_error[0] == MIN_ERROR


def test_a_table_may_have_times_alone(tmp_path: Path) -> None:
    profile = read_table(written(tmp_path, "threads,time_s\n1,20\n2,12\n")).profile
    assert (profile.time_s.tolist(), profile.has_power) == ([20, 12], False)


def test_the_points_of_a_sweep_are_profiled_modes(tmp_path: Path) -> None:
    make_matrix(
        tmp_path / "sweep", {("1", "0.5"): 0.02, ("2", "1.5"): 0.008}, ("threads", "cpu_quota")
    )
    record = json.loads((tmp_path / "sweep" / MATRIX).read_text())
    of_epochs = read_table(tmp_path / "sweep")
    for point in record["points"]:
        point["figures"]["time_to_epoch_s"].update(value=None, spread=None, reason="one epoch only")
    (tmp_path / "sweep" / MATRIX).write_text(json.dumps(record))
    of_steps = read_table(tmp_path / "sweep")
    assert (of_steps.profile.names, of_steps.modes.rows.tolist()) == (
        ("threads", "cpu_quota"),
        [[1, 0.5], [2, 1.5]],
    )
    assert of_steps.profile.time_s[1] / of_steps.profile.time_s[0] == pytest.approx(0.4, rel=0.1)
    assert of_epochs.profile.time_s[0] > 10 * of_steps.profile.time_s[0]
    assert not of_steps.profile.has_power


def test_a_sweep_over_more_than_resources_is_no_table_of_modes(tmp_path: Path) -> None:
    make_matrix(
        tmp_path / "sweep", {("1", "16"): 0.02, ("1", "32"): 0.03}, ("threads", "batch_size")
    )
    with pytest.raises(
        FileError,
        match="varies batch_size as well as resources; use only one value of each",
    ):
        read_table(tmp_path / "sweep")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no resource column"),
        ("", "has no resource column"),
        (HEAD + "1,800,,,,\n", "has no row with time_s"),
        (
            HEAD + "1,800,20,5,,\n2,800,15,,,\n",
            "power_w or energy_j in some of the profiled rows only",
        ),
        (HEAD + "1,800,20,5,,\n1,fast,20,5,,\n", "cpu_mhz = 'fast' in row 2"),
        (HEAD + "1,,20,5,,\n", "no cpu_mhz in row 1"),
        (HEAD + "1,800,-3,5,,\n", "time_s = '-3' in row 1"),
        (HEAD + "1,800,nan,5,,\n", "time_s = 'nan' in row 1"),
        (HEAD + "1,800,inf,5,,\n", "time_s = 'inf' in row 1"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        read_table(written(tmp_path, text))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("no.csv", None),
        ("bad.json", b"{"),
        ("list.json", b"[1]"),
        ("bad.parquet", b"PAR1"),
        ("bad.csv", b"\xff\xfe"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError):
        read_table(path)


def test_modes_can_be_named_without_any_measurement(tmp_path: Path) -> None:
    assert len(read_modes(written(tmp_path, "threads,cpu_quota\n1,0.5\n2,1.5\n"))) == 2


def test_a_grid_is_every_combination(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(
        '[[axes]]\nname = "cores"\nvalues = [1, 2]\n[[axes]]\nname = "gpu_mhz"\nvalues = [300, 600,'
        " 900]\n"
    )
    assert read_grid(path).rows.tolist() == [
        [1, 300],
        [1, 600],
        [1, 900],
        [2, 300],
        [2, 600],
        [2, 900],
    ]


def test_two_columns_of_one_resource_are_refused() -> None:
    with pytest.raises(SuiteError, match="same resource"):
        Modes(("cores", "cpu_cores"), np.ones((1, 2)))


def test_a_grid_too_large_to_predict_is_refused() -> None:
    axis = tuple(float(value) for value in range(1, 102))
    with pytest.raises(SuiteError, match="1030301 modes"):
        grid((Axis("cores", axis), Axis("cpu_mhz", axis), Axis("gpu_mhz", axis)))


def test_a_grid_without_axes_is_told_to_add_some() -> None:
    with pytest.raises(SuiteError, match=r"add .*axes"):
        grid(())


def test_rows_are_found_among_the_modes() -> None:
    modes = grid((Axis("cores", (1, 2)), Axis("cpu_mhz", (100, 200))))
    assert modes.indices(np.array([[2, 100], [3, 100]])).tolist() == [2, -1]
    assert len(modes.with_rows(np.array([[2, 100], [3, 100]]))) == 5
