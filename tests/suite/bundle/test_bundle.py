"""The bundle: whole or plainly unfinished, read back to the last bit, sealed against change."""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pandas
import pytest

from suite.bundle import frames, layout, reader
from suite.bundle.limits import RowLimit
from suite.bundle.reader import Bundle
from suite.bundle.tables import join_steps, raw_step_batches, step_batches
from suite.catalog.power import Coverage, Tier
from suite.errors import FileError
from suite.metrics.figure import Sensor
from suite.metrics.power_totals import write_power_rules
from suite.metrics.summary import derive_summary
from tests.builders import Scenario, make_bundle

STEPS_HEADER = (
    "epoch,step,rank,samples,start_ns,fetch_stall_s,copy_s,compute_s,communication_s,loss\n"
)


def test_coreutils_reads_the_manifest(good_bundle: Path) -> None:
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", layout.MANIFEST],
        cwd=good_bundle,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
    assert len(checked.stdout.splitlines()) == len(list(good_bundle.iterdir())) - 1


def test_steps_cut_off_in_the_middle_of_a_line_read_back_to_the_last_finished_epoch(
    tmp_path: Path,
) -> None:
    path = tmp_path / "steps.csv"
    path.write_text(
        STEPS_HEADER
        + "1,1,0,16,100,0.1,0.0,0.2,0.0,2.3\n1,2,0,16,200,0.1,0.0,0.2,0.0,2.2\n2,3,0,16,300,0.1,0.0,0."  # noqa: E501
    )
    assert list(join_steps(raw_step_batches([path], [1])).step) == [1, 2]
    path.write_text(
        STEPS_HEADER + "1,1,0,16,100,0.1,0.0,0.2,0.0,2.3\n2,2,0,16,200,0.1,0.0,0.2,0.0,2"
    )
    assert list(join_steps(raw_step_batches([path], [1, 2])).step) == [1]


@pytest.mark.parametrize("value", [0.1 + 0.2, 5e-324, 1.7976931348623157e308, 123456.789012345678])
def test_floats_survive_both_tables_to_the_last_bit(value: float, tmp_path: Path) -> None:
    (tmp_path / "steps.csv").write_text(
        STEPS_HEADER + f"1,1,0,16,{2**62},{value!r},0.0,0.2,0.0,2.3\n"
    )
    frame = pandas.DataFrame(asdict(join_steps(raw_step_batches([tmp_path / "steps.csv"], [1]))))
    frames.write_table(frame, tmp_path / "steps.parquet")
    (again,) = step_batches(tmp_path / "steps.parquet", RowLimit(1, "one step"))
    assert float(again.fetch_stall_s[0]) == value and int(again.start_ns[0]) == 2**62


@pytest.mark.parametrize(
    "content",
    ["a,b\n1,2\n", STEPS_HEADER + "1,one,0,16,1,0,0,0,0,0\n"],
    ids=["other columns", "NaN"],
)
def test_a_table_that_is_none_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "steps.csv").write_text(content)
    with pytest.raises(FileError, match=r"steps\.csv"):
        join_steps(raw_step_batches([tmp_path / "steps.csv"], [1]))


def test_readings_may_take_more_bytes_as_csv_than_as_the_table_that_they_become(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, head = tmp_path / layout.READINGS_RAW, "t_ns,source,channel,value,unit\n"
    path.write_text(head + "1,cpu,utilisation.total,50.0,%\n")
    monkeypatch.setattr(reader, "MAX_TABLE_BYTES", 40)
    assert len(Bundle(tmp_path).channels()) == 1
    monkeypatch.setattr(reader, "MAX_RAW_BYTES", 40)
    with pytest.raises(FileError, match="is larger than 40 bytes"):
        Bundle(tmp_path).channels()


def test_run_json_of_another_schema_is_refused(good_bundle: Path) -> None:
    values = json.loads((good_bundle / "run.json").read_text())
    (good_bundle / "run.json").write_text(json.dumps({**values, "schema": 3}))
    with pytest.raises(FileError, match="schema 3"):
        Bundle(good_bundle).run()


def test_the_mean_is_over_epochs_two_to_last_with_its_spread(good_bundle: Path) -> None:
    figures = derive_summary(Bundle(good_bundle)).figures
    assert figures["time_to_epoch_s"].count == 2 and figures["first_epoch_s"].count == 1
    assert figures["time_to_epoch_s"].spread is not None
    assert figures["epochs_to_target"].value == 3


def test_what_is_unknown_is_none_with_its_reason(tmp_path: Path) -> None:
    """One epoch, no target reached, no sensor, and no readings at all."""
    path = make_bundle(tmp_path / "bundle", Scenario(accuracies=(0.5,)))
    (path / "readings.parquet").unlink()
    figures = derive_summary(Bundle(path)).figures
    for name in (
        "time_to_epoch_s",
        "fetch_stall_s",
        "time_to_target_s",
        "energy_j",
        "resident_sum_max_bytes",
        "cpu_utilisation",
    ):
        assert figures[name].value is None and figures[name].reason
    for figure in figures.values():
        assert (figure.value is None) == (figure.reason is not None)
        assert figure.unit and figure.source


def test_energy_is_summed_by_the_board_s_rule_and_says_how(tmp_path: Path) -> None:
    """5 W on a Jetson Nano's input rail for the whole run, and a rail behind it that must not be
    added."""
    path = make_bundle(tmp_path / "bundle")
    log, readings = Bundle(path).log(), Bundle(path).readings_frame()
    start, stop = log.first("run_start"), log.first("run_stop")
    assert (
        start is not None
        and stop is not None
        and start.mono_ns is not None
        and stop.mono_ns is not None
    )
    times = range(start.mono_ns - 10**9, stop.mono_ns + 10**9, 10**8)
    rails = [
        (t_ns, "ina3221", channel, power_w, "W")
        for t_ns in times
        for channel, power_w in (("POM_5V_IN", 5.0), ("POM_5V_GPU", 2.0))
    ]
    more = pandas.DataFrame(rails, columns=list(frames.READING_TYPES)).astype(frames.READING_TYPES)
    frames.write_table(pandas.concat([readings, more]), path / "readings.parquet")
    write_power_rules(path, ["ina3221"])
    summary = derive_summary(Bundle(path))
    energy = summary.figures["energy_j"]
    counted_s = (stop.mono_ns - start.mono_ns) * 1e-9 - (
        summary.figures["uncounted_s"].value or 0.0
    )
    assert energy.value == pytest.approx(5.0 * counted_s)
    assert energy.coverage == pytest.approx(1.0) and energy.period_s == pytest.approx(0.1)
    assert energy.sensor == Sensor(("ina3221",), ("POM_5V_IN",), Coverage.MODULE, Tier.ON_BOARD)
    assert summary.figures["energy_per_epoch_j"].value == pytest.approx(
        5.0 * summary.epochs[1].end_to_end_s, rel=1e-3
    )
